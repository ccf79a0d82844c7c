package sqs

import (
	"encoding/json"
	"fmt"

	"ratchet/embedded/internal/ordered"
	"ratchet/embedded/internal/store"
)

// record is the stored form of a queue.
type record struct {
	ID         uint64            `json:"id"`
	Name       string            `json:"name"`
	Created    int64             `json:"created"`  // ms
	Modified   int64             `json:"modified"` // ms
	Attributes map[string]string `json:"attributes"`
	Tags       map[string]string `json:"tags,omitempty"`
}

// queue is a queue with the index of its messages (see index.go). The service's lock
// guards it.
type queue struct {
	record
	settings

	messages map[uint64]*message // by sequence number
	last     uint64              // the newest message's sequence number
	inFlight int

	// The sequence numbers of messages in the order in which they are needed.
	ready  ordered.Keys[uint64] // may be received now; in a FIFO queue only the first of each free group
	hidden ordered.Keys[uint64] // in flight or delayed, by the time at which they become visible
	age    ordered.Keys[uint64] // all, by the time at which they were sent

	// Only in a FIFO queue.
	groups   map[string]*group
	dedup    map[string]dedup     // by dedupKey
	dedupAge ordered.Keys[string] // the keys of dedup, by the time at which the message was sent

	// changed is closed and replaced when a receive may find more than before.
	changed chan struct{}
}

func newQueue(r record) *queue {
	return &queue{
		record:   r,
		settings: parseSettings(r.Attributes),
		messages: map[uint64]*message{},
		groups:   map[string]*group{},
		dedup:    map[string]dedup{},
		changed:  make(chan struct{}),
	}
}

// store stages the queue's record in b.
func (q *queue) store(b *store.Batch) error {
	text, err := json.Marshal(&q.record)
	if err != nil {
		return fmt.Errorf("store queue %s: %w", q.Name, err)
	}

	b.Set(queueKey(q.Name), text)

	return nil
}

// clear removes all messages and deduplication ids.
// Source of the ids: LocalStack's tests validated on AWS (tests/aws/services/sqs, test_purge_queue_clears_fifo_deduplication_cache)
func (q *queue) clear(b *store.Batch) {
	for _, kind := range []byte{keyContent, keyState} {
		b.DeleteRange(key(kind, q.ID), store.PrefixEnd(key(kind, q.ID)))
	}

	// Messages are removed one by one, because the index has counts and groups, and waiting
	// receives must look again.
	for _, m := range q.messages {
		q.removeFromIndex(m)
	}

	ids := key(keyDedup, q.ID)
	b.DeleteRange(ids, store.PrefixEnd(ids))

	for name := range q.dedup {
		q.dedupAge.Remove(name)
	}
	clear(q.dedup)
}
