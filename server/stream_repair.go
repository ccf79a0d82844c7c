package server

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/api"
	"ratchet/streams"
	"ratchet/streams/replay"
	"ratchet/transitions"
)

// Repair says how [Backend.Expander] turns an order into its changes.
type Repair struct {
	// FromJournal takes the changes from the order's journal, and not only from the order's item, which
	// has the newest transitions only.
	FromJournal bool
	// CloseJournal closes the chain of a journal whose rows are lost.
	CloseJournal bool
	// Lost is called for each order with changes that cannot be proved. First is the oldest change that
	// can be proved. Optional.
	Lost func(order transitions.OrderID, first transitions.TransitionID)
}

// Expander returns a function that turns an order into its changes, so that they can be given to
// handlers of the stream again.
func (b *Backend) Expander(r Repair) replay.Expander {
	return func(ctx context.Context, item map[string]types.AttributeValue) ([]replay.Version, bool, error) {
		order, ofOrder := b.Orders.Mapping().OrderOf(item)
		if !ofOrder {
			return nil, false, nil // another entity in the table
		}

		past, complete, err := b.provable(ctx, item, r.FromJournal)
		if err != nil {
			return nil, false, err
		}

		versions := make([]replay.Version, len(past))
		for i, v := range past {
			versions[i] = replay.Version{Number: int64(v.Transition.ID), Old: v.Old, New: v.New, CreatedAt: v.Transition.At}
		}

		if complete {
			return versions, false, nil
		}

		// The changes of the item are not complete. If the journal has the others, nothing is lost.
		if !r.FromJournal {
			if _, complete, err = b.Orders.Journaled(ctx, item); err != nil || complete {
				return versions, false, err
			}
		}

		if r.Lost != nil && len(past) > 0 {
			r.Lost(order, past[0].Transition.ID)
		}

		if r.CloseJournal {
			_, err = b.Orders.CloseJournal(ctx, item)
		}

		return versions, true, err
	}
}

// Rebuild returns a streams.Rebuild for the handlers, from all orders, or from one order if order is not
// "". The caller sets the other fields.
func (b *Backend) Rebuild(handlers []streams.Handler, order transitions.OrderID) replay.Rebuild {
	r := replay.Rebuild{Queue: b.RetryQueue(), DynamoDB: b.DynamoDB, Handlers: handlers}
	if order != "" {
		r.Keys = b.Orders.Mapping().ItemKey(order)
	}

	return r
}

// replayOrder gives the changes of an order to handlers again. The changes come from the order's journal
// and item.
func (b *Backend) replayOrder(ctx context.Context, r api.Replay) (replay.RebuildCount, error) {
	rebuild := b.Rebuild(r.Handlers, r.Order)
	rebuild.Name, rebuild.Repeat = "replay", true
	rebuild.Again, rebuild.DryRun = r.Again, r.DryRun
	rebuild.Expand = b.Expander(Repair{FromJournal: true})

	return rebuild.Run(ctx)
}

// provable returns the changes that the order's item proves or, with fromJournal, its item and its
// journal. It reports whether these are all changes of the order.
func (b *Backend) provable(ctx context.Context, item map[string]types.AttributeValue, fromJournal bool) ([]transitions.PastVersion, bool, error) {
	if fromJournal {
		return b.Orders.Journaled(ctx, item)
	}

	return b.Orders.Mapping().Provable(item)
}
