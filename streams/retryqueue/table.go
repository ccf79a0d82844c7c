package retryqueue

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	ddbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/streams"
	"ratchet/streams/store"
)

const (
	// life is how long a row is kept. The queue's worker moves the end when half of it is left (see
	// KeepEnd), so it counts after the handler's last worker has ended.
	life = 14 * 24 * time.Hour

	// doneLife is how long a handled row is kept whose write may still arrive: DynamoDB refuses
	// requests that were signed more than 15 minutes ago.
	doneLife = time.Hour

	// writeTries is as many tries as the SDK makes by default.
	writeTries = 3
)

// Table is the retry queue of one table's stream.
type Table struct {
	API   store.API
	Table string // the dead-letter table
	Scope string // name of the stream's table
	Clock *dynamo.Clock
	// Share is how many write units this worker puts under a queue's first key in a second; 0: 100.
	Share int

	spreads spreads
}

// parts are the parts of a row's record.
func (t *Table) parts(row Row) store.Parts {
	return store.Parts{API: t.API, Table: t.Table, Source: row.Source, ID: partPrefix + strings.TrimPrefix(row.id, rowPrefix)}
}

// newToken distinguishes the writes of a row.
func newToken() string { return rand.Text()[:10] }

// errRowChanged says that a row was removed or changed between two writes.
var errRowChanged = errors.New("the row has changed")

// Park stores a record of the stream that waits. Only the owner of its shard's lease calls it. The row of an
// earlier owner becomes this owner's, with the count of calls; the row of a later owner stays. Of state,
// what is said of the calls counts, Source if the partition key is not to be chosen, and Unsure. It is true if an
// earlier call of Park for the record under the same lease has returned a key: one of its writes had no answer
// and may still arrive under that key, which is Source then.
func (t *Table) Park(ctx context.Context, hash store.ItemHash, r streams.Record, state Row) (unsureAt string, err error) {
	body, err := store.EncodeRecord(r)
	if err != nil {
		return "", fmt.Errorf("streams: encode a record for the retry queue: %w", err)
	}
	state.id, state.Keys, state.Epoch = recordID(hash, r.SequenceNumber), r.Keys, r.Epoch
	state.Token, state.DeadLetter = newToken(), ""
	packed, chosen := store.Pack(body), state.Source == ""

	if chosen {
		state.Source = t.choose(ctx, r.Handler, hash, packed)
	}

	for try := 1; ; try++ {
		err := t.park(ctx, state, packed)
		// The write is sent without the SDK's retries, because these report only their last error.
		state.Unsure = state.Unsure || dynamo.OutcomeUnknown(ctx, err)

		if state.Unsure {
			unsureAt = state.Source
		}

		if err == nil {
			return unsureAt, nil
		}

		if chosen && !state.Unsure && dynamo.Throttled(err) {
			t.noteFull(r.Handler)
			state.Source = t.choose(ctx, r.Handler, hash, packed)
		}
		again := dynamo.Retryable(err) || errors.Is(err, errRowChanged)

		// The first repeat comes at once: after a lost answer it finds what was stored.
		if !again || try == writeTries || (try > 1 && !store.WriteBackoff.Wait(ctx, try)) {
			return unsureAt, fmt.Errorf("streams: put a record into the retry queue of %s: %w", r.Handler, err)
		}
	}
}

