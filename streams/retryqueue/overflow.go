package retryqueue

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
	"ratchet/streams/store"
)

// An item's row refers to up to maxRowRecords records. Each further reference has a row of its own,
// beside the item's row, whose id sorts like the sequence number. The item's row counts these rows.
// While there are any, a new record gets such a row, too. The worker that delivers moves the oldest
// references into the item's row before that row is empty. Each move is one transaction, which
// fails if another worker has made the move.
const (
	retryMorePrefix = "more/" // before the hash of the item's key
	retryMore       = "more"

	// When the item's row has fewer than RefillBelow records, the worker moves up to refillRecords
	// references into it, in one transaction.
	RefillBelow   = 10
	refillRecords = maxRowRecords - RefillBelow
)

// ErrRowsGone says that an item's row counts rows beside it that do not exist.
var ErrRowsGone = errors.New("streams: rows of the retry queue are gone")

func morePrefix(h store.ItemHash) string { return retryMorePrefix + h.Text() + "/" }

func moreID(h store.ItemHash, sequence string) string {
	return morePrefix(h) + store.PaddedSequence(sequence)
}

// takesMore reports whether the reference to a new record goes into a row beside the item's row.
func (r Row) takesMore() bool { return r.More > 0 || len(r.Records) >= maxRowRecords }

// AppendMore adds the reference to a new record in a row beside the item's row. It reports false if
// the item's row has changed since it was read.
func (t *Table) AppendMore(ctx context.Context, handler string, row Row, record Waiting) (bool, error) {
	ref := store.RowKey(t.Source(handler), moreID(row.Hash, record.Sequence))
	ref[retryRecords] = record.Encode()

	update := t.Update(handler, row.Hash).
		If("#last < :last").
		Bind(":last", dynamo.S(store.PaddedSequence(record.Sequence))).
		Bind(":one", dynamo.N(1)).
		Set("#last = :last").
		Add("#more :one")

	// Fails if the first row beside it was added, or the last one moved, since the item's row was
	// read.
	if row.More > 0 {
		update.IfPresent(retryMore)
	} else {
		update.IfAbsent(retryMore).
			If("size(#records) >= :max").
			Bind(":max", dynamo.N(maxRowRecords))
	}

	return t.transact(ctx, handler, []ddbtypes.TransactWriteItem{
		{Update: update.Part()},
		{Put: &ddbtypes.Put{TableName: &t.Table, Item: ref}},
	})
}

// referred returns the records to which rows beside the item's row refer.
func referred(h store.ItemHash, rows []map[string]ddbtypes.AttributeValue) []Waiting {
	records := make([]Waiting, len(rows))
	for i, row := range rows {
		records[i] = decodeWaitingRecord(row[retryRecords], h)
	}

	return records
}

// Refill moves the oldest references from rows beside the item's row into it. It reports false if
// the item's row has changed. It returns ErrRowsGone if the item's row counts rows beside it that
// do not exist.
func (t *Table) Refill(ctx context.Context, handler string, row Row) (bool, error) {
	in := t.query(handler, morePrefix(row.Hash))
	in.Limit = aws.Int32(refillRecords)

	out, err := t.API.Query(ctx, in)
	if err != nil {
		return false, fmt.Errorf("streams: read the retry queue of %s: %w", handler, err)
	}

	if len(out.Items) == 0 {
		return false, t.checkRowsGone(ctx, handler, row)
	}

	records := slices.Concat(row.Records, referred(row.Hash, out.Items))
	update := t.rewrite(handler, row, records, row.More-len(out.Items))

	return t.transact(ctx, handler, append(t.deleteParts(out.Items), ddbtypes.TransactWriteItem{Update: update.Part()}))
}

// checkRowsGone returns ErrRowsGone if the item's row is unchanged since it was read, which was
// before the query that found no rows beside it. Then no row was added or moved between the read
// and the query.
func (t *Table) checkRowsGone(ctx context.Context, handler string, row Row) error {
	now, _, err := t.Get(ctx, handler, row.Hash)
	if err != nil {
		return err
	}

	if now.More == row.More && now.last == row.last {
		return fmt.Errorf("%w: %d records of %s", ErrRowsGone, row.More, handler)
	}

	return nil
}

