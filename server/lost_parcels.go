package server

import (
	"context"

	"ratchet/executions"
	"ratchet/shipping"
	"ratchet/shipping/sandbox"
	"ratchet/transitions"
)

// lostParcelKey names the once-lock that records the carrier's report of a lost parcel. Its
// holder is the id of the report, so a repeated report changes nothing. The text is stored.
func lostParcelKey(id transitions.OrderID) string { return "lost-parcel/" + string(id) }

// recordLostParcel records the report for [executions.Executions.Survey]. The first report of
// an order stays: one is enough for a person to look.
func (b *Backend) recordLostParcel(ctx context.Context, report shipping.Report) error {
	lock, err := b.Locks.Acquire(ctx, lostParcelKey(transitions.OrderID(report.OrderID)), report.ID)
	if err != nil {
		return err
	}

	b.log.WarnContext(ctx, "the carrier has lost a parcel", "order", report.OrderID, "report", report.ID, "recorded", lock.Holder)

	return nil
}

// lostParcel returns the recorded report of a lost parcel of the order.
func (b *Backend) lostParcel(ctx context.Context, id transitions.OrderID) (lost executions.LostParcel, found bool, err error) {
	lock, found, err := b.Locks.Get(ctx, lostParcelKey(id))

	return executions.LostParcel{Tracking: sandbox.Tracking(lock.Holder), Report: lock.Holder, At: lock.Since}, found, err
}
