package sqs

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"ratchet/embedded/internal/store"
)

// dedupID returns the sender's deduplication id, or the digest of the body where the
// queue deduplicates by content. A standard queue has none.
func (q *queue) dedupID(in *sendEntry) string {
	switch {
	case !q.fifo:
		return ""
	case in.MessageDeduplicationID != nil:
		return *in.MessageDeduplicationID
	}

	sum := sha256.Sum256([]byte(*in.MessageBody))

	return hex.EncodeToString(sum[:])
}

// dedupKey returns the name under which a message is deduplicated. Ids have no spaces, so
// that two pairs of group and id never give the same name.
func (q *queue) dedupKey(c *content) string {
	if q.dedupByGroup {
		return c.Group + " " + c.Dedup
	}

	return c.Dedup
}

// rememberSent stages a message's deduplication id in b and adds it to the index.
func (q *queue) rememberSent(b *store.Batch, name string, d dedup) error {
	text, err := json.Marshal(d)
	if err != nil {
		return err
	}

	b.Set(dedupKey(q.ID, name), text)
	q.rememberDedup(name, d)

	return nil
}

func (q *queue) rememberDedup(k string, d dedup) {
	q.dedup[k] = d
	q.dedupAge.Set(k, d.Sent)
}

// dedup is the message that was sent under a deduplication id.
type dedup struct {
	ID   string `json:"id"`
	Seq  uint64 `json:"seq"`
	Sent int64  `json:"sent"`
}

// dedupWindow is how long a deduplication id is remembered.
// Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/FIFO-queues-exactly-once-processing.html
const dedupWindow = 5 * time.Minute
