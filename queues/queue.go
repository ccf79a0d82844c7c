package queues

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// sqsAPI is what is called of *sqs.Client.
type sqsAPI interface {
	ReceiveMessage(context.Context, *sqs.ReceiveMessageInput, ...func(*sqs.Options)) (*sqs.ReceiveMessageOutput, error)
	DeleteMessageBatch(context.Context, *sqs.DeleteMessageBatchInput, ...func(*sqs.Options)) (*sqs.DeleteMessageBatchOutput, error)
	ChangeMessageVisibilityBatch(context.Context, *sqs.ChangeMessageVisibilityBatchInput, ...func(*sqs.Options)) (*sqs.ChangeMessageVisibilityBatchOutput, error)
	SendMessage(context.Context, *sqs.SendMessageInput, ...func(*sqs.Options)) (*sqs.SendMessageOutput, error)
}

// maxBatch is the most messages of one call: SQS quotas, "Message batch size".
const maxBatch = 10

// queue is a queue and where its dead letters go.
type queue struct {
	api         sqsAPI
	url         string
	deadLetters string // URL, or empty
}

// name is the last part of the URL.
func (q *queue) name() string { return q.url[strings.LastIndexByte(q.url, '/')+1:] }

// entryError is the refusal of one message of a batch.
type entryError struct{ code, message string }

// void reports whether the receipt handle is, so that repeating the call is of no use.
// The entry's SenderFault does not tell that: throttling may be called the sender's.
func (e *entryError) void() bool {
	switch strings.TrimPrefix(e.code, "AWS.SimpleQueueService.") {
	case "ReceiptHandleIsInvalid", "InvalidParameterValue", "InvalidParameterValueException", "MessageNotInflight", "InvalidIdFormat":
		return true
	}

	return false
}

func (e *entryError) Error() string { return e.code + ": " + e.message }

func failures(entries []types.BatchResultErrorEntry, most int) map[int]*entryError {
	if len(entries) == 0 {
		return nil
	}

	out := make(map[int]*entryError, len(entries))
	for _, e := range entries {
		i, err := strconv.Atoi(aws.ToString(e.Id))
		if err != nil || i < 0 || i >= most {
			continue // not an id that was sent
		}
		out[i] = &entryError{aws.ToString(e.Code), aws.ToString(e.Message)}
	}

	return out
}

// delete deletes up to ten messages. It returns those that were refused, by index.
func (q *queue) delete(ctx context.Context, ms []Message, options ...func(*sqs.Options)) (map[int]*entryError, error) {
	entries := make([]types.DeleteMessageBatchRequestEntry, len(ms))
	for i, m := range ms {
		entries[i] = types.DeleteMessageBatchRequestEntry{Id: aws.String(strconv.Itoa(i)), ReceiptHandle: aws.String(m.receipt)}
	}

	out, err := q.api.DeleteMessageBatch(ctx, &sqs.DeleteMessageBatchInput{QueueUrl: &q.url, Entries: entries}, options...)
	if err != nil {
		return nil, fmt.Errorf("queues: delete %d messages of %s: %w", len(ms), q.name(), err)
	}

	return failures(out.Failed, len(ms)), nil
}

// hide makes up to ten messages invisible for d from now on, rounded up to a whole
// second; 0 makes them visible. It returns those that were refused, by index.
func (q *queue) hide(ctx context.Context, ms []Message, d time.Duration, options ...func(*sqs.Options)) (map[int]*entryError, error) {
	entries := make([]types.ChangeMessageVisibilityBatchRequestEntry, len(ms))
	for i, m := range ms {
		entries[i] = types.ChangeMessageVisibilityBatchRequestEntry{Id: aws.String(strconv.Itoa(i)), ReceiptHandle: aws.String(m.receipt), VisibilityTimeout: seconds(d)}
	}

	out, err := q.api.ChangeMessageVisibilityBatch(ctx, &sqs.ChangeMessageVisibilityBatchInput{QueueUrl: &q.url, Entries: entries}, options...)
	if err != nil {
		return nil, fmt.Errorf("queues: change the visibility of %d messages of %s: %w", len(ms), q.name(), err)
	}

	return failures(out.Failed, len(ms)), nil
}

// seconds rounds up.
func seconds(d time.Duration) int32 { return int32((d + time.Second - 1) / time.Second) }

// Attributes that a dead letter has beside those of its message.
const (
	// AttributeReason is why the message was rejected.
	AttributeReason = "RejectReason"
	// AttributeSource is the queue that it came from, a slash, and its ID there.
	AttributeSource = "RejectSource"
)

// Limits of a message: SQS quotas, "Message attributes"; the reason's is our own.
const (
	maxAttributes = 10
	maxReason     = 1024
)

// deadLetter sends the message to the dead letters. A repeat makes a second dead
// letter; a FIFO queue drops it within its five minutes.
func (q *queue) deadLetter(ctx context.Context, m Message, reason error) error {
	in := &sqs.SendMessageInput{QueueUrl: &q.deadLetters, MessageBody: &m.Body, MessageAttributes: make(map[string]types.MessageAttributeValue, len(m.Attributes)+2)}
	attributes := maps.Clone(m.Attributes)
	if attributes == nil {
		attributes = make(map[string]Attribute, 2)
	}
	note := func(name, text string) {
		if _, there := attributes[name]; there || len(attributes) < maxAttributes {
			attributes[name] = Attribute{Type: "String", Text: text}
		}
	}
	note(AttributeReason, reasonText(reason))
	note(AttributeSource, m.String())

	for name, a := range attributes {
		v := types.MessageAttributeValue{DataType: aws.String(a.Type)}
		if a.Binary != nil {
			v.BinaryValue = a.Binary
		} else {
			v.StringValue = aws.String(a.Text)
		}
		in.MessageAttributes[name] = v
	}

	if m.GroupID != "" {
		in.MessageGroupId = &m.GroupID
	}

	if strings.HasSuffix(q.deadLetters, ".fifo") {
		in.MessageDeduplicationId = &m.ID
		if m.GroupID == "" {
			in.MessageGroupId = &m.ID
		}
	}

	if _, err := q.api.SendMessage(ctx, in); err != nil {
		return fmt.Errorf("queues: send %s to the dead letters: %w", m, err)
	}

	return nil
}

// reasonText is an error as an attribute takes it: never empty, and only characters
// that the service allows.
func reasonText(err error) string {
	if err == nil {
		return "rejected"
	}

	text := strings.Map(func(r rune) rune {
		if r == utf8.RuneError || r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0xfffe || r == 0xffff {
			return '?'
		}
		return r
	}, err.Error())
	if len(text) > maxReason {
		cut := maxReason
		for !utf8.RuneStart(text[cut]) {
			cut--
		}
		text = text[:cut] + "..."
	}

	if text == "" {
		return "rejected"
	}

	return text
}
