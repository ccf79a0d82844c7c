package telemetry

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"go.opentelemetry.io/otel/trace"

	"ratchet/queues"
	"ratchet/transitions"
)

// SendingRequest makes a span of sending a request to the requests' queue, and writes its traceparent
// into the message, so that the decision on the request continues the trace. Without a span around it, it
// continues the trace of the request's cause.
func (t *Tracing) SendingRequest(ctx context.Context, r transitions.Request, in *sqs.SendMessageInput) (context.Context, func(error)) {
	if t == nil {
		return ctx, func(error) {}
	}

	if !trace.SpanContextFromContext(ctx).IsValid() {
		ctx = trace.ContextWithRemoteSpanContext(ctx, parseTrace(r.Cause.Trace))
	}

	ctx, span := t.tracer.Start(ctx, sendSpan.Name, sendSpan.kind(), trace.WithAttributes(
		text(attrOrder, string(r.OrderID)),
		text(attrMessaging, valueSQS),
		text(attrOperation, valueSending)))

	if in.MessageAttributes == nil {
		in.MessageAttributes = map[string]types.MessageAttributeValue{}
	}
	in.MessageAttributes[queues.AttributeTrace] = types.MessageAttributeValue{
		DataType:    aws.String("String"),
		StringValue: aws.String(Traceparent(ctx)),
	}

	return ctx, func(err error) { end(span, errorClass(err)) }
}
