package transitions

import (
	"context"
	"fmt"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
	"ratchet/workflow"
)

// MigrateAll migrates every order of another version (see [Orders.Migrate]) and returns
// how many it has moved. It passes over orders without a mapping and returns how many
// there were. Any other error ends it: migrated orders stay migrated, and the next call
// goes on with the rest. Each migration has the cause.
func (o *Orders) MigrateAll(ctx context.Context, m *workflow.Migrations, s Sweep, cause Cause) (moved, unmapped int, err error) {
	input := dynamodb.ScanInput{
		FilterExpression:          aws.String("definitionVersion <> :version AND attribute_exists(definitionVersion)"),
		ExpressionAttributeValues: image{":version": dynamo.N(int64(o.def.Version()))},
	}

	// The segments of the scan call the function at the same time.
	var mu sync.Mutex
	count := func(n *int) {
		mu.Lock()
		defer mu.Unlock()
		*n++
	}

	err = o.Scan(ctx, s, input, func(ctx context.Context, order *Order, err error) error {
		if err != nil {
			return err
		}

		// Migrate would fail with this error and end the scan.
		if _, err := m.Map(order.DefinitionVersion, o.def.Version(), order.State); err != nil {
			count(&unmapped)
			return nil
		}

		_, migrated, err := o.Migrate(ctx, m, order, cause)
		if err == nil && migrated {
			count(&moved)
		}

		return err
	})
	if err != nil {
		return moved, unmapped, fmt.Errorf("migrate orders: %w", err)
	}

	return moved, unmapped, nil
}

// Migrate moves the order, as the caller has read it, to the version of o's definition and to
// the state that m names. It is a transition like any other: one conditional write with the
// next id and the event "migrate", in ring and journal; an execution that holds the order's id
// learns of it as of any other transition. It reports false when the order is of the version
// already or has no version at all, so it may be repeated. An error of m is returned unchanged.
// The cause says why, and by whom, the order is migrated; a bad cause is ErrInvalidRequest.
func (o *Orders) Migrate(ctx context.Context, m *workflow.Migrations, order *Order, cause Cause) (after *Order, moved bool, err error) {
	if err = cause.validateOf(order.ID); err == nil {
		after, moved, err = o.migrate(ctx, m, order, cause)
	}

	if err != nil {
		err = fmt.Errorf("migrate order %s from version %d to %d: %w", order.ID, order.DefinitionVersion, o.def.Version(), err)
	}

	return after, moved, err
}

// migrate plans and sends until the order is of our version. It looks for no evidence beside
// the order: a second migration finds the order migrated.
func (o *Orders) migrate(ctx context.Context, m *workflow.Migrations, order *Order, cause Cause) (*Order, bool, error) {
	call := newCallID()
	for range o.cfg.Attempts {
		// Also true after a lost race against another migration.
		if order.DefinitionVersion == 0 || order.DefinitionVersion == o.def.Version() {
			return order, false, nil
		}

		to, err := m.Map(order.DefinitionVersion, o.def.Version(), order.State)
		if err != nil {
			return order, false, err
		}

		w := migration(order, to, o.def.Version())
		w.transition.call, w.transition.At, w.transition.Cause = call, o.cfg.Now(), cause.fitted()

		moved, old, err := o.send(ctx, w, order)
		switch {
		case err != nil:
			return order, false, err
		case moved != nil:
			return moved, true, nil
		case old == nil:
			return order, false, ErrUnknownOrder
		}

		if _, made := old.madeBy(call, w.transition.request, w.transition.ID); made {
			return old, true, nil // the answer was lost, and a retry met its own write
		}
		order = old
	}

	return order, false, ErrContended
}

// migration is the write that brings the order, as it was read, to a version.
func migration(order *Order, to workflow.State, version int) *write {
	key := digestOf(fmt.Sprintf("%s%d/%d/%d", migrationKeys, order.DefinitionVersion, version, order.TransitionID))

	return &write{
		request:    Request{OrderID: order.ID, IfMatch: &order.TransitionID},
		transition: Transition{ID: order.TransitionID + 1, Event: workflow.Migrate, To: to, request: key, assigned: true},
		move:       workflow.Group{From: []workflow.State{order.State}, To: to},
		version:    order.DefinitionVersion,
	}
}
