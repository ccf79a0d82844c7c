package reports

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/shipping"
)

// keepApplied is how long the row is kept that says that a report was applied. It is longer than a
// carrier repeats a report.
const keepApplied = 30 * 24 * time.Hour

// appliedKey is the partition of the applied reports of the report's order.
func appliedKey(r shipping.Report) string { return "applied#" + r.OrderID }

// contentOf is a digest of the content that must be equal in a repeat of the report.
func contentOf(r shipping.Report) (types.AttributeValue, error) {
	// The tracking number and the time are left out: a carrier may correct them in a repeat.
	text, err := json.Marshal(shipping.Report{Shipment: r.Shipment, Milestone: r.Milestone, Parcel: r.Parcel, Lines: r.Lines})
	sum := sha256.Sum256(text)

	return dynamo.B(sum[:16]), err
}

// noteApplied stores that the report was applied, for a repeat that the carrier cannot or does not
// confirm. Without an Asker it does nothing.
func (d *Receiver) noteApplied(ctx context.Context, r shipping.Report) error {
	if d.cfg.Asker == nil {
		return nil
	}

	content, err := contentOf(r)
	if err != nil {
		return err
	}

	err = d.put(ctx, r, func(string) string { return appliedKey(r) }, "content", content, func(update *dynamo.Update) {
		update.SetValue(ExpiryAttribute, dynamo.Seconds(d.cfg.Now().Add(keepApplied)))
	})
	if err != nil {
		return fmt.Errorf("note that report %s was applied: %w", r.ID, err)
	}

	return nil
}

// wasApplied reports whether noteApplied was called for the report, with the same content.
func (d *Receiver) wasApplied(ctx context.Context, r shipping.Report) (bool, error) {
	if d.cfg.Asker == nil {
		return false, nil
	}

	content, err := contentOf(r)
	if err != nil {
		return false, err
	}

	for _, name := range namesOf(r) {
		row, err := d.get(ctx, rowKey(appliedKey(r), name))
		if err != nil {
			return false, err
		}

		// A report with a known id and other content is another report, and the carrier has to confirm it.
		if reflect.DeepEqual(row["content"], content) {
			return true, nil
		}
	}

	return false, nil
}
