package sqs

import (
	"context"
	"crypto/rand"
	"fmt"
	"regexp"
	"strconv"
	"sync"
	"time"

	"ratchet/embedded/internal/store"
	"ratchet/embedded/internal/wire"
)

// sendEntry is the request to send one message.
type sendEntry struct {
	ID                      string `json:"Id"`
	MessageBody             *string
	DelaySeconds            *int64
	MessageAttributes       map[string]attribute
	MessageSystemAttributes map[string]attribute
	MessageDeduplicationID  *string `json:"MessageDeduplicationId"`
	MessageGroupID          *string `json:"MessageGroupId"`

	trace string // the tracing header of the request
}

// sent is the answer for one message.
type sent struct {
	ID                     string `json:"Id,omitempty"`
	MessageID              string `json:"MessageId"`
	MD5OfMessageBody       string
	MD5OfMessageAttributes string `json:",omitempty"`
	MD5OfMessageSystem     string `json:"MD5OfMessageSystemAttributes,omitempty"`
	SequenceNumber         string `json:",omitempty"`
}

func (s *Service) sendMessage(ctx context.Context, in *struct {
	QueueUrl string //nolint:revive // the wire's name
	sendEntry
}) (any, error) {
	in.trace = wire.Trace(ctx)

	var out sent

	err := s.withQueue(in.QueueUrl, func(q *queue, b *store.Batch, now time.Time) (err error) {
		out, err = q.send(b, &in.sendEntry, now)
		return err
	})
	if err != nil {
		return nil, err
	}

	return out, nil
}

type sendBatch struct {
	QueueUrl string //nolint:revive // the wire's name
	Entries  []sendEntry
}

