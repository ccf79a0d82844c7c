package jobs

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/streams/replay"
	"ratchet/transitions"
)

// Stream is the work of [ReplayStream] and [RefillStream]: the changes of each order are put into the retry queues of
// handlers, where the workers deliver them.
type Stream struct {
	Orders *transitions.Orders
	// Rebuild returns the rebuild of one order for the job. Its Again is set for a job that repeats effects.
	Rebuild func(j Job, order transitions.OrderID) (replay.Rebuild, error)
}

const (
	// codeNothing: the order has no change that is to be delivered.
	codeNothing = "nothing_to_deliver"
	// codeLost: what the order and its journal have was delivered, and older changes are lost.
	codeLost = "changes_lost"
)

// Select implements [Work]. It scans the table of the orders.
func (w Stream) Select(ctx context.Context, j Job, found func(Subject) error) error {
	return w.Orders.Scan(ctx, transitions.Sweep{Segments: 1}, dynamodb.ScanInput{}, func(_ context.Context, order *transitions.Order, err error) error {
		switch {
		// The newest change of the order is too old, and so are the others. A time that is missing, or another program's,
		// says nothing.
		case err == nil && !order.UpdatedAt.IsZero() && order.UpdatedAt.Before(j.Filter.Since):
			return nil
		case err != nil:
			return found(Subject{ID: string(order.ID), Code: codeUnreadable})
		}

		return found(Subject{ID: string(order.ID)})
	})
}

// Look implements [Work].
func (w Stream) Look(ctx context.Context, _ Job, id string) (Subject, error) {
	_, code, err := readOrder(ctx, w.Orders, id)

	return Subject{ID: id, Code: code}, err
}

// readOrder reads an order. Without one, the code says why.
func readOrder(ctx context.Context, orders *transitions.Orders, id string) (order *transitions.Order, code string, err error) {
	order, exists, err := orders.Get(ctx, transitions.OrderID(id))

	switch {
	case errors.Is(err, transitions.ErrUnreadable):
		return nil, codeUnreadable, nil
	case err != nil:
		return nil, "", err
	case !exists:
		return nil, codeGone, nil
	}

	return order, "", nil
}

// Act implements [Work]. A repeat puts the same rows into the queues again, or finds that a mark has them.
func (w Stream) Act(ctx context.Context, j Job, s Subject) (code string, err error) {
	r, err := w.Rebuild(j, transitions.OrderID(s.ID))
	if err != nil {
		return "", err
	}

	var failed error
	r.Failed = func(_ map[string]types.AttributeValue, err error) { failed = err }

	count, err := r.Run(ctx)

	switch {
	case err != nil:
		return "", err
	// Only what the order has says that it cannot be read.
	case failed != nil && !errors.Is(failed, transitions.ErrUnreadable) && (dynamo.Retryable(failed) || transitions.Retryable(failed)):
		return "", failed
	case count.Items == 0:
		return codeGone, nil
	case count.Failed > 0:
		return codeUnreadable, nil
	// A replay only repeats what is there.
	case count.Lost > 0 && j.Kind == RefillStream:
		return codeLost, nil
	case count.Queued+count.Refused == 0:
		return codeNothing, nil
	}

	return codeDone, nil
}
