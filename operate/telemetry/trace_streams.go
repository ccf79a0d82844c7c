package telemetry

import (
	"context"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"ratchet/streams"
	"ratchet/transitions"
)

// Handlers returns the handlers of the orders' stream with a span of each call about a transition,
// in the transition's trace. A retry is linked to the first call, and each call to the previous
// transition. m says how the orders stand in their table.
func (t *Tracing) Handlers(all []streams.Handler, m transitions.Mapping) []streams.Handler {
	if t == nil {
		return all
	}

	traced := slices.Clone(all)
	for i := range traced {
		h := &traced[i]
		if h.Handle != nil {
			h.Handle = t.traceRecord(h.Handle, m)
		}

		if h.Batch != nil {
			// Copied: the caller's handler must not change.
			batch := *h.Batch
			batch.Handle = t.traceBatch(h.Name, batch.Handle, m)
			h.Batch = &batch
		}
	}

	return traced
}

func (t *Tracing) traceRecord(next streams.HandlerFunc, m transitions.Mapping) streams.HandlerFunc {
	return func(ctx context.Context, r streams.Record) error {
		cause, previous, moved := m.Traces(r.Old, r.New)
		if !moved {
			// An edit is no transition and has no trace.
			return next(ctx, r)
		}

		transition := parseTrace(cause)
		ctx = trace.ContextWithRemoteSpanContext(ctx, transition)
		links := linkTo(linkPrevious, parseTrace(previous))
		first := firstOf(transition, "record", r.Handler, r.Group)

		// A replay counts its attempts from 1, but the first call's span exists already.
		if r.Attempt > 1 || r.Replay != nil {
			links = append(links, linkTo(linkFirst, first)...)
			first = trace.SpanContext{} // the id is the first call's
		}

		ctx, span := t.startFirst(ctx, first, recordSpan.Name,
			recordSpan.kind(), trace.WithLinks(links...), trace.WithAttributes(recordAttributes(r, m)...))

		// The class stays if next panics.
		class := classPanic
		defer func() { end(span, class) }()

		err := next(ctx, r)
		class = errorClass(err)

		return err
	}
}

func recordAttributes(r streams.Record, m transitions.Mapping) []attribute.KeyValue {
	order, _ := m.OrderOf(r.Keys)

	return []attribute.KeyValue{
		text(attrHandler, r.Handler),
		number(attrAttempt, r.Attempt),
		text(attrOrder, string(order)),
		number(attrTransition, m.TransitionOf(r.New)),
		text(attrMessaging, valueMessaging),
		text(attrOperation, valueProcessing),
		text(attrPartition, r.ShardID),
		text(attrMessage, r.SequenceNumber),
	}
}

// traceBatch makes one span for a batch. The span begins a trace, because the records belong to
// different traces.
func (t *Tracing) traceBatch(handler string, next streams.BatchFunc, m transitions.Mapping) streams.BatchFunc {
	return func(ctx context.Context, records []streams.Record) []error {
		var links []trace.Link
		for _, r := range records {
			if cause, _, moved := m.Traces(r.Old, r.New); moved {
				links = append(links, linkTo(linkChange, parseTrace(cause))...)
			}
		}

		ctx, span := t.tracer.Start(ctx, batchSpan.Name, batchSpan.kind(), trace.WithLinks(links...), trace.WithAttributes(
			text(attrHandler, handler),
			text(attrMessaging, valueMessaging),
			text(attrOperation, valueProcessing),
			number(attrBatchCount, len(records))))
		// A batch has an error for each record, so its span has none.
		defer span.End()

		return next(ctx, records)
	}
}

// Reacting makes a span of a built-in handler's work on a transition: see reactions.Events.
func (t *Tracing) Reacting(ctx context.Context, handler string, c transitions.Change) (context.Context, func(error)) {
	if t == nil {
		return ctx, func(error) {}
	}

	ctx, span := t.tracer.Start(ctx, "reaction "+handler, reactionSpan.kind(), trace.WithAttributes(
		text(attrHandler, handler),
		text(attrOrder, string(c.New.ID)),
		number(attrTransition, c.Transition.ID),
		text(attrEvent, string(c.Transition.Event)),
		text(attrState, string(c.New.State))))

	return ctx, func(err error) { end(span, errorClass(err)) }
}
