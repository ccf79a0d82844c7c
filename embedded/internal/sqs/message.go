package sqs

import (
	"encoding/json"
	"fmt"

	"ratchet/embedded/internal/store"
)

// message is the state of a message. Times are milliseconds since 1970.
type message struct {
	seq uint64 // its number in the queue; part of the key and not of the value
	// Group and Sent are copied from the content, so that the index needs no contents.
	Group string `json:"g,omitempty"`
	Sent  int64  `json:"s"`
	// Visible is when it may be received next. First is its first receive, Received its last.
	Visible  int64 `json:"v"`
	Received int64 `json:"r,omitempty"`
	First    int64 `json:"f,omitempty"`
	// Receives counts all receives, Tries only receives from this queue: a dead
	// letter keeps Receives and starts with no Tries.
	Receives int64 `json:"n,omitempty"`
	Tries    int64 `json:"t,omitempty"`
	// Nonce identifies the last receive: only its receipt handle is valid.
	Nonce uint64 `json:"h,omitempty"`

	inFlight bool
}

// storeState stages the message's state in b.
func (q *queue) storeState(b *store.Batch, m *message) error {
	text, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("store the state of a message: %w", err)
	}

	b.Set(stateKey(q.ID, m.seq), text)

	return nil
}
