package sqs

import (
	"context"
	"strconv"
	"time"

	"ratchet/embedded/internal/store"
	"ratchet/embedded/internal/wire"
)

// maxVisibility bounds the time that a message is in flight, counted from its receive.
// Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_ChangeMessageVisibility.html
const maxVisibility = 12 * time.Hour

// changeVisibility hides the message of a receipt handle for a number of seconds from now
// on. Zero makes it visible at once.
func (q *queue) changeVisibility(b *store.Batch, handle string, secs *int64, now time.Time) error {
	m, current, err := q.messageOf(handle)
	switch {
	case err != nil:
		return err
	case secs == nil:
		return missingParameter("VisibilityTimeout")
	case *secs < 0 || *secs > int64(maxVisibility/time.Second):
		return invalidParameter("VisibilityTimeout", strconv.FormatInt(*secs, 10), "VisibilityTimeout must be an integer between 0 and 43200.")
	case m == nil:
		return invalidParameter("ReceiptHandle", handle, "Message does not exist or is not available for visibility timeout change.")
	case !current:
		return expiredReceipt(handle)
	case !m.inFlight:
		return wire.Errorf("MessageNotInflight", "The message referred to isn't in flight.")
	}

	// The limit of 12 hours counts from the receive and not from this call.
	until := now.Add(time.Duration(*secs) * time.Second)
	if until.Sub(time.UnixMilli(m.Received)) > maxVisibility {
		return invalidParameter("VisibilityTimeout", strconv.FormatInt(*secs, 10),
			"Total VisibilityTimeout for the message is beyond the limit [43200 seconds].")
	}

	m.Visible = until.UnixMilli()
	// The message is shown at once: hide would wait for the next advance.
	if *secs == 0 {
		q.show(m)
	} else {
		q.hide(m, true)
	}

	return q.storeState(b, m)
}

func (s *Service) changeVisibility(_ context.Context, in *receiptRequest) (any, error) {
	return empty, s.withQueue(in.QueueUrl, func(q *queue, b *store.Batch, now time.Time) error {
		return q.changeVisibility(b, in.ReceiptHandle, in.VisibilityTimeout, now)
	})
}

func (s *Service) changeVisibilityBatch(_ context.Context, in *visibilityBatch) (any, error) {
	return s.forEachEntry(&in.receiptBatch, func(q *queue, b *store.Batch, e *receiptEntry, now time.Time) error {
		return q.changeVisibility(b, e.ReceiptHandle, e.VisibilityTimeout, now)
	})
}
