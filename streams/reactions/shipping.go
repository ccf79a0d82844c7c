package reactions

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"ratchet/shipping"
	"ratchet/streams"
	"ratchet/transitions"
	"ratchet/workflow"
)

// startsShipping selects the changes after which an order is to be shipped: it was paid, or
// the hold of a paid order has ended.
func (r *Reactions) startsShipping(c transitions.Change) bool {
	return entersOne(c, r.definition().AwaitsShipment)
}

// concernsShipping selects the changes of startsShipping and the holds of paid orders. One handler has both,
// so that a hold, its end and the booking come to the carrier in the order of the transitions.
func (r *Reactions) concernsShipping(c transitions.Change) bool {
	return r.startsShipping(c) || r.holdsShipment(c)
}

// holdsShipment reports whether the change holds a paid order.
func (r *Reactions) holdsShipment(c transitions.Change) bool {
	return entersOne(c, r.definition().HoldsShipment)
}

// shipOrHold books the shipment of the order, or asks the carrier to hold it. The end of a hold does both:
// the shipment may not have been booked before.
func (r *Reactions) shipOrHold(ctx context.Context, c change) error {
	err := r.shipOrHoldHere(ctx, c)
	if errors.Is(err, errElsewhere) {
		return nil
	}

	return err
}

// errElsewhere says that the order has come here when it waited for its shipment, or later: the shipment is the
// business of the program that had the order before. No carrier is asked about it here.
var errElsewhere = errors.New("the order came here after it was paid")

func (r *Reactions) shipOrHoldHere(ctx context.Context, c change) error {
	if r.holdsShipment(c.Change) {
		return r.hold(ctx, c)
	}

	if err := r.ship(ctx, c); err != nil || !r.isRelease(c.Change) {
		return err
	}

	return r.endHold(ctx, c)
}

// hold asks the carrier to hold the shipment, unless the hold has ended meanwhile.
func (r *Reactions) hold(ctx context.Context, c change) error {
	c, order, err := r.present(ctx, c)
	if err != nil || order == nil || !r.definition().HoldsShipment(order.State) {
		return err
	}

	payment, err := r.payment(ctx, order)
	if err != nil {
		return err
	}

	answer, err := r.cfg.Booker.Hold(ctx, order.EffectKey(payment, shipping.Effect), order.EffectKey(c.Transition.ID, shipping.HoldEffect), int64(c.Transition.ID))
	if errors.Is(err, shipping.ErrRefused) {
		return streams.Permanent(err) // a person has to look
	}

	if err == nil {
		r.cfg.Log.DebugContext(ctx, "hold requested", "order", c.New.ID, "transition", c.Transition.ID, "answer", answer)
	}

	return err
}

// endHold lets the parcel leave again. A carrier that had no hold, or has a later one, changes nothing.
func (r *Reactions) endHold(ctx context.Context, c change) error {
	if time.Since(c.Transition.At) > recoverFor {
		return nil
	}

	key, err := r.shipmentKey(ctx, c)
	switch {
	case streams.IsPermanent(err):
		return nil // without the payment's transition no hold can have been asked for
	case err != nil:
		return err
	}

	err = r.cfg.Booker.EndHold(ctx, key, int64(c.Transition.ID))
	if errors.Is(err, shipping.ErrRefused) {
		return streams.Permanent(err)
	}

	return err
}

// ship books the shipment, under the effect key of the transition that paid the order. Nothing is
// booked if the shipment was canceled before, and the order's pieces are reserved before the
// booking. Neither a second group nor a replay that repeats effects books a second shipment: a
// payment has one shipment, and the order's compensation finds it by this key.
func (r *Reactions) ship(ctx context.Context, c change) error {
	c, wanted, err := r.wantsShipment(ctx, c)
	switch {
	case err != nil:
		return err
	case !wanted:
		return r.recoverShipment(ctx, c)
	}

	key, err := r.shipmentKey(ctx, c)
	if err != nil {
		return err
	}

	if err := r.cover(ctx, c.New); err != nil {
		return err
	}

	tracking, err := r.cfg.Booker.Book(ctx, key, string(c.New.ID))
	// The cancellation came before the booking, so nothing is booked.
	if errors.Is(err, shipping.ErrCanceled) {
		return nil
	}

	if err == nil {
		r.cfg.Log.DebugContext(ctx, "shipment requested", "order", c.New.ID, "transition", c.Transition.ID, "tracking", tracking)
	}

	switch {
	case errors.Is(err, shipping.ErrCanceledByCarrier):
		return r.canceledByCarrier(ctx, c, err)
	case errors.Is(err, shipping.ErrRefused):
		return streams.Permanent(err) // a person has to look
	}

	return err
}