// ForgetMore sets the item's number of rows beside it to 0, or deletes the item's row if it has no
// record itself. It does nothing if the item's row has changed.
func (t *Table) ForgetMore(ctx context.Context, handler string, row Row) error {
	if row.Length() == 0 {
		return t.deleteEmpty(ctx, handler, row)
	}

	if _, _, err := store.Apply(ctx, t.API, t.rewrite(handler, row, row.Records, 0)); err != nil {
		return fmt.Errorf("streams: write a row of the retry queue of %s: %w", handler, err)
	}

	return nil
}

func (t *Table) deleteEmpty(ctx context.Context, handler string, row Row) error {
	_, err := t.API.DeleteItem(ctx, &dynamodb.DeleteItemInput{
		TableName:                &t.Table,
		Key:                      store.RowKey(t.Source(handler), rowID(row.Hash)),
		ConditionExpression:      aws.String("(" + store.KnownFormat + ") AND #more = :more AND #last = :last AND (" + ifHolder + ") AND (attribute_not_exists(#replays) OR size(#replays) = :none)"),
		ExpressionAttributeNames: map[string]string{"#format": store.Format, "#more": retryMore, "#last": retryLast, "#replays": retryReplays, "#holder": retryHolder},
		ExpressionAttributeValues: dynamo.Item{
			":format": dynamo.N(store.QueueRowFormat),
			":more":   dynamo.N(int64(row.More)),
			":last":   dynamo.S(row.last),
			":none":   dynamo.N(0),
			":holder": dynamo.N(row.Holder),
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
func (t *Table) rewrite(handler string, row Row, records []Waiting, more int) *dynamo.Update {
	list := make([]ddbtypes.AttributeValue, len(records))
	for i, r := range records {
		list[i] = r.Encode()
	}

	update := t.updateHeld(handler, row).
		IfEquals(retryMore, dynamo.N(int64(row.More))).
		IfEquals(retryLast, dynamo.S(row.last)).
		If("size(#records) = :listed").
		Bind(":listed", dynamo.N(int64(len(row.Records))))

	if more > 0 {
		update.SetValue(retryMore, dynamo.N(int64(more)))
	} else {
		update.RemoveAttribute(retryMore)
	}

	return update.SetValue(retryRecords, &ddbtypes.AttributeValueMemberL{Value: list})
}

// deleteParts returns the parts of a transaction that delete the rows. The transaction fails if a row is
// missing or has another reference.
func (t *Table) deleteParts(rows []map[string]ddbtypes.AttributeValue) []ddbtypes.TransactWriteItem {
	parts := make([]ddbtypes.TransactWriteItem, len(rows))
	for i, row := range rows {
		parts[i] = ddbtypes.TransactWriteItem{Delete: &ddbtypes.Delete{
			TableName:                 &t.Table,
			Key:                       store.RowKey(dynamo.Text(row, store.Source), dynamo.Text(row, store.ID)),
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
func (t *Table) transact(ctx context.Context, handler string, writes []ddbtypes.TransactWriteItem) (bool, error) {
	token := rand.Text() // shorter than the 36 characters that a request token may have

	for try := 1; ; try++ {
		_, err := t.API.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{ClientRequestToken: &token, TransactItems: writes})
		if err == nil {
			return true, nil
		}

		// Only a cancellation proves that nothing was written. After other errors the outcome is unknown.
		canceled := store.Cancellation(err)
		failures := failuresOf(canceled)

		switch {
		case canceled == nil:
			return false, fmt.Errorf("streams: put records into the retry queue of %s: %w", handler, err)
		case len(failures) == 0:
			return false, nil
		case try == transactTries || !store.WriteBackoff.Wait(ctx, try):
			return false, fmt.Errorf("streams: put records into the retry queue of %s: %v: %w", handler, failures, err)
		}
	}
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