// park makes one try.
func (t *Table) park(ctx context.Context, row Row, packed []byte) error {
	writes := t.puts(row, packed, 0)
	put := writes[0].Put
	put.ConditionExpression = aws.String("attribute_not_exists(#id)")
	put.ExpressionAttributeNames = map[string]string{"#id": store.ID}
	put.ReturnValuesOnConditionCheckFailure = ddbtypes.ReturnValuesOnConditionCheckFailureAllOld

	old, applied, err := store.Write(ctx, t.API, nil, writes, dynamo.WithoutRetries)
	if err != nil || applied {
		return err
	}
	stored, _ := t.decode(old)

	switch {
	case stored.refused != nil:
		return stored.refused
	case dynamo.Flag(old, rowDone), stored.Epoch > row.Epoch:
		return nil // handled, or of a later owner of the lease
	case stored.Epoch == row.Epoch && (stored.Unsure || !row.Unsure):
		return nil // stored by an earlier try
	}

	// After a try without an answer the row says so: Remove does not delete it, so that a try that arrives
	// later finds it.
	update := dynamo.NewUpdate(t.Table, store.RowKey(row.Source, row.id)).
		IfEquals(rowToken, dynamo.S(stored.Token)).
		IfEquals(rowEpoch, dynamo.N(stored.Epoch)).
		IfAbsent(rowDone).
		SetValue(rowEpoch, dynamo.N(row.Epoch))
	if row.Unsure {
		update.SetValue(rowUnsure, dynamo.Bool(true))
	}

	_, applied, err = store.Apply(ctx, t.API, update, dynamo.WithoutRetries)
	if err == nil && !applied {
		err = errRowChanged
	}

	return err
}

// puts returns the writes of a row with its record, of which there may be none. The row that they replace has had
// before parts.
func (t *Table) puts(row Row, packed []byte, before int) []ddbtypes.TransactWriteItem {
	row.Ends = t.Clock.Now().Add(life)

	if len(packed) <= store.MaxInlineRecord {
		row.record, packed = packed, nil
	}

	parts, count := t.parts(row).Puts(packed, row.Keys, dynamo.Seconds(row.Ends), before)
	row.parts = count

	return append([]ddbtypes.TransactWriteItem{{Put: &ddbtypes.Put{TableName: &t.Table, Item: t.encode(row)}}}, parts...)
}

// query reads the rows under a partition key whose ids begin with prefix.
func (t *Table) query(source, prefix string) *dynamodb.QueryInput {
	return &dynamodb.QueryInput{
		TableName:                &t.Table,
		ConsistentRead:           aws.Bool(true),
		KeyConditionExpression:   aws.String("#s = :s AND begins_with(#id, :row)"),
		FilterExpression:         aws.String("attribute_not_exists(#done)"),
		ExpressionAttributeNames: map[string]string{"#s": store.Source, "#id": store.ID, "#done": rowDone},
		ExpressionAttributeValues: dynamo.Item{
			":s":   dynamo.S(source),
			":row": dynamo.S(prefix),
		},
	}
}

// List returns all rows of a handler, those of an item in their order. Refused rows are included, because
// their items wait, too.
func (t *Table) List(ctx context.Context, handler string) ([]Row, error) {
	var rows []Row
	err := t.each(ctx, handler, t.appendTo(&rows))

	if t.Keys(handler) > 1 {
		sortByID(rows)
	}

	return rows, err
}

// ListUnder is List of the rows under one of the keys of the queue.
func (t *Table) ListUnder(ctx context.Context, handler string, key int) ([]Row, error) {
	var rows []Row
	err := t.eachUnder(ctx, handler, t.source(handler, key), rowPrefix, t.appendTo(&rows))

	return rows, err
}

// ofItem is List of the rows of one item, for a process that may not have read the queue.
func (t *Table) ofItem(ctx context.Context, handler string, hash store.ItemHash) ([]Row, error) {
	if err := t.learn(ctx, handler); err != nil {
		return nil, err
	}

	var rows []Row
	for _, source := range t.sourcesOf(handler, hash) {
		if err := t.eachUnder(ctx, handler, source, itemPrefix(hash), t.appendTo(&rows)); err != nil {
			return nil, err
		}
	}
	sortByID(rows)

	return rows, nil
}

// sortByID puts the rows of each item into their order, whatever keys they are under.
func sortByID(rows []Row) {
	slices.SortStableFunc(rows, func(a, b Row) int { return cmp.Compare(a.id, b.id) })
}

// appendTo adds rows without their records.
func (t *Table) appendTo(rows *[]Row) func(dynamo.Item) error {
	return func(item dynamo.Item) error {
		if row, ok := t.decode(item); ok {
			row.record = nil
			*rows = append(*rows, row)
		}

		return nil
	}
}

