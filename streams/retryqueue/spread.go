package retryqueue

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
	"ratchet/streams/store"
)

// A partition key takes 1,000 write units a second. A handler's rows are under its first key until a worker
// stores more there than its share; from then on it puts the rows of items that do not wait yet under one of
// furtherKeys more, by the hash of the item. docs/internals/streams-points.md has the protocol.
const (
	// furtherKeys is how many keys a queue has beside the first one: 16,000 write units a second, and the
	// default quota of a table is 40,000.
	furtherKeys = 16

	// defaultShare is how many write units of records a worker puts under the first key in a second: ten
	// workers come to what the key takes. Records of items that wait there already follow these.
	defaultShare = 100

	// fullFor is how long the first key counts as full after that, or after DynamoDB has refused a write.
	fullFor = 10 * time.Second

	// spreadID is the row that says that a queue has further keys. It is the first that a read of the
	// first key's rows finds, is written before a row is put under a further key, and is never removed.
	spreadID = rowPrefix + "!spread"

	unitBytes = 1 << 10
)

// spreads is what a process knows of the keys of each handler's queue.
type spreads struct {
	mu    sync.Mutex
	known map[string]*spread
}

type spread struct {
	stored    bool // the row that says so
	second    int64
	units     int // put under the first key in this second
	fullUntil time.Time
}

// of returns what is known of a handler. The caller holds mu.
func (s *spreads) of(handler string) *spread {
	if s.known == nil {
		s.known = map[string]*spread{}
	}

	if s.known[handler] == nil {
		s.known[handler] = &spread{}
	}

	return s.known[handler]
}

// Keys is the number of partition keys of the handler's queue, as far as this process knows.
func (t *Table) Keys(handler string) int {
	t.spreads.mu.Lock()
	defer t.spreads.mu.Unlock()

	if t.spreads.of(handler).stored {
		return 1 + furtherKeys
	}

	return 1
}

func (t *Table) noteSpread(handler string) {
	t.spreads.mu.Lock()
	defer t.spreads.mu.Unlock()

	t.spreads.of(handler).stored = true
}

// source is a partition key of a handler's queue, the first one for 0.
func (t *Table) source(handler string, key int) string {
	if key == 0 {
		return SourcePrefix + t.Scope + "/" + handler
	}

	return furtherPrefix + strconv.Itoa(key) + "/" + t.Scope + "/" + handler
}

// further is the partition key of an item's rows that are not under the first one.
func (t *Table) further(handler string, hash store.ItemHash) string {
	return t.source(handler, 1+int(hash[len(hash)-1])%furtherKeys)
}

// sourcesOf returns the partition keys under which an item may have rows.
func (t *Table) sourcesOf(handler string, hash store.ItemHash) []string {
	sources := []string{t.source(handler, 0)}
	if t.Keys(handler) > 1 {
		sources = append(sources, t.further(handler, hash))
	}

	return sources
}

// choose returns the partition key for the record of an item that does not wait.
func (t *Table) choose(ctx context.Context, handler string, hash store.ItemHash, packed []byte) string {
	if t.hasRoom(handler, len(packed)) {
		return t.source(handler, 0)
	}

	// Each reader must be able to know of the further keys before one of them has a row.
	if t.Keys(handler) == 1 {
		if err := t.storeSpread(ctx, handler); err != nil {
			return t.source(handler, 0)
		}
	}

	return t.further(handler, hash)
}

// hasRoom counts the units of a record for the first key, if it is not full.
func (t *Table) hasRoom(handler string, bytes int) bool {
	t.spreads.mu.Lock()
	defer t.spreads.mu.Unlock()

	s, now := t.spreads.of(handler), time.Now()
	if now.Before(s.fullUntil) {
		return false
	}

	if second := now.Unix(); s.second != second {
		s.second, s.units = second, 0
	}

	if s.units >= cmp.Or(t.Share, defaultShare) {
		s.fullUntil = now.Add(fullFor)
		return false
	}
	s.units += 1 + bytes/unitBytes

	return true
}

// noteFull notes that DynamoDB has refused a write for lack of capacity.
func (t *Table) noteFull(handler string) {
	t.spreads.mu.Lock()
	defer t.spreads.mu.Unlock()

	t.spreads.of(handler).fullUntil = time.Now().Add(fullFor)
}

// storeSpread stores that the queue has further keys. The row stays the same while its format does, so a write that
// arrives late or twice changes nothing.
func (t *Table) storeSpread(ctx context.Context, handler string) error {
	update := store.IfFormat(dynamo.NewUpdate(t.Table, store.RowKey(t.source(handler, 0), spreadID)), store.QueueKeysFormat).
		SetValue(store.Format, dynamo.N(store.QueueKeysFormat))

	row, applied, err := store.Apply(ctx, t.API, update, dynamo.WithoutRetries)
	switch {
	case err != nil:
		return err
	case !applied:
		return checkSpread(row)
	}
	t.noteSpread(handler)

	return nil
}

// checkSpread refuses the row of a program that has other further keys: this one would miss what waits there.
func checkSpread(row dynamo.Item) error {
	return store.CheckFormat(row, store.QueueKeysFormat, "row "+spreadID+" of "+dynamo.Text(row, store.Source))
}

// learn makes sure that this process knows of the further keys of the queue, if there are any. A read of all
// rows of the first key finds that out by itself.
func (t *Table) learn(ctx context.Context, handler string) error {
	if t.Keys(handler) > 1 {
		return nil
	}

	out, err := t.API.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: &t.Table, Key: store.RowKey(t.source(handler, 0), spreadID), ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		return fmt.Errorf("streams: read the keys of the retry queue of %s: %w", handler, err)
	}

	if len(out.Item) == 0 {
		return nil
	}

	if err := checkSpread(out.Item); err != nil {
		return err
	}
	t.noteSpread(handler)

	return nil
}
