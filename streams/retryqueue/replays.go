package retryqueue

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	ddbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/streams"
	"ratchet/streams/deadletters"
	"ratchet/streams/leases"
	"ratchet/streams/store"
)

// putsAgain returns the writes of a record that is delivered again. They replace the row of an earlier
// addition, so that a repeat adds nothing.
func (t *Table) putsAgain(hash store.ItemHash, r streams.Record) ([]ddbtypes.TransactWriteItem, error) {
	body, err := store.EncodeRecord(r)
	if err != nil {
		return nil, fmt.Errorf("streams: encode a record for the retry queue: %w", err)
	}

	return t.again(r.Handler, Row{Hash: hash, id: againID(hash, r.SequenceNumber, ""), Keys: r.Keys}, store.Pack(body)), nil
}

func (t *Table) again(handler string, row Row, packed []byte) []ddbtypes.TransactWriteItem {
	row.Token = newToken()
	writes := t.puts(handler, row, packed)
	writes[0].Put.ConditionExpression = aws.String(store.KnownFormat)
	writes[0].Put.ExpressionAttributeNames = map[string]string{"#format": store.Format}
	writes[0].Put.ExpressionAttributeValues = dynamo.Item{":format": dynamo.N(store.QueueRowFormat)}
	writes[0].Put.ReturnValuesOnConditionCheckFailure = ddbtypes.ReturnValuesOnConditionCheckFailureAllOld

	return writes
}

// AddAgain puts a record into the queue to be delivered again, before the item's records that wait there.
func (t *Table) AddAgain(ctx context.Context, r streams.Record) error {
	writes, err := t.putsAgain(store.HashOf(store.ItemKey(r)), r)
	if err != nil {
		return err
	}

	return t.add(ctx, r.Handler, nil, writes)
}

// addLetter is AddAgain for the record of a dead letter. It returns ErrChanged if the letter is not as seen.
func (t *Table) addLetter(ctx context.Context, handler, letter string, r streams.Record, asSeen *ddbtypes.ConditionCheck) error {
	hash := store.HashOf(store.ItemKey(r))
	row := Row{Hash: hash, id: againID(hash, r.SequenceNumber, letter), Keys: r.Keys, DeadLetter: letter}

	return t.add(ctx, handler, asSeen, t.again(handler, row, nil))
}

func (t *Table) add(ctx context.Context, handler string, asSeen *ddbtypes.ConditionCheck, writes []ddbtypes.TransactWriteItem) error {
	old, applied, err := store.Write(ctx, t.API, asSeen, writes)

	switch {
	// The fence of the write is the letter here.
	case asSeen != nil && errors.Is(err, streams.ErrLeaseLost):
		err = deadletters.ErrChanged
	case err == nil && !applied:
		row, _ := t.decode(old)
		err = row.refused
	}

	if err != nil {
		return fmt.Errorf("streams: put a record into the retry queue of %s: %w", handler, err)
	}

	return nil
}

// countRows returns how many records wait for a handler, up to about most.
func (t *Table) countRows(ctx context.Context, handler string, most int) (int, error) {
	in, count := t.query(handler, rowPrefix), 0
	in.Select = ddbtypes.SelectCount

	for {
		page, err := t.API.Query(ctx, in)
		if err != nil {
			return 0, fmt.Errorf("streams: count the retry queue of %s: %w", handler, err)
		}

		if count += int(page.Count); count >= most || len(page.LastEvaluatedKey) == 0 {
			return count, nil
		}
		in.ExclusiveStartKey = page.LastEvaluatedKey
	}
}

// AdditionsRow is beside the leases of the retry queues. Its counter grows when records were put
// into a queue by a process that is not the worker of their shard. The workers load the waiting
// items when they see a new number.
const AdditionsRow = "#additions"

// NoteAddition tells the workers that records were added to retry queues.
func NoteAddition(ctx context.Context, leases *leases.Table) error {
	update := leases.Update(AdditionsRow).
		Add("#counter :one").
		Bind(":one", dynamo.N(1))

	if _, _, err := store.Apply(ctx, leases.API, update); err != nil {
		return fmt.Errorf("streams: tell the workers of the retry queue: %w", err)
	}

	return nil
}
