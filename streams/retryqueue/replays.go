package retryqueue

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	ddbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/streams/leases"
	"ratchet/streams/store"
)

// errRowFull reports that an item's row has no room for the added records.
var errRowFull = errors.New("streams: too many records of the item wait to be delivered again")

// maxReplays is how many records a row may have in its list of replays, about 100 KB.
const maxReplays = 1000

// MaxAddition is how many records are added to a row at once.
const MaxAddition = maxReplays / 2

// AddReplays puts records of one item into the row of the item, before the records that wait there,
// and creates the row if there is none. It returns errRowFull if the row has no room for them.
func (t *Table) AddReplays(ctx context.Context, handler string, hash store.ItemHash, keys dynamo.Item, records []Waiting) error {
	addition := rand.Text()

	old, applied, err := store.Apply(ctx, t.API, t.replaysUpdate(handler, hash, keys, records, addition))
	switch {
	case err != nil:
		return fmt.Errorf("streams: put records into the retry queue of %s: %w", handler, err)
	// The SDK repeats a call whose answer was lost, and the repeat fails the condition. The token
	// proves that the first try was stored.
	case applied || dynamo.Text(old, retryAddition) == addition:
		return nil
	}

	if row, _ := decodeRetryRow(old); row.refused != nil {
		return row.refused
	}

	return errRowFull
}

// replaysUpdate returns the update that adds records to be delivered again. It stores the token
// addition and fails if the row has it already, so that a repeat after a lost answer adds nothing.
func (t *Table) replaysUpdate(handler string, hash store.ItemHash, keys dynamo.Item, records []Waiting, addition string) *dynamo.Update {
	elements := make([]ddbtypes.AttributeValue, len(records))
	for i, r := range records {
		elements[i] = r.Encode()
	}

	return t.Update(handler, hash).
		If("attribute_not_exists(#replays) OR size(#replays) <= :room").
		If("attribute_not_exists(#addition) OR #addition <> :addition").
		Bind(":room", dynamo.N(int64(maxReplays-len(records)))).
		Bind(":addition", dynamo.S(addition)).
		Bind(":added", &ddbtypes.AttributeValueMemberL{Value: elements}).
		Bind(":none", &ddbtypes.AttributeValueMemberL{Value: []ddbtypes.AttributeValue{}}).
		Bind(":keys", dynamo.M(keys)).
		Bind(":first", dynamo.S(store.PaddedSequence("0"))).
		Set("#replays = list_append(if_not_exists(#replays, :none), :added)").
		Set("#records = if_not_exists(#records, :none)").
		Set("#last = if_not_exists(#last, :first)").
		Set("#keys = if_not_exists(#keys, :keys)").
		Set("#format = if_not_exists(#format, :format)").
		Set("#addition = :addition").
		Bind(":end", dynamo.Millis(t.partsEnd())).
		Set("#" + retryPartsEnd + " = if_not_exists(#" + retryPartsEnd + ", :end)")
}

// countRows returns how many items wait for a handler.
func (t *Table) countRows(ctx context.Context, handler string) (int, error) {
	count, err := store.Count(ctx, t.API, t.query(handler, retryRowPrefix))
	if err != nil {
		return 0, fmt.Errorf("streams: count the retry queue of %s: %w", handler, err)
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
