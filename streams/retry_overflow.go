package streams

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	ddbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
)

// An item's row refers to up to maxRowRecords records. Each further reference has a row of its own,
// beside the item's row, whose id sorts like the sequence number. The item's row counts these rows.
// While there are any, a new record gets such a row, too. The worker that delivers moves the oldest
// references into the item's row before that row is empty. Each move is one transaction, which
// fails if another worker has made the move.
const (
	retryMorePrefix = "more/" // before the hash of the item's key
	retryMore       = "more"

	// When the item's row has fewer than refillBelow records, the worker moves up to refillRecords
	// references into it, in one transaction.
	refillBelow   = 10
	refillRecords = maxRowRecords - refillBelow
)

// errRowsGone says that an item's row counts rows beside it that do not exist.
var errRowsGone = errors.New("streams: rows of the retry queue are gone")

func (h laneHash) morePrefix() string { return retryMorePrefix + h.text() + "/" }

func (h laneHash) moreID(sequence string) string { return h.morePrefix() + paddedSequence(sequence) }

// takesMore reports whether the reference to a new record goes into a row beside the item's row.
func (r retryRow) takesMore() bool { return r.more > 0 || len(r.records) >= maxRowRecords }

// appendMore adds the reference to a new record in a row beside the item's row. It reports false if
// the item's row has changed since it was read.
func (t *retryTable) appendMore(ctx context.Context, handler string, row retryRow, record waitingRecord) (bool, error) {
	ref := deadLetterRowKey(t.source(handler), row.hash.moreID(record.sequence))
	ref[retryRecords] = record.encode()

	update := t.update(handler, row.hash).
		If("#last < :last").
		Bind(":last", dynamo.S(paddedSequence(record.sequence))).
		Bind(":one", dynamo.N(1)).
		Set("#last = :last").
		Add("#more :one")

	// Fails if the first row beside it was added, or the last one moved, since the item's row was
	// read.
	if row.more > 0 {
		update.IfPresent(retryMore)
	} else {
		update.IfAbsent(retryMore).
			If("size(#records) >= :max").
			Bind(":max", dynamo.N(maxRowRecords))
	}

	return t.transact(ctx, handler, []ddbtypes.TransactWriteItem{
		{Update: update.Part()},
		{Put: &ddbtypes.Put{TableName: &t.table, Item: ref}},
	})
}

// referred returns the records to which rows beside the item's row refer.
func (h laneHash) referred(rows []map[string]ddbtypes.AttributeValue) []waitingRecord {
	records := make([]waitingRecord, len(rows))
	for i, row := range rows {
		records[i] = decodeWaitingRecord(row[retryRecords], h)
	}

	return records
}

// refill moves the oldest references from rows beside the item's row into it. It reports false if
// the item's row has changed. It returns errRowsGone if the item's row counts rows beside it that
// do not exist.
func (t *retryTable) refill(ctx context.Context, handler string, row retryRow) (bool, error) {
	in := t.query(handler, row.hash.morePrefix())
	in.Limit = aws.Int32(refillRecords)

	out, err := t.api.Query(ctx, in)
	if err != nil {
		return false, fmt.Errorf("streams: read the retry queue of %s: %w", handler, err)
	}

	if len(out.Items) == 0 {
		return false, t.checkRowsGone(ctx, handler, row)
	}

	records := slices.Concat(row.records, row.hash.referred(out.Items))
	update := t.rewrite(handler, row, records, row.more-len(out.Items))

	return t.transact(ctx, handler, append(t.deleteParts(out.Items), ddbtypes.TransactWriteItem{Update: update.Part()}))
}

// checkRowsGone returns errRowsGone if the item's row is unchanged since it was read, which was
// before the query that found no rows beside it. Then no row was added or moved between the read
// and the query.
func (t *retryTable) checkRowsGone(ctx context.Context, handler string, row retryRow) error {
	now, _, err := t.get(ctx, handler, row.hash)
	if err != nil {
		return err
	}

	if now.more == row.more && now.last == row.last {
		return fmt.Errorf("%w: %d records of %s", errRowsGone, row.more, handler)
	}

	return nil
}

// forgetMore sets the item's number of rows beside it to 0, or deletes the item's row if it has no
// record itself. It does nothing if the item's row has changed.
func (t *retryTable) forgetMore(ctx context.Context, handler string, row retryRow) error {
	if row.length() == 0 {
		return t.deleteEmpty(ctx, handler, row)
	}

	if _, _, err := applyUpdate(ctx, t.api, t.rewrite(handler, row, row.records, 0)); err != nil {
		return fmt.Errorf("streams: write a row of the retry queue of %s: %w", handler, err)
	}

	return nil
}

