package restored

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
	"ratchet/notify"
	"ratchet/streams"
	"ratchet/streams/deadletters"
	"ratchet/transitions"
)

// reasonForgotten is the reason of an ended delivery.
const reasonForgotten = "the order's table was restored to a time before this transition"

// item reads an order's item as the table has it.
func (r *Repair) item(ctx context.Context, id transitions.OrderID) (dynamo.Item, error) {
	out, err := r.cfg.Changes.Queue.DynamoDB.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: &r.cfg.Queue.TableName, Key: r.cfg.Orders.Mapping().ItemKey(id), ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		return nil, fmt.Errorf("read the item of order %s: %w", id, err)
	}

	return out.Item, nil
}

// forgotten reports whether the order exists and has not made a transition that it made in the life before its table
// was restored. Of an order that is gone nothing is known: it may have been deleted when it had ended.
func (r *Repair) forgotten(ctx context.Context, id transitions.OrderID, life transitions.Incarnation, made transitions.TransitionID) (bool, error) {
	order, found, err := r.cfg.Orders.Get(ctx, id)
	if errors.Is(err, transitions.ErrUnreadable) || err == nil && !found {
		return false, nil
	}

	if err != nil {
		return false, err
	}

	// An older life of the id that the order does not go on is another order's.
	lived := slices.Contains(order.LifeIDs(), id.Life(life))

	return lived && (made > order.TransitionID || order.LifeAt(made) != life), nil
}

// endDeliveries gives up the notifications that wait for a transition which is forgotten.
func (r *Repair) endDeliveries(ctx context.Context) error {
	ended, err := r.cfg.Deliveries.EndPending(ctx, reasonForgotten, r.cfg.DryRun, func(d notify.Delivery) (bool, error) {
		return r.forgotten(ctx, d.OrderID, d.Incarnation, d.TransitionID)
	})
	r.count(func(report *Report) { report.Deliveries += ended })

	return err
}

// dropChanges removes the records of forgotten transitions from the retry queues and the dead letters.
func (r *Repair) dropChanges(ctx context.Context) error {
	for _, handler := range r.cfg.Handlers {
		dropped, err := r.cfg.Queue.Drop(ctx, handler, r.cfg.DryRun, func(record streams.Record) (bool, error) {
			return r.forgottenRecord(ctx, record)
		})
		r.count(func(report *Report) { report.Changes += dropped })

		if err != nil {
			return err
		}

		if err := r.dropLetters(ctx, handler); err != nil {
			return err
		}
	}

	return nil
}

func (r *Repair) dropLetters(ctx context.Context, handler string) error {
	letters := r.cfg.Queue.Letters()

	for letter, err := range letters.All(ctx, handler, deadletters.Filter{}) {
		if err != nil {
			return err
		}

		whole, err := letters.Get(ctx, handler, letter.ID)
		if errors.Is(err, deadletters.ErrUnreadable) || errors.Is(err, deadletters.ErrNotFound) {
			continue
		}

		if err != nil {
			return err
		}

		gone, err := r.forgottenRecord(ctx, *whole.Record)
		if err == nil && gone && !r.cfg.DryRun {
			err = letters.Delete(ctx, handler, letter.ID)
		}

		if err != nil {
			return err
		}

		if gone {
			r.count(func(report *Report) { report.Changes++ })
		}
	}

	return nil
}

// forgottenRecord reports whether a record shows a transition which is forgotten. A record that cannot be read stays
// with its handler.
func (r *Repair) forgottenRecord(ctx context.Context, record streams.Record) (bool, error) {
	change, grew, err := r.cfg.Orders.Mapping().FromRecord(record.Old, record.New)
	if err != nil || !grew {
		return false, nil
	}

	return r.forgotten(ctx, change.New.ID, change.New.Incarnation, change.Transition.ID)
}
