package retryqueue

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	ddbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/streams"
	"ratchet/streams/deadletters"
	"ratchet/streams/leases"
	"ratchet/streams/store"
)

// rowAgain returns the row of a record that is delivered again, and the packed record. It is under the first key,
// which every reader knows.
func (t *Table) rowAgain(hash store.ItemHash, r streams.Record) (row Row, packed []byte, err error) {
	body, err := store.EncodeRecord(r)
	if err != nil {
		return Row{}, nil, fmt.Errorf("streams: encode a record for the retry queue: %w", err)
	}

	return Row{Source: t.source(r.Handler, 0), Hash: hash, id: againID(hash, r.SequenceNumber, ""), Keys: r.Keys}, store.Pack(body), nil
}

// again returns the writes of a row of rowAgain. They replace the row of an earlier addition, so that a repeat adds
// nothing. If that row has more parts than these writes replace or delete, the condition of the first one fails:
// before is then to be their number.
func (t *Table) again(row Row, packed []byte, before int) []ddbtypes.TransactWriteItem {
	row.Token = newToken()
	writes := t.puts(row, packed, before)

	put := writes[0].Put
	most := max(int64(before), dynamo.Number(put.Item, rowParts))
	put.ConditionExpression = aws.String("(" + store.KnownFormat + ") AND (attribute_not_exists(#parts) OR #parts <= :parts)")
	put.ExpressionAttributeNames = map[string]string{"#format": store.Format, "#parts": rowParts}
	put.ExpressionAttributeValues = dynamo.Item{":format": dynamo.N(store.QueueRowFormat), ":parts": dynamo.N(most)}
	put.ReturnValuesOnConditionCheckFailure = ddbtypes.ReturnValuesOnConditionCheckFailureAllOld

	return writes
}

// AddAgain puts a record into the queue to be delivered again, before the item's records that wait there.
func (t *Table) AddAgain(ctx context.Context, r streams.Record) error {
	row, packed, err := t.rowAgain(store.HashOf(store.ItemKey(r)), r)
	if err != nil {
		return err
	}

	return t.add(ctx, r.Handler, nil, row, packed)
}

// addLetter is AddAgain for the record of a dead letter. It returns ErrChanged if the letter is not as seen.
func (t *Table) addLetter(ctx context.Context, handler, letter string, r streams.Record, asSeen *ddbtypes.ConditionCheck) error {
	hash := store.HashOf(store.ItemKey(r))
	row := Row{Source: t.source(handler, 0), Hash: hash, id: againID(hash, r.SequenceNumber, letter), Keys: r.Keys, DeadLetter: letter}

	return t.add(ctx, handler, asSeen, row, nil)
}

func (t *Table) add(ctx context.Context, handler string, asSeen *ddbtypes.ConditionCheck, row Row, packed []byte) error {
	for before := 0; ; {
		old, applied, err := store.Write(ctx, t.API, asSeen, t.again(row, packed, before))
		former, _ := t.decode(old)

		switch {
		// The fence of the write is the letter here.
		case asSeen != nil && errors.Is(err, streams.ErrLeaseLost):
			err = deadletters.ErrChanged
		case err == nil && !applied && former.parts > before:
			before = former.parts
			continue
		case err == nil && !applied:
			err = former.refused
		}

		if err != nil {
			return fmt.Errorf("streams: put a record into the retry queue of %s: %w", handler, err)
		}

		return nil
	}
}

// countRows returns how many records wait for a handler, up to about most.
func (t *Table) countRows(ctx context.Context, handler string, most int) (count int, err error) {
	if err := t.learn(ctx, handler); err != nil {
		return 0, err
	}
	keys := t.Keys(handler)

	for key := 0; key < keys && count < most; key++ {
		in := t.query(t.source(handler, key), rowPrefix)
		in.Select = ddbtypes.SelectCount

		pages := dynamodb.NewQueryPaginator(t.API, in)
		for pages.HasMorePages() && count < most {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return 0, fmt.Errorf("streams: count the retry queue of %s: %w", handler, err)
			}
			count += int(page.Count)
		}

		if key == 0 && keys > 1 {
			count-- // the row that says so
		}
	}

	return count, nil
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
