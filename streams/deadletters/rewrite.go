package deadletters

import (
	"context"
	"fmt"
	"time"

	"ratchet/internal/dynamo"
	"ratchet/streams"
	"ratchet/streams/store"
)

// rewriteTimeout is the time that Rewrite claims a dead letter for, so that no other Redrive or
// Rewrite changes it. The claim adds 10 s.
const rewriteTimeout = 30 * time.Second

// Rewrite changes the record of a dead letter with change, and replaces the text of its error,
// for example to remove personal data. The dead letter can be redriven as before. It returns
// ErrRedriving while a redrive of the dead letter runs, ErrDeadLetterNotFound if there is no such dead
// letter, and ErrUnreadable if its record cannot be decoded.
func (d Letters) Rewrite(ctx context.Context, handler, id, errorText string, change func(*streams.Record)) error {
	letter, err := d.Get(ctx, handler, id)
	if err != nil {
		return err
	}

	h := streams.Handler{Name: handler, Timeout: rewriteTimeout}
	if err := d.claim(ctx, h, id); err != nil {
		return err
	}

	// Read again under the claim: a redrive before the claim may have changed the row. The claim
	// does not stop a worker that redrives the dead letter from the retry queue.
	row, err := d.Rows().get(ctx, handler, id)
	if err != nil {
		return err
	}

	record := *letter.Record
	change(&record)

	body, err := store.EncodeRecord(record)
	if err != nil {
		return fmt.Errorf("streams: encode dead letter: %w", err)
	}

	stored, _, err := d.Rows().storeRecord(ctx, handler, id, letter.Keys, body, row[store.Expiry])
	if err != nil {
		return err
	}

	update := dynamo.NewUpdate(d.Table, d.Rows().Key(handler, id)).
		IfPresent(store.ID).
		SetValue(deadLetterError, dynamo.S(errorText)).
		RemoveAttribute(deadLetterClaimedUntil)

	for _, attribute := range recordAttributes {
		if value, has := stored[attribute]; has {
			update.SetValue(attribute, value)
		} else {
			update.RemoveAttribute(attribute)
		}
	}

	if _, _, err := store.Apply(ctx, d.DynamoDB, update); err != nil {
		return fmt.Errorf("streams: rewrite dead letter %s of %s: %w", id, handler, err)
	}

	// The old parts are deleted last: until the update is stored, the row refers to them.
	return d.Rows().parts(nil).Delete(ctx, d.Rows().Source(handler), partsOf(row))
}
