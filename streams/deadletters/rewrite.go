package deadletters

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

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
	d = d.hearing()

	letter, err := d.Get(ctx, handler, id)
	if err != nil {
		return err
	}

	h := streams.Handler{Name: handler, Timeout: rewriteTimeout}
	if _, err := d.claim(ctx, h, id); err != nil {
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

	// The row must still be the one that was read, because its parts are overwritten.
	stored, parts := d.Rows().encodeRecord(handler, id, letter.Keys, body, row[store.Expiry], partsOf(row))
	update := dynamo.NewUpdate(d.Table, d.Rows().Key(handler, id)).
		IfEquals(deadLetterFailedAt, row[deadLetterFailedAt]).
		SetValue(deadLetterError, dynamo.S(errorText)).
		RemoveAttribute(deadLetterClaimedUntil)

	for _, attribute := range recordAttributes {
		if value, has := stored[attribute]; has {
			update.SetValue(attribute, value)
		} else {
			update.RemoveAttribute(attribute)
		}
	}

	writes := append([]types.TransactWriteItem{{Update: update.Part()}}, parts...)

	_, applied, err := store.Write(ctx, d.DynamoDB, nil, writes)
	if err != nil {
		return fmt.Errorf("streams: rewrite dead letter %s of %s: %w", id, handler, err)
	}

	if !applied {
		return fmt.Errorf("%w: %s of %s", ErrRedriving, id, handler)
	}

	return nil
}
