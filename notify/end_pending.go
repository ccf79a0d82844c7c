package notify

import (
	"cmp"
	"context"
)

// EndPending gives up the PENDING deliveries that end selects, for a reason that their records then have, and returns
// their number. With look, nothing is written. It reads the whole table. Call it while no worker runs: an attempt that
// is under way is not stopped.
func (d *Deliveries) EndPending(ctx context.Context, reason string, look bool, end func(Delivery) (bool, error)) (count int, err error) {
	var pending []Delivery

	scanned := d.Scan(ctx, func(delivery Delivery) bool {
		if delivery.Status != Pending {
			return true
		}

		var selected bool
		if selected, err = end(delivery); selected {
			pending = append(pending, delivery)
		}

		return err == nil
	})
	if scanned != nil || err != nil {
		return 0, cmp.Or(scanned, err)
	}

	for _, delivery := range pending {
		ended := look
		if !look {
			if ended, err = d.records.store(ctx, &delivery, delivery.missed(reason)); err != nil {
				return count, err
			}
		}

		if ended {
			count++
		}
	}

	return count, nil
}
