package telemetry

import (
	"context"
	"slices"

	"go.opentelemetry.io/otel/trace"

	"ratchet/transitions"
	"ratchet/workflow"
)

// OrderEvents returns next with a span of each decision. The span's context is stored as the trace
// of the transition, so that its reactions continue that trace. Without a span around it, the
// decision continues the trace of the request's cause.
func (t *Tracing) OrderEvents(d *workflow.Definition, next transitions.Events) transitions.Events {
	if t == nil {
		return next
	}

	known := append(slices.Clone(d.Events()), d.Place())

	next.Begin = func(ctx context.Context, id transitions.OrderID, event workflow.Event, cause string) (context.Context, string, func(transitions.Result, error)) {
		if !trace.SpanContextFromContext(ctx).IsValid() {
			ctx = trace.ContextWithRemoteSpanContext(ctx, parseTrace(cause))
		}

		// Callers may ask for any event, of any id, so both are checked before they become a name
		// or an attribute.
		name := "other"
		if slices.Contains(known, event) {
			name = string(event)
		}

		ctx, span := t.tracer.Start(ctx, "apply "+name, applySpan.kind(), trace.WithAttributes(text(attrEvent, name)))
		if span.IsRecording() && id.Validate() == nil {
			span.SetAttributes(text(attrOrder, string(id)))
		}

		return ctx, Traceparent(ctx), func(r transitions.Result, err error) { endDecision(span, r, err) }
	}

	return next
}

// endDecision ends the span of a decision. A replay is linked to the decision that made the
// transition, if the transition is the order's newest.
func endDecision(span trace.Span, r transitions.Result, err error) {
	if err != nil || !span.IsRecording() {
		end(span, errorClass(err))
		return
	}
	span.SetAttributes(text(attrVerdict, r.Verdict.String()))

	if r.Verdict.Done() {
		span.SetAttributes(number(attrTransition, r.Transition.ID))
	}

	if r.Order != nil {
		span.SetAttributes(text(attrState, string(r.Order.State)))
	}

	if r.Verdict == transitions.Replayed {
		// The item keeps the cause of its newest transition only; older ones get no link.
		for _, link := range linkTo(linkFirst, parseTrace(r.Transition.Cause.Trace)) {
			span.AddLink(link)
		}
	}
	span.End()
}
