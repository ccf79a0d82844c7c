package queues

import (
	"log/slog"
	"strconv"
	"strings"
	"time"
)

// Message is one message as it was received.
type Message struct {
	// ID is the service's id of the message, the same at each receive. If a sender sends the same
	// content twice, the two messages have different IDs.
	ID   string
	Body string
	// Attributes are the sender's message attributes, at most 10.
	Attributes map[string]Attribute
	// Queue is the queue's name. The name of a FIFO queue ends with ".fifo".
	Queue string
	// GroupID and DeduplicationID are the values of the sender, or empty. On a FIFO queue the
	// messages of one group come in order.
	GroupID, DeduplicationID string
	// SequenceNumber grows within a group of a FIFO queue; empty elsewhere.
	SequenceNumber string
	// Receives counts how often the message was received, this time included. The
	// service calls it approximate.
	Receives int
	// SentAt is when the service accepted the message, in whole milliseconds.
	SentAt time.Time

	// receipt is the handle of this receive.
	receipt string
}

// Attribute is a message attribute: a data type ("String", "Number" or "Binary", each
// optionally with a label as in "Number.int"), and the value as text or as bytes.
type Attribute struct {
	Type   string
	Text   string // String, Number
	Binary []byte // Binary
}

// AttributeTrace is the name of the message attribute with the sender's W3C traceparent.
const AttributeTrace = "traceparent"

// FIFO reports whether the message came from a FIFO queue.
func (m Message) FIFO() bool { return strings.HasSuffix(m.Queue, ".fifo") }

// String names the message without its content, for logs and errors.
func (m Message) String() string { return m.Queue + "/" + m.ID }

// LogValue keeps the content out of logs: a handler of slog for JSON would write every field.
func (m Message) LogValue() slog.Value { return slog.StringValue(m.String()) }

// setSystemAttributes reads the attributes that the service itself gives a message.
func (m *Message) setSystemAttributes(attributes map[string]string) {
	m.GroupID = attributes["MessageGroupId"]
	m.DeduplicationID = attributes["MessageDeduplicationId"]
	m.SequenceNumber = attributes["SequenceNumber"]
	m.Receives, _ = strconv.Atoi(attributes["ApproximateReceiveCount"]) // absent: 0

	if ms, err := strconv.ParseInt(attributes["SentTimestamp"], 10, 64); err == nil {
		m.SentAt = time.UnixMilli(ms)
	}
}

// setAttribute adds an attribute that the sender has set.
func (m *Message) setAttribute(name string, a Attribute) {
	if m.Attributes == nil {
		m.Attributes = map[string]Attribute{}
	}
	m.Attributes[name] = a
}