func (s *Service) sendMessageBatch(ctx context.Context, in *sendBatch) (any, error) {
	// The limit is for the batch as a whole, beside each queue's own limit for one message.
	total := 0
	ids := make([]string, len(in.Entries))
	for i, e := range in.Entries {
		ids[i] = e.ID
		if e.MessageBody != nil {
			total += messageSize(*e.MessageBody, e.MessageAttributes)
		}
	}

	if err := checkBatch(ids); err != nil {
		return nil, err
	}

	if total > maxMessage {
		return nil, wire.Errorf("BatchRequestTooLong",
			"Batch requests cannot be longer than %d bytes. You have sent %d bytes.", maxMessage, total)
	}

	var out batchAnswer[sent]

	err := s.withQueue(in.QueueUrl, func(q *queue, b *store.Batch, now time.Time) error {
		if err := q.checkBatchKind(in.Entries); err != nil {
			return err
		}

		for i := range in.Entries {
			in.Entries[i].trace = wire.Trace(ctx)

			answer, err := q.send(b, &in.Entries[i], now)
			answer.ID = ids[i]

			if err := out.add(ids[i], answer, err); err != nil {
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

// send accepts one message. If a FIFO queue has accepted a message under the same deduplication id, send
// answers with that message's id and stores nothing.
func (q *queue) send(b *store.Batch, in *sendEntry, now time.Time) (sent, error) {
	if err := q.checkSend(in); err != nil {
		return sent{}, err
	}

	c := &content{Body: *in.MessageBody, Attributes: in.MessageAttributes, Sent: now.UnixMilli()}
	out := sent{
		MD5OfMessageBody:       digest([]byte(c.Body)),
		MD5OfMessageAttributes: attributesDigest(c.Attributes),
		MD5OfMessageSystem:     attributesDigest(in.MessageSystemAttributes),
	}

	// Source: LocalStack's recordings of AWS (tests/aws/services/sqs, test_aws_trace_header_propagation)
	c.Trace = in.trace
	if trace, ok := in.MessageSystemAttributes[traceHeader]; ok {
		c.Trace = *trace.StringValue
	}

	if in.MessageGroupID != nil {
		c.Group = *in.MessageGroupID
	}

	c.Dedup = q.dedupID(in)
	dedupName := q.dedupKey(c)
	// A repeat is answered even if the first message has been received and deleted since.
	if first, ok := q.dedup[dedupName]; ok && q.fifo {
		out.MessageID, out.SequenceNumber = first.ID, sequence(first.Seq)
		return out, nil
	}

	delay := q.delay
	// A FIFO queue has a delay for all its messages only.
	if in.DelaySeconds != nil && !q.fifo {
		delay = time.Duration(*in.DelaySeconds) * time.Second
	}

	c.ID = newID()

	m, err := q.enqueue(b, c, message{Sent: c.Sent, Visible: now.Add(delay).UnixMilli()}, now)
	if err != nil {
		return sent{}, err
	}

	out.MessageID = c.ID
	if q.fifo {
		out.SequenceNumber = sequence(m.seq)

		if err := q.rememberSent(b, dedupName, dedup{ID: c.ID, Seq: m.seq, Sent: c.Sent}); err != nil {
			return sent{}, err
		}
	}

	return out, nil
}

// enqueue stages a message under a new number in b and adds it to the index.
func (q *queue) enqueue(b *store.Batch, c *content, state message, now time.Time) (*message, error) {
	text, err := c.encode()
	if err != nil {
		return nil, fmt.Errorf("store a message: %w", err)
	}

	m := &state
	// The content keeps the group, too. Because of the copy in the state, recover does not
	// read contents.
	m.seq, m.Group = q.next(now), c.Group
	b.Set(contentKey(q.ID, m.seq), text)

	if err := q.storeState(b, m); err != nil {
		return nil, err
	}

	q.add(m, now.UnixMilli())

	return m, nil
}

const traceHeader = "AWSTraceHeader"

// idRule is the rule of MessageDeduplicationId and MessageGroupId.
// Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessage.html
var idRule = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[!-~]{1,128}$`) })

// checkSend fails for a message that the queue cannot accept.
func (q *queue) checkSend(in *sendEntry) error {
	const idReason = " can only include alphanumeric and punctuation characters. 1 to 128 in length."

	switch {
	case in.MessageBody == nil || *in.MessageBody == "":
		return missingParameter("MessageBody")
	case messageSize(*in.MessageBody, in.MessageAttributes) > q.maxSize:
		fault := "are invalid"
		if in.ID != "" {
			// The words for an entry of a batch.
			// Source: LocalStack's recordings of AWS (tests/aws/services/sqs, test_send_batch_message_size)
			fault = "cannot be validated"
		}

		return invalidText("One or more parameters %s. Reason: Message must be shorter than %d bytes.", fault, q.maxSize)
	case !validText(*in.MessageBody):
		return wire.Errorf("InvalidMessageContents", "Invalid characters found in the message body. %s", validCharacters)
	case in.DelaySeconds != nil && (*in.DelaySeconds < 0 || *in.DelaySeconds > 900):
		return invalidParameter("DelaySeconds", strconv.FormatInt(*in.DelaySeconds, 10),
			"DelaySeconds must be >= 0 and <= 900.")
	case in.MessageGroupID != nil && !idRule().MatchString(*in.MessageGroupID):
		return invalidParameter("MessageGroupId", *in.MessageGroupID, "MessageGroupId"+idReason)
	case in.MessageDeduplicationID != nil && !idRule().MatchString(*in.MessageDeduplicationID):
		return invalidParameter("MessageDeduplicationId", *in.MessageDeduplicationID, "MessageDeduplicationId"+idReason)
	}

	if err := q.checkSendKind(in); err != nil {
		return err
	}

	for name, a := range in.MessageSystemAttributes {
		if name != traceHeader || a.DataType != "String" || a.StringValue == nil {
			return invalidParameter("MessageSystemAttributes", name, "Only AWSTraceHeader of type String is supported.")
		}
	}

	return checkMessageAttributes(in.MessageAttributes)
}

// checkBatchKind fails for a batch to a FIFO queue with an entry that has no deduplication or no group: the
// service refuses the whole batch.
// Source: LocalStack's recordings of AWS (tests/aws/services/sqs,
// test_send_batch_missing_deduplication_id_for_fifo_queue, test_send_batch_missing_message_group_id_for_fifo_queue)
func (q *queue) checkBatchKind(entries []sendEntry) error {
	for i := range entries {
		switch e := &entries[i]; {
		case q.fifo && e.MessageDeduplicationID == nil && !q.contentDedup:
			return noDeduplication()
		case q.fifo && e.MessageGroupID == nil:
			return invalidText("%s", missingParameter("MessageGroupId").Message)
		}
	}

	return nil
}

func noDeduplication() error {
	return invalidText("The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided explicitly")
}

// checkSendKind fails for parameters that the queue's kind does not have, and
// for missing parameters that a FIFO queue needs.
func (q *queue) checkSendKind(in *sendEntry) error {
	switch {
	case !q.fifo && in.MessageDeduplicationID != nil:
		return invalidParameter("MessageDeduplicationId", *in.MessageDeduplicationID,
			"The request includes a parameter that is not valid for this queue type.")
	case q.fifo && in.MessageGroupID == nil:
		return missingParameter("MessageGroupId")
	case q.fifo && in.DelaySeconds != nil && *in.DelaySeconds != 0:
		return invalidParameter("DelaySeconds", strconv.FormatInt(*in.DelaySeconds, 10),
			"The request include parameter that is not valid for this queue type.")
	case q.fifo && in.MessageDeduplicationID == nil && !q.contentDedup:
		return noDeduplication()
	}

	return nil
}

// sequence returns a sequence number as the service writes it: with 20 digits.
func sequence(n uint64) string { return fmt.Sprintf("%020d", n) }

// newID returns a random UUID (version 4).
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand crashes the process instead
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80

	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
