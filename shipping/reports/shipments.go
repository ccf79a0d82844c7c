package reports

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/internal/ids"
	"ratchet/once/txn"
	"ratchet/shipping"
	"ratchet/transitions"
)

// ErrNoShipment means that the order is not in a state in which a shipment may be booked.
var ErrNoShipment = errors.New("the order is not to be shipped")

// Newest returns the number of the newest shipment of the effect key: 1, and one more for each time that
// it was booked again. A Receiver is a shipping.Numbers.
func (d *Receiver) Newest(ctx context.Context, key string) (int, error) {
	row, err := d.get(ctx, numberKey(key))

	return max(1, int(dynamo.Number(row, "number"))), err
}

// Advance makes number the newest shipment of the effect key, as shipping.Numbers describes. The write is
// conditional on the order's state: once the order has left it, nothing is booked again, and a caller who reads
// the number afterwards finds every shipment. It returns ErrNoShipment if the order is not to be shipped.
func (d *Receiver) Advance(ctx context.Context, key string, number int) error {
	id, _, _ := ids.Cut(key)

	order, found, err := d.cfg.Orders.Get(ctx, transitions.OrderID(id))
	switch {
	case err != nil:
		return err
	case !found:
		return transitions.ErrUnknownOrder
	case !d.definition().AwaitsShipment(order.State) || !isOf(shipping.Report{OrderID: id, Shipment: key}, order):
		return fmt.Errorf("%w: it is %s", ErrNoShipment, order.State)
	}

	now := d.now()
	update := dynamo.NewUpdate(d.cfg.Table, numberKey(key)).
		Alias("#number", "number").
		Bind(":before", dynamo.N(int64(number-1))).
		Bind(":two", dynamo.N(2)).
		Bind(":number", dynamo.N(int64(number))).
		Bind(":seconds", dynamo.Seconds(now)).
		// The first number is not stored.
		If("#number = :before OR :number = :two AND (attribute_not_exists(#number) OR "+ExpiryAttribute+" <= :seconds)").
		Set("#number = :number").
		SetValue(ExpiryAttribute, dynamo.Seconds(now.Add(keepParcels))).
		Input()

	var t txn.Transaction
	d.cfg.Orders.Unchanged(order)(&t)
	t.Add("shipment", types.TransactWriteItem{Update: &types.Update{
		TableName:                 update.TableName,
		Key:                       update.Key,
		UpdateExpression:          update.UpdateExpression,
		ConditionExpression:       update.ConditionExpression,
		ExpressionAttributeNames:  update.ExpressionAttributeNames,
		ExpressionAttributeValues: update.ExpressionAttributeValues,
	}}, txn.FailWith(shipping.ErrNumberTaken))

	writer, err := txn.New(txn.Config{DynamoDB: d.cfg.DynamoDB})
	if err != nil {
		return err
	}

	return writer.Write(ctx, &t)
}

// numberKey is the key of the row with the number of the newest shipment of an effect key. It is in the
// partition of the order's parcels.
func numberKey(key string) dynamo.Item {
	r := shipping.Report{Shipment: key}
	r.OrderID, _, _ = ids.Cut(key)
	life, transition, _, _ := keyOf(r)

	return rowKey(parcelsPartition(transitions.OrderID(r.OrderID)), string(life)+"/shipments/"+transition)
}

// Shipment returns the effect key of the order's shipment: with the newest transition with which it began to wait for it. It
// returns ErrNoShipment if there is none.
func (d *Receiver) Shipment(ctx context.Context, id transitions.OrderID) (string, error) {
	order, found, err := d.cfg.Orders.Get(ctx, id)
	switch {
	case err != nil:
		return "", err
	case !found:
		return "", transitions.ErrUnknownOrder
	}

	began, err := d.cfg.Orders.TransitionsBy(ctx, order, d.definition().BookedBy()...)
	switch {
	case err != nil:
		return "", err
	case len(began) == 0:
		return "", fmt.Errorf("%w: no transition of it has led to a state that waits for a shipment", ErrNoShipment)
	}

	return order.EffectKey(began[len(began)-1].ID, shipping.Effect), nil
}

// carrierCanceled judges a report that the carrier has canceled the shipment. Where the definition has no
// event for it, it moves no order: a person decides unless the order has ended, or another shipment has taken
// its place.
func (d *Receiver) carrierCanceled(ctx context.Context, order *transitions.Order, r shipping.Report) (ruling, error) {
	key := shipping.Unnumbered(r.Shipment)

	number, err := d.Newest(ctx, key)
	if err != nil {
		return ruling{}, err
	}

	if r.Shipment != shipping.Numbered(key, number) {
		return accepted, nil
	}

	def := d.definition()
	if def.Shipping().Canceled != "" {
		return d.moveOrder(ctx, order, r)
	}

	rule := ruling{answer: shipping.Retry, reason: fmt.Sprintf("the carrier has canceled the shipment, and the order is %s: ", order.State)}
	or := ""
	if stop := def.Shipping().Stop; stop != "" {
		or = fmt.Sprintf(", or end the order (ratchet orders apply %s %s)", order.ID.Arg(), stop)
	}

	switch {
	case def.AwaitsShipment(order.State):
		rule.reason += "book another one" + or
		rule.command = fmt.Sprintf("ratchet shipments book-again %s --reason TEXT", order.ID.Arg())
	case def.HoldsShipment(order.State):
		rule.reason += "release it and book another shipment" + or
		rule.command = fmt.Sprintf("ratchet orders apply %s %s", order.ID.Arg(), def.ReleasedBy(order.State))
	case slices.Contains(def.Gone(), order.State):
		rule.reason += "find out what the customer gets"
		rule.command = "ratchet orders explain " + order.ID.Arg()
	default:
		return accepted, nil
	}

	return rule, nil
}
