package queues

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"sync"
)

// FailureCounter counts the failed receives of messages. Config.Attempts holds across
// restarts and for all consumers of a queue together if the counter does: the counter of
// queues/events counts in a DynamoDB table.
type FailureCounter interface {
	// CountFailure notes that a receive of the message has failed, and returns the number of its
	// failed receives. The names are unique: message among all queues, receive among the receives of
	// the message. A receive that was noted before is not counted again.
	CountFailure(ctx context.Context, message, receive string) (failures int, err error)
}

// receiveName identifies this receive of the message.
func (m Message) receiveName() string {
	digest := sha256.Sum256([]byte(m.receipt))
	return hex.EncodeToString(digest[:8])
}

// processFailures counts the failures that this process has seen. It forgets the oldest
// messages beyond its size, and everything with the end of the process; the message then
// gets all its attempts again.
type processFailures struct {
	mu     sync.Mutex
	counts map[string]failureCount
	ring   [4096]string // the messages, in the order of their first failure
	next   int          // in ring
}

type failureCount struct {
	failures int
	last     string // the receive that was counted last
}

func (p *processFailures) CountFailure(_ context.Context, message, receive string) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()

	if p.counts == nil {
		p.counts = map[string]failureCount{}
	}

	count, known := p.counts[message]
	if !known {
		delete(p.counts, p.ring[p.next])
		p.ring[p.next] = message
		p.next = (p.next + 1) % len(p.ring)
	}

	// A receive counts once, however often it is reported.
	if count.last != receive {
		count = failureCount{failures: count.failures + 1, last: receive}
	}
	p.counts[message] = count

	return count.failures, nil
}
