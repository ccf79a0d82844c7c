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

// SendingRequest makes a span of sending a request to the requests' queue, and writes its
// traceparent into the message, so that the decision on the request continues the trace. Without a
// span around the call, the span continues the trace of the request's cause.
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
	// An attribute, so that the body is the request alone.
	in.MessageAttributes[queues.AttributeTrace] = types.MessageAttributeValue{
		DataType:    aws.String("String"),
		StringValue: aws.String(Traceparent(ctx)),
	}

	return ctx, func(err error) { end(span, errorClass(err)) }
}

// Requests returns a middleware for the handler of requests. It makes a span of each call, in the
// trace of the message's sender: the trace of its attribute, else the trace of the request's cause,
// which read finds. If the message was received before, the span is linked to the span of its first
// receive, whose id is computed from the sender's span and the message's id. If the message has no
// trace, each receive begins a trace, without a link.
func (t *Tracing) Requests(read func(queues.Message) (transitions.Request, error)) queues.Middleware {
	if t == nil {
		return func(next queues.Handler) queues.Handler { return next }
	}

	return func(next queues.Handler) queues.Handler {
		return func(ctx context.Context, m queues.Message) queues.Outcome {
			r, _ := read(m) // next reports a body that cannot be read
			ctx, span := t.startRequest(ctx, m, r)

			// The class stays if next panics.
			class := classPanic
			defer func() { end(span, class) }()

			outcome := next(ctx, m)
			class = errorClass(outcome.Err)

			return outcome
		}
	}
}

func (t *Tracing) startRequest(ctx context.Context, m queues.Message, r transitions.Request) (context.Context, trace.Span) {
	sender := parseTrace(m.Attributes[queues.AttributeTrace].Text)
	if !sender.IsValid() {
		sender = parseTrace(r.Cause.Trace)
	}

	var links []trace.Link

	first := firstOf(sender, "message", m.Queue, m.ID)
	if m.Receives > 1 {
		links = linkTo(linkFirst, first)
		first = trace.SpanContext{} // the id is the first receive's
	}

	ctx, span := t.startFirst(trace.ContextWithRemoteSpanContext(ctx, sender), first, requestSpan.Name,
		requestSpan.kind(), trace.WithLinks(links...), trace.WithAttributes(
			number(attrAttempt, m.Receives),
			text(attrMessaging, valueSQS),
			text(attrOperation, valueProcessing),
			text(attrMessage, m.ID)))
	// The id is text from outside.
	if r.OrderID.Validate() == nil {
		span.SetAttributes(text(attrOrder, string(r.OrderID)))
	}

	return ctx, span
}
