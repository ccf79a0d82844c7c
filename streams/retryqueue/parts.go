package retryqueue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
	"ratchet/streams"
	"ratchet/streams/store"
)

// partsLife is how long the parts of a record that waits are kept. The queue's worker moves the end
// when half of it is left (see keepParts), so it counts after the handler's last worker has ended, and
// for parts to which no row refers.
const partsLife = 14 * 24 * time.Hour

// partsEnd is the end of parts that are stored or kept now.
func (t *Table) partsEnd() time.Time { return t.Clock.Now().Add(partsLife) }

func (t *Table) parts() store.Parts {
	return store.Parts{API: t.API, Table: t.Table, Expiry: dynamo.Seconds(t.partsEnd())}
}

// KeepParts moves the end of the row's parts if it is near.
func (t *Table) KeepParts(ctx context.Context, handler string, row Row) error {
	if row.refused != nil || row.PartsEnd.Sub(t.Clock.Now()) > partsLife/2 {
		return nil
	}

	records := slices.Concat(row.Replays, row.Records)

	if row.More > 0 {
		in := t.query(handler, morePrefix(row.Hash))

		pages := dynamodb.NewQueryPaginator(t.API, in)
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return fmt.Errorf("streams: read the retry queue of %s: %w", handler, err)
			}

			records = append(records, referred(row.Hash, page.Items)...)
		}
	}

	end, parts := t.partsEnd(), t.parts()
	for _, record := range records {
		if err := parts.Keep(ctx, t.Source(handler), record.Parts); err != nil {
			return err
		}
	}

	_, _, err := store.Apply(ctx, t.API, t.updateHeld(handler, row).IfPresent(store.ID).SetValue(retryPartsEnd, dynamo.Millis(end)))

	return err
}

// storeRecords stores records of one item, which a row will refer to.
func (t *Table) storeRecords(ctx context.Context, hash store.ItemHash, records []streams.Record) ([]Waiting, error) {
	stored := make([]Waiting, len(records))
	for i, r := range records {
		var err error
		if stored[i], err = t.StoreRecord(ctx, hash, r); err != nil {
			return nil, err
		}
	}

	return stored, nil
}

// StoreRecord stores a record in rows of its own and returns the reference to it.
func (t *Table) StoreRecord(ctx context.Context, hash store.ItemHash, r streams.Record) (Waiting, error) {
	body, err := store.EncodeRecord(r)
	if err != nil {
		return Waiting{}, fmt.Errorf("streams: encode a record for the retry queue: %w", err)
	}

	parts, err := t.parts().Store(ctx, t.Source(r.Handler), partsID(hash, r.SequenceNumber), r.Keys, body)

	record := Waiting{Sequence: r.SequenceNumber, Parts: parts}
	if r.Replay == nil {
		record.Epoch = r.Epoch
	}

	return record, err
}

// writeRow makes a write up to rowTries times. The write is sent without the SDK's retries, because
// these report only their last error. unknown says that one of the tries may have been stored.
func writeRow(ctx context.Context, write func() error) (unknown bool, err error) {
	for try := 1; ; try++ {
		err := write()
		unknown = unknown || dynamo.OutcomeUnknown(ctx, err)

		if err == nil || !dynamo.Retryable(err) || try == rowTries {
			return unknown, err
		}

		// The first repeat comes at once: after a lost answer it finds what was stored.
		if try > 1 && !store.WriteBackoff.Wait(ctx, try) {
			return unknown, err
		}
	}
}

// rowTries is as many tries as the SDK makes by default.
const rowTries = 3

// afterFault deletes the parts of a record if it is known that no row refers to them: a throttled
// write may be repeated many times. If the outcome is unknown, the parts stay, until their end if no
// row refers to them.
func (t *Table) afterFault(ctx context.Context, record Waiting, r streams.Record, unknown bool, err error) error {
	fault := fmt.Errorf("streams: put record %s of %s into the retry queue: %w", r.SequenceNumber, r.Handler, err)
	if unknown {
		return fault
	}

	return errors.Join(fault, t.DropParts(ctx, r.Handler, record))
}

// dropTimeout is how long it may take to delete the parts of one record.
const dropTimeout = 10 * time.Second

// DropParts deletes the parts of a record to which no row refers, even if ctx has ended.
func (t *Table) DropParts(ctx context.Context, handler string, record Waiting) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), dropTimeout)
	defer cancel()

	return t.parts().Delete(ctx, t.Source(handler), record.Parts)
}
