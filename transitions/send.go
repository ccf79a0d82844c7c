package transitions

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"ratchet/internal/dynamo"
)

// run is the write loop of every transition: it reads the order if it has to, judges
// whether the order has decided the call already, plans the write and sends it. An order
// that refuses the write comes back with the refusal, and is judged in the next round.
//
// A call whose id was given needs one round in the normal case: one write, no read.
func (o *Orders) run(ctx context.Context, p *plan) (Result, error) {
	var order *Order // as it was read, or as it refused the last write; nil when not known
	if o.readsFirst(p) {
		read, found, err := o.get(ctx, p.request.OrderID)
		if err != nil || !found {
			return Result{Verdict: NotFound}, err
		}
		order = read
	}

	for attempt := 0; ; attempt++ {
		if order != nil {
			result, err := o.judge(ctx, p, order)
			// A write was sent in an earlier round: it may have been made, and only the evidence
			// proves it.
			if attempt > 0 {
				err = asOutcomeUnknown(err)
			}

			if err != nil || result.Verdict != 0 {
				return result, err
			}
		}

		w, refusal, err := o.next(p, order)
		if err != nil || refusal.Verdict != 0 {
			return refusal, err
		}

		// Checked only here, so that the order that refused the last write is still judged.
		if attempt == o.cfg.Attempts {
			return Result{}, ErrContended
		}

		moved, old, err := o.send(ctx, &w, order)
		switch {
		case err != nil && attempt > 0:
			return Result{}, asOutcomeUnknown(err)
		case err != nil:
			return Result{}, err
		case moved != nil:
			t, _ := moved.slot(w.transition.ID)
			return Result{Verdict: Applied, Transition: t, Order: moved}, nil
		case old == nil:
			return Result{Verdict: NotFound}, nil
		}
		order = old
	}
}

// readsFirst reports whether the order must be read before anything is written.
func (o *Orders) readsFirst(p *plan) bool {
	switch {
	case p.id == 0, p.parcel != nil:
		return true // the write depends on the order
	case o.cfg.Journal == JournalTransactional:
		return true // the journal's row depends on the order
	}

	// The condition of the write looks for the request id in the ring only. An order that
	// has not reached id 9 has forgotten nothing. Above, other evidence may be needed.
	return p.key != digest{} && p.id > ringSize+1
}

// send sends the write until DynamoDB has decided: in a transaction with its row if the
// journal is transactional. It returns the order after the write, or the order that
// refused the write (nil: there is none).
func (o *Orders) send(ctx context.Context, w *write, base *Order) (moved, old *Order, err error) {
	// Before the write: no slot may lose a request id that has no row yet.
	if err := o.keepRequest(ctx, w, base); err != nil {
		return nil, nil, err
	}

	var pin *Order
	if o.cfg.Journal == JournalTransactional {
		pin = base
	}

	// UpdateItem names a missing map in its error (see update). A transaction says only that
	// it is invalid, so the map is made before it.
	if pin != nil && !pin.ringed {
		if err := o.ensureMap(ctx, orderKey(pin.ID), "recent"); err != nil {
			return nil, nil, err
		}
	}

	u, err := o.render(w, pin)
	if err != nil {
		return nil, nil, err
	}

	if pin != nil {
		return o.transact(ctx, w, &u, pin)
	}

	// ALL_NEW returns the order after the write: the answer needs no read.
	newImage, oldImage, err := o.update(ctx, &dynamodb.UpdateItemInput{
		TableName:                           u.TableName,
		Key:                                 u.Key,
		ConditionExpression:                 u.ConditionExpression,
		UpdateExpression:                    u.UpdateExpression,
		ExpressionAttributeNames:            u.ExpressionAttributeNames,
		ExpressionAttributeValues:           u.ExpressionAttributeValues,
		ReturnValues:                        types.ReturnValueAllNew,
		ReturnValuesOnConditionCheckFailure: u.ReturnValuesOnConditionCheckFailure,
	}, "recent")
	if err != nil {
		return nil, nil, err
	}

	if moved, err = decodeIfAny(newImage); err != nil {
		return nil, nil, err
	}
	old, err = decodeIfAny(oldImage)

	return moved, old, err
}

// decodeIfAny decodes an image, nil without one.
func decodeIfAny(img image) (*Order, error) {
	if len(img) == 0 {
		return nil, nil //nolint:nilnil // there is no order, which is no error
	}

	return decode(img)
}

// update sends an UpdateItem until DynamoDB has decided. It returns the new image when
// the condition held, or the old one (nil for no item) when it did not. If the order lacks
// the map into which the update writes, update makes the map and sends again.
func (o *Orders) update(ctx context.Context, input *dynamodb.UpdateItemInput, into string) (newImage, oldImage image, err error) {
	var out *dynamodb.UpdateItemOutput
	send := func() (err error) {
		out, err = o.cfg.DynamoDB.UpdateItem(ctx, input, dynamo.WithoutRetries)
		return err
	}

	old, refused, err := o.untilDecided(ctx, send)
	// Only an order that another program has created lacks the map. Nothing was written yet.
	if mapMissing(err) {
		if err := o.ensureMap(ctx, input.Key, into); err != nil {
			return nil, nil, err
		}
		old, refused, err = o.untilDecided(ctx, send)
	}

	// Another program has an attribute of this name, which is no map.
	if mapMissing(err) {
		err = fmt.Errorf("%w: attribute %s is not a map: %w", ErrUnreadable, into, err)
	}

	switch {
	case err != nil:
		return nil, nil, err
	case refused:
		return nil, old, nil
	}

	return out.Attributes, nil, nil
}

// untilDecided calls send, which sends one write, until DynamoDB has decided. It reports
// whether the condition refused the write, and returns the item that failed it (nil for
// none). ErrOutcomeUnknown says that the attempts or the context have ended before.
func (o *Orders) untilDecided(ctx context.Context, send func() error) (old image, refused bool, err error) {
	old, refused, err = dynamo.UntilDecided(ctx, o.cfg.Attempts, send)
	// Sending again was safe: if the write was made, its condition failed then, and the image has the
	// call id of this call.
	if errors.Is(err, dynamo.ErrUnanswered) {
		err = fmt.Errorf("%w: %w", ErrOutcomeUnknown, err)
	}

	return old, refused, err
}

// asOutcomeUnknown marks a failed read of evidence about a write that was sent: the write
// may have been made although its answer was lost, and only the evidence proves it.
func asOutcomeUnknown(err error) error {
	if errors.Is(err, ErrUnavailable) {
		return fmt.Errorf("%w: %w", ErrOutcomeUnknown, err)
	}

	return err
}

// mapMissing recognizes the refusal of an update whose document path leads through a map
// that the item does not have.
func mapMissing(err error) bool {
	var api smithy.APIError

	// Every invalid request has this code, so the message decides.
	return errors.As(err, &api) && api.ErrorCode() == "ValidationException" &&
		strings.Contains(api.ErrorMessage(), "document path")
}

// ensureMap gives an order that another program has created the map that an update
// writes into. It changes nothing else and may run any number of times.
func (o *Orders) ensureMap(ctx context.Context, key image, name string) error {
	_, err := o.cfg.DynamoDB.UpdateItem(ctx, dynamo.NewUpdate(o.cfg.Table, key).
		Bind(":empty", dynamo.M(image{})).
		If("attribute_exists(orderId)").
		Set(name+" = if_not_exists("+name+", :empty)").
		Input())

	return err
}