func (t *retryTable) deleteEmpty(ctx context.Context, handler string, row retryRow) error {
	_, err := t.api.DeleteItem(ctx, &dynamodb.DeleteItemInput{
		TableName:                &t.table,
		Key:                      deadLetterRowKey(t.source(handler), row.hash.rowID()),
		ConditionExpression:      aws.String("(" + knownFormat + ") AND #more = :more AND #last = :last AND (" + ifHolder + ") AND (attribute_not_exists(#replays) OR size(#replays) = :none)"),
		ExpressionAttributeNames: map[string]string{"#format": rowFormat, "#more": retryMore, "#last": retryLast, "#replays": retryReplays, "#holder": retryHolder},
		ExpressionAttributeValues: dynamo.Item{
			":format": dynamo.N(retryRowFormat),
			":more":   dynamo.N(int64(row.more)),
			":last":   dynamo.S(row.last),
			":none":   dynamo.N(0),
			":holder": dynamo.N(row.holder),
		},
	})
	if _, failed := dynamo.FailedCondition(err); failed {
		return nil
	}

	return err
}

// rewrite returns an update that replaces the records in the item's row and the number of rows
// beside it. The update fails if the item's row has changed: adding a record changes last, moving
// records changes more, and removing a record shortens the list.
func (t *retryTable) rewrite(handler string, row retryRow, records []waitingRecord, more int) *dynamo.Update {
	list := make([]ddbtypes.AttributeValue, len(records))
	for i, r := range records {
		list[i] = r.encode()
	}

	update := t.updateHeld(handler, row).
		IfEquals(retryMore, dynamo.N(int64(row.more))).
		IfEquals(retryLast, dynamo.S(row.last)).
		If("size(#records) = :listed").
		Bind(":listed", dynamo.N(int64(len(row.records))))

	if more > 0 {
		update.SetValue(retryMore, dynamo.N(int64(more)))
	} else {
		update.RemoveAttribute(retryMore)
	}

	return update.SetValue(retryRecords, &ddbtypes.AttributeValueMemberL{Value: list})
}

// deleteParts returns the parts of a transaction that delete the rows. The transaction fails if a row is
// missing or has another reference.
func (t *retryTable) deleteParts(rows []map[string]ddbtypes.AttributeValue) []ddbtypes.TransactWriteItem {
	parts := make([]ddbtypes.TransactWriteItem, len(rows))
	for i, row := range rows {
		parts[i] = ddbtypes.TransactWriteItem{Delete: &ddbtypes.Delete{
			TableName:                 &t.table,
			Key:                       deadLetterRowKey(dynamo.Text(row, deadLetterSource), dynamo.Text(row, deadLetterID)),
			ConditionExpression:       aws.String("#records = :reference"),
			ExpressionAttributeNames:  map[string]string{"#records": retryRecords},
			ExpressionAttributeValues: dynamo.Item{":reference": row[retryRecords]},
		}}
	}

	return parts
}

// transactTries is how often a throttled transaction is tried. The SDK does not retry it.
const transactTries = 3

// transact makes the writes in one transaction. It reports false if a condition failed, or if
// another write at the same time was in conflict.
func (t *retryTable) transact(ctx context.Context, handler string, writes []ddbtypes.TransactWriteItem) (bool, error) {
	token := rand.Text() // shorter than the 36 characters that a request token may have

	for try := 1; ; try++ {
		_, err := t.api.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{ClientRequestToken: &token, TransactItems: writes})
		if err == nil {
			return true, nil
		}

		// Only a cancellation proves that nothing was written. After other errors the outcome is unknown.
		canceled := cancellation(err)
		failures := failuresOf(canceled)

		switch {
		case canceled == nil:
			return false, fmt.Errorf("streams: put records into the retry queue of %s: %w", handler, err)
		case len(failures) == 0:
			return false, nil
		case try == transactTries || !finalWriteBackoff.Wait(ctx, try):
			return false, fmt.Errorf("streams: put records into the retry queue of %s: %v: %w", handler, failures, err)
		}
	}
}

// cancellation returns the exception that proves that a transaction was not made, nil if err does
// not prove that.
func cancellation(err error) *ddbtypes.TransactionCanceledException {
	var canceled *ddbtypes.TransactionCanceledException
	errors.As(err, &canceled)

	return canceled
}

// failuresOf returns the reasons of a canceled transaction that are neither a failed condition nor
// a conflict with another write: throttling, for example.
func failuresOf(canceled *ddbtypes.TransactionCanceledException) []string {
	if canceled == nil {
		return nil
	}

	var codes []string
	for _, r := range canceled.CancellationReasons {
		switch code := aws.ToString(r.Code); code {
		case "", "None", "ConditionalCheckFailed", "TransactionConflict":
		default:
			codes = append(codes, code)
		}
	}

	return codes
}
