package telemetry

import (
	"context"
	"net/http"
	"strconv"

	"go.opentelemetry.io/otel/trace"

	"ratchet/notify"
)

// NotifyEvents returns next with a span of each attempt of a delivery, in the trace of its
// transition. The first attempt is a child of the reaction that makes it; later attempts are
// children of the transition and are linked to the first one.
func (t *Tracing) NotifyEvents(next notify.Events) notify.Events {
	if t == nil {
		return next
	}

	next.Attempting = func(ctx context.Context, d notify.Delivery) (context.Context, func(notify.Answer, error)) {
		ctx, span := t.startDelivery(ctx, d)

		return ctx, func(answer notify.Answer, err error) {
			if answer.Status != 0 {
				span.SetAttributes(number(attrHTTPStatus, answer.Status))
			}

			// A receiver's status says more than the error that was made of it.
			class := errorClass(err)
			if answer.Status >= http.StatusBadRequest {
				class = strconv.Itoa(answer.Status)
			}
			end(span, class)
		}
	}

	return next
}

func (t *Tracing) startDelivery(ctx context.Context, d notify.Delivery) (context.Context, trace.Span) {
	transition := parseTrace(d.Cause.Trace)
	first := firstOf(transition, "deliver", d.Endpoint, d.Key)
	options := []trace.SpanStartOption{deliverySpan.kind(), trace.WithAttributes(
		text(attrEndpoint, d.Endpoint),
		number(attrAttempt, d.Attempts),
		text(attrOrder, string(d.OrderID)),
		number(attrTransition, d.TransitionID),
		text(attrState, string(d.State)))}

	// A resent delivery counts its attempts from the beginning, but its first span exists already.
	if d.Attempts > 1 || d.Resends > 0 {
		ctx = trace.ContextWithRemoteSpanContext(ctx, transition)
		return t.tracer.Start(ctx, deliverySpan.Name, append(options, trace.WithLinks(linkTo(linkFirst, first)...))...)
	}

	// A worker that finds the first attempt left undone has no reaction around it.
	if !trace.SpanContextFromContext(ctx).IsValid() {
		ctx = trace.ContextWithRemoteSpanContext(ctx, transition)
	}

	return t.startFirst(ctx, first, deliverySpan.Name, options...)
}
