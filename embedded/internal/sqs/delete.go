package sqs

import (
	"context"
	"time"

	"ratchet/embedded/internal/store"
)

// delete removes the message of a receipt handle; it succeeds when the message is gone
// already. With the handle of an earlier receive a standard queue succeeds and keeps the
// message. A FIFO queue fails then, and also when the message is visible again.
// Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_DeleteMessage.html
func (q *queue) delete(b *store.Batch, handle string) error {
	// In a standard queue, an old handle falls through all cases: the call succeeds and the message stays.
	m, current, err := q.messageOf(handle)
	switch {
	case err != nil || m == nil:
		return err
	case q.fifo && !(current && m.inFlight):
		return expiredReceipt(handle)
	case current:
		q.remove(b, m)
	}

	return nil
}

func (s *Service) deleteMessage(_ context.Context, in *receiptRequest) (any, error) {
	return empty, s.withQueue(in.QueueUrl, func(q *queue, b *store.Batch, _ time.Time) error {
		return q.delete(b, in.ReceiptHandle)
	})
}

func (s *Service) deleteMessageBatch(_ context.Context, in *receiptBatch) (any, error) {
	return s.forEachEntry(in, func(q *queue, b *store.Batch, e *receiptEntry, _ time.Time) error {
		return q.delete(b, e.ReceiptHandle)
	})
}