// canceledByCarrier returns the error of a booking that the carrier has canceled, for a person to decide
// about, or nil if the order is not to be shipped any more.
func (r *Reactions) canceledByCarrier(ctx context.Context, c change, canceled error) error {
	c, wanted, err := r.stillWantsShipment(ctx, c)
	if err != nil || !wanted {
		return err
	}

	id := c.New.ID.Arg()

	or := ""
	if stop := r.definition().Shipping().Stop; stop != "" {
		or = fmt.Sprintf(", `ratchet orders apply %s %s` ends the order", id, stop)
	}

	return streams.Permanent(fmt.Errorf("%w: `ratchet shipments book-again %s --reason TEXT` books another shipment%s", canceled, id, or))
}

// recoverFor is the age of a transition up to which recoverShipment looks for the booking of an
// earlier attempt. A record is retried for three days, then kept as a dead letter for 21 days, and
// claims are kept for 30 days. A rebuild also delivers older changes, and must not ask the carrier
// about each of them.
const recoverFor = 30 * 24 * time.Hour

// recoverShipment stores the booking of an earlier attempt that failed after the carrier had
// booked. The order may have moved on because the carrier has shipped it.
func (r *Reactions) recoverShipment(ctx context.Context, c change) error {
	if time.Since(c.Transition.At) > recoverFor {
		return nil
	}

	key, err := r.shipmentKey(ctx, c)
	switch {
	case streams.IsPermanent(err):
		return nil // without the payment's transition no earlier attempt can have booked
	case err != nil:
		return err
	}

	_, err = r.cfg.Booker.Recover(ctx, key, string(c.New.ID))
	if errors.Is(err, shipping.ErrRefused) {
		return streams.Permanent(err) // a person has to look
	}

	return err
}

// shipmentKey returns the effect key of the shipment that the change starts: with the id of the
// transition that paid the order.
func (r *Reactions) shipmentKey(ctx context.Context, c change) (string, error) {
	payment := c.Transition.ID
	// The hold came after the payment, so the payment's transition is not this change.
	if r.isRelease(c.Change) {
		var err error
		if payment, err = r.payment(ctx, c.New); err != nil {
			return "", err
		}
	}

	return c.New.EffectKey(payment, shipping.Effect), nil
}

// wantsShipment reports whether the order is to be shipped. After a fresh change it is. An old
// change (after a redrive, a replay or an outage) says only how the order was at that time, so the
// order as it is now decides. The order may be canceled between this answer and the booking; the
// cancellation then finds the booking. The returned change has the order's present life, under whose keys
// the cancellation looks.
func (r *Reactions) wantsShipment(ctx context.Context, c change) (change, bool, error) {
	if r.isFresh(c) {
		return c, true, nil
	}

	return r.stillWantsShipment(ctx, c)
}

// stillWantsShipment is wantsShipment for a change that is old: it reads the order.
func (r *Reactions) stillWantsShipment(ctx context.Context, c change) (change, bool, error) {
	c, order, err := r.present(ctx, c)
	switch {
	case err != nil:
		return c, false, err
	case order == nil:
		return c, false, streams.Permanent(fmt.Errorf("book shipment of order %s: the order does not exist", c.New.ID))
	}

	// Only the definition of the order's own version says where the order can still go.
	if err := r.cfg.Orders.CheckVersion(order); err != nil {
		return c, false, err
	}

	switch {
	case r.definition().HoldsShipment(order.State):
		return c, false, nil // the change that ends the hold books the shipment
	case r.canShip(order.State):
		return c, true, nil
	}

	r.cfg.Log.InfoContext(ctx, "no shipment is booked: the order has moved on", "order", c.New.ID, "transition", c.Transition.ID, "state", order.State)

	return c, false, nil
}

// canShip reports whether parcels of an order in the state can still leave.
func (r *Reactions) canShip(state workflow.State) bool {
	gone := r.definition().Gone()

	return !slices.Contains(gone, state) && slices.ContainsFunc(gone, func(s workflow.State) bool { return r.definition().Reachable(state, s) })
}

// payment returns the newest transition with which the order began to wait for its shipment: the one that paid it.
func (r *Reactions) payment(ctx context.Context, order *transitions.Order) (transitions.TransitionID, error) {
	paid, err := r.cfg.Orders.TransitionsBy(ctx, order, append(r.definition().BookedBy(), workflow.Imported)...)
	switch {
	case err != nil && !transitions.Retryable(err):
		return 0, streams.Permanent(err)
	case err != nil:
		return 0, err
	case len(paid) == 0:
		return 0, streams.Permanent(fmt.Errorf("book shipment of order %s: no transition of it is a payment", order.ID))
	case paid[len(paid)-1].Event == workflow.Imported:
		return 0, errElsewhere
	}

	return paid[len(paid)-1].ID, nil
}
