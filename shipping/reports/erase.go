package reports

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"ratchet/internal/dynamo"
	"ratchet/transitions"
)

// ErrReportsWait means that a report about the order waits or needs a person.
var ErrReportsWait = errors.New("reports of the carrier about the order wait")

// erasePage is how many reports Erase reads at once.
const erasePage = 100

// CanErase returns ErrReportsWait if a stored report about the order is still to be tried. It reads all
// waiting reports of all orders, because their keys do not contain the order.
func (d *Receiver) CanErase(ctx context.Context, orderID string) error {
	for shard := range waitingShards {
		err := d.eachOf(ctx, "waiting#"+strconv.Itoa(shard), orderID, func(s Stored) error {
			return fmt.Errorf("%w: %s is %s", ErrReportsWait, s.ID, s.Effect)
		})
		if err != nil {
			return err
		}
	}

	return nil
}

// Erase removes texts that people and the carrier have written about an order. Refused reports are
// deleted. A report that a person has dealt with loses its reason, its command, its tracking number,
// the person's name and the person's text; it keeps the fields by which a repeat is recognized. The
// row of a lost parcel loses its tracking number. The names of parcels stay. Erase reads the refused
// and closed reports of all orders. It returns the number of rows that it has deleted or changed. A
// repeat changes nothing.
func (d *Receiver) Erase(ctx context.Context, orderID string) (changed int, err error) {
	err = d.eachOf(ctx, refusedKey, orderID, func(s Stored) error {
		changed++

		return d.remove(ctx, refusedKey, s)
	})
	if err != nil {
		return changed, fmt.Errorf("erase the refused reports of order %s: %w", orderID, err)
	}

	err = d.eachOf(ctx, doneKey, orderID, func(s Stored) error {
		erased, err := d.eraseDone(ctx, s)
		if erased {
			changed++
		}

		return err
	})
	if err != nil {
		return changed, fmt.Errorf("erase the closed reports of order %s: %w", orderID, err)
	}

	erased, err := d.eraseLost(ctx, orderID)
	if err != nil {
		return changed, fmt.Errorf("erase the lost parcel of order %s: %w", orderID, err)
	}

	if erased {
		changed++
	}

	return changed, nil
}

// eraseLost removes the tracking number of the order's lost parcel. It reports false if there is none.
func (d *Receiver) eraseLost(ctx context.Context, orderID string) (bool, error) {
	update := dynamo.NewUpdate(d.cfg.Table, lostKey(transitions.OrderID(orderID))).
		IfPresent("tracking").
		RemoveAttribute("tracking")

	_, err := d.cfg.DynamoDB.UpdateItem(ctx, update.Input())
	if _, none := dynamo.FailedCondition(err); none {
		return false, nil
	}

	return err == nil, err
}

// eachOf calls fn for each stored report of a partition that is about the order.
func (d *Receiver) eachOf(ctx context.Context, partition, orderID string, fn func(Stored) error) error {
	for after := ""; ; {
		page, next, err := d.read(ctx, partition, "", after, erasePage)
		if err != nil {
			return err
		}

		for _, s := range page {
			// There is no index by order, because erasures are rare and stored reports are few.
			if s.OrderID != orderID {
				continue
			}

			if err := fn(s); err != nil {
				return err
			}
		}

		if after = next; after == "" {
			return nil
		}
	}
}

// eraseDone removes the person from a report that was dealt with. It reports false if the report
// names no person.
func (d *Receiver) eraseDone(ctx context.Context, s Stored) (bool, error) {
	cause := s.Closing.Cause
	if s.Reason+s.Command+s.Tracking+cause.Text+cause.Actor == "" {
		return false, nil
	}

	s.Tracking = ""

	text, err := json.Marshal(s.Report)
	if err != nil {
		return false, err
	}

	// The row itself stays: without it, a repeat of the carrier would be judged again.
	update := dynamo.NewUpdate(d.cfg.Table, rowKey(doneKey, s.Name)).
		IfEquals("report", dynamo.S(s.text)).
		SetValue("report", dynamo.S(string(text)))
	for _, name := range []string{"reason", "command", "text", "actor"} {
		update.SetValue(name, dynamo.S(""))
	}

	_, err = d.cfg.DynamoDB.UpdateItem(ctx, update.Input())
	if _, gone := dynamo.FailedCondition(err); gone {
		return false, nil // TTL has deleted the row, or another call has erased it
	}

	return err == nil, err
}
