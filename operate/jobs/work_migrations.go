package jobs

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
	"ratchet/transitions"
	"ratchet/workflow"
)

// Migrations is the work of [MigrateOrders].
type Migrations struct {
	Orders *transitions.Orders
	// Ways reads the definitions and mappings of the migration.
	Ways func(Migration) (*workflow.Migrations, error)
}

// The codes of orders that are not migrated.
const (
	// codeUnmapped: there is no mapping from the order's version and state.
	codeUnmapped = "unmapped"
	// codeBusy: others have changed the order during every attempt.
	codeBusy = "order_busy"
)

// Takes implements [chooser]: a worker with another definition would bring the orders to another version.
func (w Migrations) Takes(j Job) bool {
	return j.Migration != nil && j.Migration.To == w.Orders.Definition().Version()
}

// Select implements [Work]. It scans the table of the orders.
func (w Migrations) Select(ctx context.Context, j Job, found func(Subject) error) error {
	in := dynamodb.ScanInput{
		FilterExpression:          aws.String("definitionVersion <> :version AND attribute_exists(definitionVersion)"),
		ExpressionAttributeValues: dynamo.Item{":version": dynamo.N(int64(j.Migration.To))},
	}

	return w.Orders.Scan(ctx, transitions.Sweep{Segments: 1}, in, func(ctx context.Context, order *transitions.Order, err error) error {
		if err != nil {
			return found(Subject{ID: string(order.ID), Code: codeUnreadable})
		}

		return found(w.subject(j, order))
	})
}

// subject returns the order, with a code if it has no mapping.
func (w Migrations) subject(j Job, order *transitions.Order) Subject {
	s := Subject{ID: string(order.ID)}

	ways, err := w.Ways(*j.Migration)
	if err == nil {
		_, err = ways.Map(order.DefinitionVersion, j.Migration.To, order.State)
	}

	if err != nil {
		s.Code = codeUnmapped
	}

	return s
}

// Look implements [Work].
func (w Migrations) Look(ctx context.Context, j Job, id string) (Subject, error) {
	s, err := lookAtOrder(ctx, w.Orders, id)
	if err != nil || s.Code != "" {
		return s, err
	}

	order, exists, err := w.Orders.Get(ctx, transitions.OrderID(id))
	if err != nil || !exists {
		return Subject{ID: id, Code: codeGone}, err
	}

	return w.subject(j, order), nil
}

// Act implements [Work]. An order of the version is done: an owner before this one has migrated it, or it was placed so.
func (w Migrations) Act(ctx context.Context, j Job, s Subject) (code string, err error) {
	ways, err := w.Ways(*j.Migration)
	if err != nil {
		return "", err
	}

	order, exists, err := w.Orders.Get(ctx, transitions.OrderID(s.ID))

	switch {
	case errors.Is(err, transitions.ErrUnreadable):
		return codeUnreadable, nil
	case err != nil:
		return "", err
	case !exists:
		return codeGone, nil
	}

	_, _, err = w.Orders.Migrate(ctx, ways, order, transitions.Cause{Code: "job", Text: j.Reason, Actor: j.By, Source: "job"})

	switch {
	case err == nil:
		return codeDone, nil
	case transitions.Unmapped(err):
		return codeUnmapped, nil
	case errors.Is(err, transitions.ErrUnknownOrder):
		return codeGone, nil
	case errors.Is(err, transitions.ErrContended):
		return codeBusy, nil
	case errors.Is(err, transitions.ErrUnreadable):
		return codeUnreadable, nil
	}

	return "", err
}
