package sqs

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"strconv"
	"time"

	"ratchet/embedded/internal/store"
	"ratchet/embedded/internal/wire"
)

// receipt is what a receipt handle says: one receive of one message.
type receipt struct{ queue, message, nonce uint64 }

func (r receipt) String() string {
	b := binary.BigEndian.AppendUint64(nil, r.queue)
	b = binary.BigEndian.AppendUint64(b, r.message)
	return base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint64(b, r.nonce))
}

// held finds the message of a receipt handle. A nil message with no error: it is gone,
// or the handle is not the last one (current is false then); what that means depends
// on the call.
func (q *queue) held(handle string) (m *message, current bool, err error) {
	if handle == "" {
		return nil, false, missingParameter("ReceiptHandle")
	}

	b, err := base64.RawURLEncoding.Strict().DecodeString(handle)
	if err != nil || len(b) != 24 {
		return nil, false, wire.Errorf("ReceiptHandleIsInvalid", "The input receipt handle \"%s\" is not a valid receipt handle.", handle)
	}

	r := receipt{binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:]), binary.BigEndian.Uint64(b[16:])}
	if r.queue != q.ID {
		return nil, false, wire.Errorf("ReceiptHandleIsInvalid", "The receipt handle \"%s\" is not valid for this queue.", handle)
	}
	m = q.messages[r.message]

	return m, m != nil && m.Nonce == r.nonce, nil
}

func expired(handle string) error {
	return invalidParameter("ReceiptHandle", handle, "The receipt handle has expired.")
}

// delete takes the message away. What is gone already is as good as deleted. With a
// handle that is not the last one a standard queue does nothing and says so to nobody;
// a FIFO queue refuses it, as it does when the message is visible again.
func (q *queue) delete(b *store.Batch, handle string) error {
	m, current, err := q.held(handle)
	switch {
	case err != nil || m == nil:
		return err
	case q.fifo && !(current && m.inFlight):
		return expired(handle)
	case current:
		q.remove(b, m)
	}

	return nil
}

// maxVisibility bounds the time in flight: API reference of ChangeMessageVisibility.
const maxVisibility = 12 * time.Hour

// change makes the message invisible for so many seconds from now on.
func (q *queue) change(b *store.Batch, handle string, secs *int64, now time.Time) error {
	m, current, err := q.held(handle)
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
		return expired(handle)
	case !m.inFlight:
		return wire.Errorf("MessageNotInflight", "The message referred to isn't in flight.")
	}

	until := now.Add(time.Duration(*secs) * time.Second)
	if until.Sub(time.UnixMilli(m.Received)) > maxVisibility {
		return invalidParameter("VisibilityTimeout", strconv.FormatInt(*secs, 10), "Total VisibilityTimeout for the message is beyond the limit [43200 seconds].")
	}

	m.Visible = until.UnixMilli()
	if *secs == 0 {
		q.show(m)
	} else {
		q.hide(m, true)
	}

	return q.storeState(b, m)
}

type receiptEntry struct {
	ID                string `json:"Id"`
	ReceiptHandle     string
	VisibilityTimeout *int64
}

type receiptRequest struct {
	QueueUrl string //nolint:revive // the wire's name
	receiptEntry
}

type receiptBatch struct {
	QueueUrl string //nolint:revive // the wire's name
	Entries  []receiptEntry
}

func (s *Service) deleteMessage(_ context.Context, in *receiptRequest) (any, error) {
	return empty, s.on(in.QueueUrl, func(q *queue, b *store.Batch, _ time.Time) error {
		return q.delete(b, in.ReceiptHandle)
	})
}

func (s *Service) changeVisibility(_ context.Context, in *receiptRequest) (any, error) {
	return empty, s.on(in.QueueUrl, func(q *queue, b *store.Batch, now time.Time) error {
		return q.change(b, in.ReceiptHandle, in.VisibilityTimeout, now)
	})
}

func (s *Service) deleteMessageBatch(_ context.Context, in *receiptBatch) (any, error) {
	return s.each(in, func(q *queue, b *store.Batch, e *receiptEntry, _ time.Time) error {
		return q.delete(b, e.ReceiptHandle)
	})
}

func (s *Service) changeVisibilityBatch(_ context.Context, in *receiptBatch) (any, error) {
	return s.each(in, func(q *queue, b *store.Batch, e *receiptEntry, now time.Time) error {
		return q.change(b, e.ReceiptHandle, e.VisibilityTimeout, now)
	})
}

// each does one thing for every entry of a batch.
func (s *Service) each(in *receiptBatch, do func(*queue, *store.Batch, *receiptEntry, time.Time) error) (any, error) {
	ids := make([]string, len(in.Entries))
	for i, e := range in.Entries {
		ids[i] = e.ID
	}

	if err := checkBatch(ids); err != nil {
		return nil, err
	}
	type named struct {
		ID string `json:"Id"`
	}
	var out batchAnswer[named]

	err := s.on(in.QueueUrl, func(q *queue, b *store.Batch, now time.Time) error {
		for i := range in.Entries {
			if err := out.add(ids[i], named{ids[i]}, do(q, b, &in.Entries[i], now)); err != nil {
				return err
			}
		}

		return nil
	})
	if err != nil {
		return nil, err
	}

	return out, nil
}
