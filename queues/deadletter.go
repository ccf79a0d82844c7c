package queues

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"ratchet/internal/worker"
)

// The attributes that a dead letter has besides the attributes of its message.
const (
	// AttributeReason is why the message was rejected.
	AttributeReason = "RejectReason"
	// attributeSource is the queue that the message came from, a slash, and the message's ID there.
	attributeSource = "RejectSource"
)

// Limits of a message: SQS quotas, "Message attributes"; the reason's is our own.
const (
	maxAttributes = 10
	maxReason     = 1024 // bytes
)

// sendDeadLetter copies the message to the dead-letter queue. A repeat makes a second dead letter,
// except in a FIFO queue, which drops it within five minutes.
func (q *queue) sendDeadLetter(ctx context.Context, m Message, reason error) error {
	in := &sqs.SendMessageInput{
		QueueUrl:          &q.deadLetters,
		MessageBody:       &m.Body,
		MessageAttributes: deadLetterAttributes(m, reason),
	}
	if m.GroupID != "" {
		in.MessageGroupId = &m.GroupID
	}

	if strings.HasSuffix(q.deadLetters, ".fifo") {
		in.MessageDeduplicationId = &m.ID

		// A FIFO queue requires a group; the messages of a standard queue may have none.
		if m.GroupID == "" {
			in.MessageGroupId = &m.ID
		}
	}

	_, err := q.api.SendMessage(ctx, in)
	if worker.IsRefusal(err, "InvalidParameterValue", "InvalidParameterValueException") {
		// A message that is as long as its queue allows has no room for a reason. It is kept as it was sent.
		in.MessageAttributes = attributeValues(m.Attributes)
		_, err = q.api.SendMessage(ctx, in)
	}

	if err != nil {
		return fmt.Errorf("queues: send %s to the dead letters: %w", m, err)
	}

	return nil
}

// deadLetterAttributes returns the message's attributes with the reason and the source, if the
// limit of ten attributes has room for these.
func deadLetterAttributes(m Message, reason error) map[string]types.MessageAttributeValue {
	attributes := maps.Clone(m.Attributes)
	if attributes == nil {
		attributes = make(map[string]Attribute, 2)
	}

	add := func(name, text string) {
		// A message that was a dead letter before has the attribute already: its value is replaced.
		if _, exists := attributes[name]; exists || len(attributes) < maxAttributes {
			attributes[name] = Attribute{Type: "String", Text: text}
		}
	}
	add(AttributeReason, reasonText(reason))
	add(attributeSource, m.String())

	return attributeValues(attributes)
}

// attributeValues returns attributes in the form of the SDK.
func attributeValues(attributes map[string]Attribute) map[string]types.MessageAttributeValue {
	values := make(map[string]types.MessageAttributeValue, len(attributes))
	for name, a := range attributes {
		v := types.MessageAttributeValue{DataType: aws.String(a.Type)}
		if a.Binary != nil {
			v.BinaryValue = a.Binary
		} else {
			v.StringValue = aws.String(a.Text)
		}
		values[name] = v
	}

	return values
}

// reasonText returns an error's text as an attribute can hold it: not empty, and without
// the characters that the service forbids (API reference of SendMessage).
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
		end := maxReason
		// A cut inside a rune would leave invalid UTF-8, which SQS does not take.
		for !utf8.RuneStart(text[end]) {
			end--
		}
		text = text[:end] + "..."
	}

	if text == "" {
		return "rejected"
	}

	return text
}