// First returns the item's record that is delivered next. ok is false if none waits.
func (t *Table) First(ctx context.Context, handler string, hash store.ItemHash) (row Row, ok bool, err error) {
	for _, source := range t.sourcesOf(handler, hash) {
		next, found, err := t.firstUnder(ctx, handler, source, itemPrefix(hash))
		if err != nil {
			return Row{}, false, err
		}

		if found && (!ok || next.id < row.id) {
			row, ok = next, true
		}
	}

	return row, ok, nil
}

// Place returns the partition key under which records of the stream wait of an item that this worker knows to
// wait, "" if none does any more. The next one is put there, too: a reader that does not know of the further keys
// yet sees all of them or none.
func (t *Table) Place(ctx context.Context, handler string, hash store.ItemHash) (source string, err error) {
	sources := t.sourcesOf(handler, hash)
	if len(sources) == 1 {
		return sources[0], nil
	}

	for _, source := range sources {
		_, found, err := t.firstUnder(ctx, handler, source, itemPrefix(hash)+recordKind)
		if err != nil || found {
			return source, err
		}
	}

	return "", nil
}

// firstUnder returns the first row under the partition key whose id begins with prefix.
func (t *Table) firstUnder(ctx context.Context, handler, source, prefix string) (row Row, ok bool, err error) {
	in := t.query(source, prefix)
	in.Limit = aws.Int32(1)

	pages := dynamodb.NewQueryPaginator(t.API, in)
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return Row{}, false, fmt.Errorf("streams: read the retry queue of %s: %w", handler, err)
		}

		for _, item := range page.Items {
			row, ok := t.decode(item)
			return row, ok && row.refused == nil, row.refused
		}
	}

	return Row{}, false, nil
}

// Record returns the record of a row of First.
func (t *Table) Record(ctx context.Context, handler string, row Row) (streams.Record, error) {
	read := func() ([]byte, error) { return store.Unpack(row.record) }
	if row.parts > 0 {
		read = func() ([]byte, error) { return t.parts(row).Read(ctx, row.parts) }
	}

	body, err := read()
	if err != nil {
		return streams.Record{}, err
	}

	r, err := store.DecodeRecord(body)
	if !row.Again {
		r.Epoch = row.Epoch // a later owner of the shard's lease may have found the row
	}

	return r, err
}

// ifMine is the condition that a row is still the one of :token, and that no holder of the queue's lease
// after :holder has begun with it.
const ifMine = "#token = :token AND (attribute_not_exists(#holder) OR #holder <= :holder)"

// update begins an update of the row by the worker that has read it.
func (t *Table) update(row Row) *dynamo.Update {
	return dynamo.NewUpdate(t.Table, store.RowKey(row.Source, row.id)).
		If(ifMine).
		Bind(":token", dynamo.S(row.Token)).
		Bind(":holder", dynamo.N(row.Holder))
}

// Check returns a part of a transaction that fails unless the row is the same, and no later holder of the
// queue's lease has begun with it.
func (t *Table) Check(row Row) *ddbtypes.ConditionCheck {
	return &ddbtypes.ConditionCheck{
		TableName:                 &t.Table,
		Key:                       store.RowKey(row.Source, row.id),
		ConditionExpression:       aws.String(ifMine),
		ExpressionAttributeNames:  map[string]string{"#token": rowToken, "#holder": rowHolder},
		ExpressionAttributeValues: dynamo.Item{":token": dynamo.S(row.Token), ":holder": dynamo.N(row.Holder)},
	}
}

// Postpone stores the state of the row after another failed call.
func (t *Table) Postpone(ctx context.Context, handler string, row Row) error {
	attempts := dynamo.N(int64(row.Attempts))
	update := t.update(row).
		If("#attempts < :attempts"). // a repeat that arrives late changes nothing
		Bind(":attempts", attempts).
		SetValue(rowAttempts, attempts).
		SetValue(rowSince, dynamo.Millis(t.Clock.Service(row.Since))).
		SetValue(rowNextTry, dynamo.Millis(t.Clock.Service(row.NextTry))).
		SetValue(rowError, dynamo.S(row.LastErr))

	if _, _, err := store.Apply(ctx, t.API, update); err != nil {
		return fmt.Errorf("streams: postpone a record in the retry queue of %s: %w", handler, err)
	}

	return nil
}

