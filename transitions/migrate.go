package transitions

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
	"ratchet/workflow"
)

// MigratedOrders says what [Orders.MigrateAll] has done. All but Moved are passed over, as the newest pass
// has found them.
type MigratedOrders struct {
	Moved int `json:"migrated"`
	// Unmapped have no mapping. Gone were deleted after they were read.
	Unmapped int `json:"unmapped"`
	Gone     int `json:"gone,omitempty"`
	// Busy were changed by others before each attempt. Unreadable cannot be read.
	Busy       int `json:"busy,omitempty"`
	Unreadable int `json:"unreadable,omitempty"`
	// Left names the first of those that are busy or cannot be read.
	Left []OrderID `json:"left,omitempty"`
}

const (
	// migratePasses bounds how often MigrateAll reads the table.
	migratePasses = 3
	// maxLeft bounds MigratedOrders.Left.
	maxLeft = 100
)

// MigrateAll migrates every order of another version (see [Orders.Migrate]). It passes over orders that
// it cannot migrate and counts them; any other error ends it: migrated orders stay migrated, and the next
// call goes on with the rest. After a pass over the table in which orders were moved, MigrateAll makes
// another one, at most three in all: workers of the former version may have placed orders meanwhile. Each
// migration has the cause.
func (o *Orders) MigrateAll(ctx context.Context, m *workflow.Migrations, s Sweep, cause Cause) (MigratedOrders, error) {
	var found MigratedOrders

	for range migratePasses {
		before := found.Moved

		pass, err := o.migratePass(ctx, m, s, cause)
		found = pass
		found.Moved += before

		if err != nil {
			return found, fmt.Errorf("migrate orders: %w", err)
		}

		if pass.Moved == 0 {
			break
		}
	}

	return found, nil
}

func (o *Orders) migratePass(ctx context.Context, m *workflow.Migrations, s Sweep, cause Cause) (MigratedOrders, error) {
	input := dynamodb.ScanInput{
		FilterExpression:          aws.String("definitionVersion <> :version AND attribute_exists(definitionVersion)"),
		ExpressionAttributeValues: image{":version": dynamo.N(int64(o.def.Version()))},
	}

	// The segments of the scan call the function at the same time.
	var mu sync.Mutex
	var pass MigratedOrders

	err := o.Scan(ctx, s, input, func(ctx context.Context, order *Order, err error) error {
		moved := false
		if err == nil {
			_, moved, err = o.Migrate(ctx, m, order, cause)
		}

		mu.Lock()
		defer mu.Unlock()

		return pass.add(order.ID, moved, err)
	})

	return pass, err
}

// add counts an order. It returns the error if that ends the migration of all.
func (p *MigratedOrders) add(id OrderID, moved bool, err error) error {
	switch {
	case err == nil && moved:
		p.Moved++
	case err == nil: // another call has migrated it
	case errors.Is(err, ErrUnmapped):
		p.Unmapped++
	case errors.Is(err, ErrUnknownOrder):
		p.Gone++
	case errors.Is(err, ErrContended):
		p.Busy++
	case errors.Is(err, ErrUnreadable):
		p.Unreadable++
	default:
		return err
	}

	if (errors.Is(err, ErrContended) || errors.Is(err, ErrUnreadable)) && len(p.Left) < maxLeft {
		p.Left = append(p.Left, id)
	}

	return nil
}

// Migrate moves the order, as the caller has read it, to the version of o's definition and to
// the state that m names. It is a transition like any other: one conditional write with the
// next id and the event "migrate", in ring and journal; an execution that holds the order's id
// learns of it as of any other transition. It reports false when the order is of the version
// already or has no version at all, so it may be repeated. An error of m is also ErrUnmapped.
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

// migrate brings the order to our version. It looks for no evidence beside the order: a second migration
// finds the order migrated.
func (o *Orders) migrate(ctx context.Context, m *workflow.Migrations, order *Order, cause Cause) (*Order, bool, error) {
	p := &migration{orders: o, ways: m, cause: cause.fitted(), call: newCallID()}

	result, err := o.run(ctx, p, sight{id: order.ID, order: order, fresh: true})
	if err != nil {
		return order, false, err
	}

	return result.Order, result.Verdict == Applied, nil
}

// unmappedError is the error of a Migrations that has no mapping for an order.
type unmappedError struct{ error }

func (e *unmappedError) Unwrap() error { return e.error }

func (e *unmappedError) Is(target error) bool { return target == ErrUnmapped }

// migration is the plan of bringing an order to another version.
type migration struct {
	orders *Orders
	ways   *workflow.Migrations
	cause  Cause
	call   string

	id  TransitionID // of the newest attempt, 0 before the first
	key digest
}

func (p *migration) decide(s *sight) decision {
	if s.order == nil {
		return decision{err: ErrUnknownOrder}
	}
	order, version := s.order, p.orders.def.Version()

	if _, made := order.madeBy(p.call, p.key, p.id); made && p.id != 0 {
		return decision{result: Result{Verdict: Applied, Order: order}}
	}

	// Also true after a lost race against another migration.
	if order.DefinitionVersion == 0 || order.DefinitionVersion == version {
		return decision{result: Result{Verdict: Replayed, Order: order}}
	}

	to, err := p.ways.Map(order.DefinitionVersion, version, order.State)
	if err != nil {
		return decision{err: &unmappedError{err}}
	}

	p.id = order.TransitionID + 1
	p.key = digestOf(fmt.Sprintf("%s%d/%d/%d", migrationKeys, order.DefinitionVersion, version, order.TransitionID))

	return p.orders.planned(&step{
		request:    Request{OrderID: order.ID, IfMatch: &order.TransitionID},
		transition: Transition{ID: p.id, Event: workflow.Migrate, To: to, At: s.now, request: p.key, call: p.call, assigned: true, Cause: p.cause},
		move:       workflow.Group{From: []workflow.State{order.State}, To: to},
		version:    order.DefinitionVersion,
		foreign:    order.foreign(),
	}, order)
}
