package destination

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	ebtypes "github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	snstypes "github.com/aws/aws-sdk-go-v2/service/sns/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"ratchet/internal/ids"
	"ratchet/notify"
	"ratchet/queues"
)

// The calls of the clients of AWS that this package makes.
type (
	sqsAPI interface {
		SendMessage(context.Context, *sqs.SendMessageInput, ...func(*sqs.Options)) (*sqs.SendMessageOutput, error)
	}
	snsAPI interface {
		Publish(context.Context, *sns.PublishInput, ...func(*sns.Options)) (*sns.PublishOutput, error)
	}
	eventBridgeAPI interface {
		PutEvents(context.Context, *eventbridge.PutEventsInput, ...func(*eventbridge.Options)) (*eventbridge.PutEventsOutput, error)
	}
)

// fifo is the suffix of the names of FIFO queues and topics. There, the order's id is the group,
// and the id of the message is the deduplication id, so that the service drops repeats within five
// minutes.
const fifo = ".fifo"

// parenting is Opener.Traceparent: it returns the W3C traceparent that is sent with a message, ""
// for none. It may be nil.
type parenting func(context.Context) string

func (p parenting) of(ctx context.Context) string {
	if p == nil {
		return ""
	}

	return p(ctx)
}

// xray returns the traceparent in the form of X-Ray, because EventBridge takes no other form:
// "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1". The ids stay the
// same: https://docs.aws.amazon.com/xray/latest/devguide/xray-api-sendingdata.html
func (p parenting) xray(ctx context.Context) *string {
	parts := strings.Split(p.of(ctx), "-")
	if len(parts) != 4 || len(parts[1]) != 32 {
		return nil
	}

	// Unreadable flags count as not sampled: a trace must not stop a message.
	flags, _ := strconv.ParseUint(parts[3], 16, 8)
	header := fmt.Sprintf("Root=1-%s-%s;Parent=%s;Sampled=%d", parts[1][:8], parts[1][8:], parts[2], flags&1)

	return &header
}

// attributesOf returns the attributes that a message carries beside its body.
func (p parenting) attributesOf(ctx context.Context, m notify.Message) map[string]string {
	attributes := map[string]string{"id": m.ID, "key": m.Key, "type": m.Type, "contentType": m.ContentType}
	if parent := p.of(ctx); parent != "" {
		attributes[queues.AttributeTrace] = parent
	}

	return attributes
}

// queue sends to a queue of SQS.
type queue struct {
	api    sqsAPI
	url    string
	parent parenting
}

func (q queue) Send(ctx context.Context, m notify.Message) (notify.Answer, error) {
	in := &sqs.SendMessageInput{
		QueueUrl:          &q.url,
		MessageBody:       aws.String(string(m.Body)),
		MessageAttributes: map[string]sqstypes.MessageAttributeValue{},
	}
	for name, value := range q.parent.attributesOf(ctx, m) {
		in.MessageAttributes[name] = sqstypes.MessageAttributeValue{DataType: aws.String("String"), StringValue: aws.String(value)}
	}

	if strings.HasSuffix(q.url, fifo) {
		in.MessageGroupId, in.MessageDeduplicationId = aws.String(ids.Group(string(m.OrderID))), &m.ID
	}

	out, err := q.api.SendMessage(ctx, in)
	if err != nil {
		return notify.Answer{}, fmt.Errorf("send to the queue: %w", err)
	}

	return notify.Answer{Text: "message " + aws.ToString(out.MessageId)}, nil
}

// topic publishes to a topic of SNS.
type topic struct {
	api    snsAPI
	arn    string
	parent parenting
}

func (t topic) Send(ctx context.Context, m notify.Message) (notify.Answer, error) {
	in := &sns.PublishInput{
		TopicArn:          &t.arn,
		Message:           aws.String(string(m.Body)),
		MessageAttributes: map[string]snstypes.MessageAttributeValue{},
	}
	for name, value := range t.parent.attributesOf(ctx, m) {
		in.MessageAttributes[name] = snstypes.MessageAttributeValue{DataType: aws.String("String"), StringValue: aws.String(value)}
	}

	if strings.HasSuffix(t.arn, fifo) {
		in.MessageGroupId, in.MessageDeduplicationId = aws.String(ids.Group(string(m.OrderID))), &m.ID
	}

	out, err := t.api.Publish(ctx, in)
	if err != nil {
		return notify.Answer{}, fmt.Errorf("publish to the topic: %w", err)
	}

	return notify.Answer{Text: "message " + aws.ToString(out.MessageId)}, nil
}

// bus puts events on an event bus. EventBridge has no deduplication. The detail has the key for it,
// and in format cloudevents also the id.
type bus struct {
	api    eventBridgeAPI
	name   string
	parent parenting
}

// eventSource is the source of the events, which rules can ask for.
const eventSource = "ratchet.orders"

func (b bus) Send(ctx context.Context, m notify.Message) (notify.Answer, error) {
	out, err := b.api.PutEvents(ctx, &eventbridge.PutEventsInput{Entries: []ebtypes.PutEventsRequestEntry{{
		EventBusName: &b.name,
		Source:       aws.String(eventSource),
		DetailType:   &m.Type,
		Detail:       aws.String(string(m.Body)),
		Resources:    []string{ids.Encode(string(m.OrderID))},
		Time:         &m.At,
		TraceHeader:  b.parent.xray(ctx),
	}}})
	if err != nil {
		return notify.Answer{}, fmt.Errorf("put an event on the bus: %w", err)
	}

	// The call can succeed although the event was not put on the bus.
	if out.FailedEntryCount > 0 || len(out.Entries) != 1 {
		return notify.Answer{}, fmt.Errorf("put an event on the bus: %w", failedEntry(out))
	}

	return notify.Answer{Text: "event " + aws.ToString(out.Entries[0].EventId)}, nil
}

func failedEntry(out *eventbridge.PutEventsOutput) error {
	if len(out.Entries) == 0 {
		return errors.New("the answer has no entry")
	}

	return fmt.Errorf("%s: %s", aws.ToString(out.Entries[0].ErrorCode), aws.ToString(out.Entries[0].ErrorMessage))
}
