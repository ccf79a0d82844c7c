package reports

import (
	"context"
	"fmt"
	"time"

	"ratchet/internal/dynamo"
	"ratchet/shipping"
	"ratchet/transitions"
)

// Lost is the report of a lost parcel.
type Lost struct {
	ID       string    // of the report
	Tracking string    // the carrier's tracking number, "" if it named none
	Since    time.Time // when it was recorded
}

func lostKey(order *transitions.Order) dynamo.Item { return parcelsRow(order, "lost") }

// recordLost records that a parcel of the order was lost. Only the first report about a life is kept,
// for 400 days: it is enough to make a person look.
func (d *Receiver) recordLost(ctx context.Context, order *transitions.Order, r shipping.Report) error {
	now := d.now()
	update := dynamo.NewUpdate(d.cfg.Table, lostKey(order)).
		// TTL deletes up to days late, so an expired row counts as absent.
		If("attribute_not_exists("+partitionKey+") OR "+ExpiryAttribute+" <= :now").
		Bind(":now", dynamo.Seconds(now)).
		SetValue("report", dynamo.S(r.ID)).
		SetValue("tracking", dynamo.S(r.Tracking)).
		SetValue("since", dynamo.Millis(now)).
		SetValue(ExpiryAttribute, dynamo.Seconds(now.Add(keepParcels)))

	_, err := d.cfg.DynamoDB.UpdateItem(ctx, update.Input())
	if _, recorded := dynamo.FailedCondition(err); recorded {
		return nil
	}

	if err != nil {
		return fmt.Errorf("record the lost parcel: %w", err)
	}
	d.cfg.Log.WarnContext(ctx, "the carrier has lost a parcel", "order", r.OrderID, "report", r.ID)

	return nil
}

// Lost returns the first report of a lost parcel of this life of the order. It reports false if there was
// none within 400 days.
func (d *Receiver) Lost(ctx context.Context, order *transitions.Order) (lost Lost, found bool, err error) {
	row, err := d.get(ctx, lostKey(order))
	if err != nil || row == nil {
		return Lost{}, false, err
	}

	return Lost{ID: dynamo.Text(row, "report"), Tracking: dynamo.Text(row, "tracking"), Since: dynamo.Time(row, "since")}, true, nil
}
