package queues

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"sync"
)

// FailureCounter counts the failed receives of messages. If the counter is shared by all consumers
// of a queue and survives restarts, so does the limit Config.Attempts: the counter of queues/events
// counts in a DynamoDB table.
type FailureCounter interface {
	// CountFailure notes that a receive of the message has failed, and returns the number of the
	// message's failed receives. message is unique among all queues, receive is unique among the
	// receives of the message. A receive that was noted before is not counted again.
	CountFailure(ctx context.Context, message, receive string) (failures int, err error)
}

// receiveName identifies this receive of the message.
func (m Message) receiveName() string {
	digest := sha256.Sum256([]byte(m.receipt))
	return hex.EncodeToString(digest[:8])
}

// processFailures counts the failures that this process has seen. When it is full, it forgets the
// message that failed first. A forgotten message gets all its attempts again, as every message does
// after a restart.
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

	// A receive that is reported twice in a row counts once.
	if count.last != receive {
		count = failureCount{failures: count.failures + 1, last: receive}
	}
	p.counts[message] = count

	return count.failures, nil
}
