package streams

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
)

// partsLife is how long the parts of a record that waits are kept. The queue's worker moves the end
// when half of it is left (see keepParts), so it counts after the handler's last worker has ended, and
// for parts to which no row refers.
const partsLife = 14 * 24 * time.Hour

// partsEnd is the end of parts that are stored or kept now.
func (t *retryTable) partsEnd() time.Time { return t.clock.Now().Add(partsLife) }

func (t *retryTable) parts() recordParts {
	return recordParts{api: t.api, table: t.table, expiry: dynamo.Seconds(t.partsEnd())}
}

// keepParts moves the end of the row's parts if it is near.
func (t *retryTable) keepParts(ctx context.Context, handler string, row retryRow) error {
	if row.refused != nil || row.partsEnd.Sub(t.clock.Now()) > partsLife/2 {
		return nil
	}

	records := slices.Concat(row.replays, row.records)

	if row.more > 0 {
		in := t.query(handler, row.hash.morePrefix())

		pages := dynamodb.NewQueryPaginator(t.api, in)
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return fmt.Errorf("streams: read the retry queue of %s: %w", handler, err)
			}

			records = append(records, row.hash.referred(page.Items)...)
		}
	}

	end, parts := t.partsEnd(), t.parts()
	for _, record := range records {
		if err := parts.keep(ctx, t.source(handler), record.parts); err != nil {
			return err
		}
	}

	_, _, err := applyUpdate(ctx, t.api, t.updateHeld(handler, row).IfPresent(deadLetterID).SetValue(retryPartsEnd, dynamo.Millis(end)))

	return err
}

// storeRecords stores records of one item, which a row will refer to.
func (t *retryTable) storeRecords(ctx context.Context, hash laneHash, records []Record) ([]waitingRecord, error) {
	stored := make([]waitingRecord, len(records))
	for i, r := range records {
		var err error
		if stored[i], err = t.storeRecord(ctx, hash, r); err != nil {
			return nil, err
		}
	}

	return stored, nil
}

func (t *retryTable) storeRecord(ctx context.Context, hash laneHash, r Record) (waitingRecord, error) {
	body, err := encodeRecord(r)
	if err != nil {
		return waitingRecord{}, fmt.Errorf("streams: encode a record for the retry queue: %w", err)
	}

	parts, err := t.parts().store(ctx, t.source(r.Handler), hash.partsID(r.SequenceNumber), r.Keys, body)

	record := waitingRecord{sequence: r.SequenceNumber, parts: parts}
	if r.Replay == nil {
		record.epoch = r.Epoch
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
		if try > 1 && !finalWriteBackoff.Wait(ctx, try) {
			return unknown, err
		}
	}
}

// rowTries is as many tries as the SDK makes by default.
const rowTries = 3

// afterFault deletes the parts of a record if it is known that no row refers to them: a throttled
// write may be repeated many times. If the outcome is unknown, the parts stay, until their end if no
// row refers to them.
func (t *retryTable) afterFault(ctx context.Context, record waitingRecord, r Record, unknown bool, err error) error {
	fault := fmt.Errorf("streams: put record %s of %s into the retry queue: %w", r.SequenceNumber, r.Handler, err)
	if unknown {
		return fault
	}

	return errors.Join(fault, t.dropParts(ctx, r.Handler, record))
}

// dropTimeout is how long it may take to delete the parts of one record.
const dropTimeout = 10 * time.Second

// dropParts deletes the parts of a record to which no row refers, even if ctx has ended.
func (t *retryTable) dropParts(ctx context.Context, handler string, record waitingRecord) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), dropTimeout)
	defer cancel()

	return t.parts().delete(ctx, t.source(handler), record.parts)
}