// Begin stores that the holder of the queue's lease begins with the row, and the number of calls if they
// are counted: if it is not 0. It reports false if the row has changed since it was read. A repeat of the
// write after a lost answer counts as stored.
func (t *Table) Begin(ctx context.Context, handler string, row Row, tries TryCount) (bool, error) {
	update := t.update(row).Set("#holder = :holder")

	if tries.Count > 0 {
		update.SetValue(rowTries, dynamo.N(int64(tries.Count))).SetValue(rowTriedBy, dynamo.S(tries.By))

		// Two workers may hold the lease for a moment. Only one of them counts this call.
		if row.Tries.Count > 0 {
			update.IfEquals(rowTries, dynamo.N(int64(row.Tries.Count)))
		} else {
			update.IfAbsent(rowTries)
		}
	}

	old, applied, err := store.Apply(ctx, t.API, update)
	if err != nil {
		return false, fmt.Errorf("streams: begin with a row of the retry queue of %s: %w", handler, err)
	}
	now, _ := t.decode(old)

	return applied || (tries.Count > 0 && now.Token == row.Token && now.Tries == tries), nil
}

// EndTry stores that the worker's call has returned. It changes nothing if the row has changed or the
// newest call is another one.
func (t *Table) EndTry(ctx context.Context, handler string, row Row, tries TryCount) error {
	update := t.update(row).
		IfEquals(rowTries, dynamo.N(int64(tries.Count))).
		IfEquals(rowTriedBy, dynamo.S(tries.By)).
		RemoveAttribute(rowTries).
		RemoveAttribute(rowTriedBy)

	if _, _, err := store.Apply(ctx, t.API, update); err != nil {
		return fmt.Errorf("streams: note the end of a try in the retry queue of %s: %w", handler, err)
	}

	return nil
}

// Remove removes a record that is handled, with its parts. It reports false if the row has changed.
func (t *Table) Remove(ctx context.Context, handler string, row Row) (bool, error) {
	var write ddbtypes.TransactWriteItem

	if row.Unsure {
		write.Update = t.update(row).
			SetValue(rowDone, dynamo.Bool(true)).
			SetValue(store.Expiry, dynamo.Seconds(t.Clock.Now().Add(doneLife))).
			SetValue(rowParts, dynamo.N(0)).
			RemoveAttribute(rowRecord).
			RemoveAttribute(store.Keys).
			RemoveAttribute(rowError).
			Part()
	} else {
		check := t.Check(row)
		write.Delete = &ddbtypes.Delete{
			TableName: &t.Table, Key: check.Key, ConditionExpression: check.ConditionExpression,
			ExpressionAttributeNames: check.ExpressionAttributeNames, ExpressionAttributeValues: check.ExpressionAttributeValues,
		}
	}

	writes := append([]ddbtypes.TransactWriteItem{write}, t.parts(row).Deletes(row.parts)...)

	_, applied, err := store.Write(ctx, t.API, nil, writes)
	if err != nil {
		return false, fmt.Errorf("streams: remove a record from the retry queue of %s: %w", handler, err)
	}

	return applied, nil
}

// KeepEnd moves the end of the row and of its parts if it is near.
func (t *Table) KeepEnd(ctx context.Context, handler string, row Row) error {
	now := t.Clock.Now()
	if row.refused != nil || row.Ends.Sub(now) > life/2 {
		return nil
	}
	end := dynamo.Seconds(now.Add(life))
	own := ddbtypes.TransactWriteItem{Update: t.update(row).SetValue(store.Expiry, end).Part()}
	parts := t.parts(row).Keeps(row.parts, end)

	_, _, err := store.Write(ctx, t.API, nil, append([]ddbtypes.TransactWriteItem{own}, parts...))

	// A part is gone, which the delivery of the row finds and declares a gap. Until then the row stays.
	for n := range parts {
		if _, missing := dynamo.FailedPart(err, n+1); missing {
			_, _, err = store.Write(ctx, t.API, nil, []ddbtypes.TransactWriteItem{own})
			break
		}
	}

	if err != nil {
		return fmt.Errorf("streams: keep a row of the retry queue of %s: %w", handler, err)
	}

	return nil
}
