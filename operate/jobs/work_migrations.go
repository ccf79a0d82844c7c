package jobs

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
	"ratchet/transitions"
	"ratchet/workflow"
)

// Migrations is the work of [MigrateOrders].
type Migrations struct {
	Orders *transitions.Orders

	mu   sync.Mutex
	job  string // the job whose ways were read last; at most one is open
	ways *workflow.Migrations
}

// waysOf returns the ways of the job. They are read once, and not for each order.
func (w *Migrations) waysOf(j Job) (*workflow.Migrations, error) {
	w.mu.Lock()
	defer w.mu.Unlock()

	if w.ways == nil || w.job != j.ID {
		ways, err := j.Migration.Ways(w.Orders.Definition())
		if err != nil {
			return nil, err
		}
		w.job, w.ways = j.ID, ways
	}

	return w.ways, nil
}

// The codes of orders that are not migrated.
const (
	// codeUnmapped: there is no mapping from the order's version and state.
	codeUnmapped = "unmapped"
	// codeBusy: others have changed the order during every attempt.
	codeBusy = "order_busy"
)

// Refuses implements refuser: this process would bring the orders to another version.
func (w *Migrations) Refuses(j Job) error {
	own := w.Orders.Definition()

	switch {
	case j.Migration == nil:
		return fmt.Errorf("%w: job %s has no migration", ErrElsewhere, j.ID)
	case j.Migration.To != own.Version() || j.Migration.Workflow != own.Name():
		return fmt.Errorf("%w: job %s brings orders to version %d of %s, and this process runs version %d of %s",
			ErrElsewhere, j.ID, j.Migration.To, j.Migration.Workflow, own.Version(), own.Name())
	}

	return nil
}

// Select implements [Work]. It scans the table of the orders.
func (w *Migrations) Select(ctx context.Context, j Job, found func(Subject) error) error {
	ways, err := w.waysOf(j)
	if err != nil {
		return err
	}

	in := dynamodb.ScanInput{
		FilterExpression:          aws.String("definitionVersion <> :version AND attribute_exists(definitionVersion)"),
		ExpressionAttributeValues: dynamo.Item{":version": dynamo.N(int64(j.Migration.To))},
	}

	return w.Orders.Scan(ctx, transitions.Sweep{Segments: 1}, in, func(_ context.Context, order *transitions.Order, err error) error {
		if err != nil {
			return found(Subject{ID: string(order.ID), Code: codeUnreadable})
		}

		return found(w.subject(j, ways, order))
	})
}

// subject returns the order, with a code if it has no mapping.
func (w *Migrations) subject(j Job, ways *workflow.Migrations, order *transitions.Order) Subject {
	s := Subject{ID: string(order.ID)}
	if _, err := ways.Map(order.DefinitionVersion, j.Migration.To, order.State); err != nil {
		s.Code = codeUnmapped
	}

	return s
}

// Look implements [Work].
func (w *Migrations) Look(ctx context.Context, j Job, id string) (Subject, error) {
	order, code, err := readOrder(ctx, w.Orders, id)
	if err != nil || code != "" {
		return Subject{ID: id, Code: code}, err
	}

	ways, err := w.waysOf(j)
	if err != nil {
		return Subject{}, err
	}

	return w.subject(j, ways, order), nil
}

// Act implements [Work]. An order of the version is done: an owner before this one has migrated it, or it was placed so.
func (w *Migrations) Act(ctx context.Context, j Job, s Subject) (code string, err error) {
	ways, err := w.waysOf(j)
	if err != nil {
		return "", err
	}

	order, code, err := readOrder(ctx, w.Orders, s.ID)
	if err != nil || code != "" {
		return code, err
	}

	_, _, err = w.Orders.Migrate(ctx, ways, order, j.Migration.cause(j))

	switch {
	case err == nil:
		return codeDone, nil
	case errors.Is(err, transitions.ErrUnmapped):
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
