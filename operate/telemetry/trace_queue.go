package telemetry

import (
	"context"
	"log/slog"

	sdk "go.opentelemetry.io/otel/sdk/trace"
)

var traceMetrics = []Metric{
	{"ratchet_trace_spans_total", Counter, []string{"result"}, "Sampled spans that have ended; result is exported, failed (the receiver did not take them) or dropped (too many waited)"},
}

type traceInstruments struct{ spans counter }

func newTraceInstruments(m *meter) traceInstruments {
	in := traceInstruments{spans: m.counter(traceMetrics, "ratchet_trace_spans_total")}
	in.spans.zero("exported", "failed", "dropped")

	return in
}

// spanQueue hands ended spans to the SDK's batches, as far as there is room, and counts how their
// export ends. The SDK alone would drop spans without a report: here the spans that do not fit
// never reach it.
type spanQueue struct {
	sdk.SpanProcessor // the batches

	room *room
	in   *traceInstruments
}

func newSpanQueue(exporter sdk.SpanExporter, in *traceInstruments, log *slog.Logger) spanQueue {
	room := &room{}
	counting := &countingExporter{SpanExporter: exporter, room: room, in: in, warner: warner{log: log}}

	return spanQueue{
		SpanProcessor: sdk.NewBatchSpanProcessor(counting, sdk.WithMaxQueueSize(maxWaiting)),
		room:          room,
		in:            in,
	}
}

// OnEnd is part of sdk.SpanProcessor. It never waits.
func (q spanQueue) OnEnd(s sdk.ReadOnlySpan) {
	// A span that is not sampled is never exported, so it needs no room.
	if !s.SpanContext().IsSampled() {
		return
	}

	if !q.room.take() {
		q.in.spans.inc("dropped")
		return
	}

	q.SpanProcessor.OnEnd(s)
}

// countingExporter counts the spans that it exports. It reports failures itself, because the SDK
// has one handler of errors for the whole process.
type countingExporter struct {
	sdk.SpanExporter
	warner

	room *room
	in   *traceInstruments
}

// ExportSpans is part of sdk.SpanExporter. It returns nil.
func (e *countingExporter) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	err := e.SpanExporter.ExportSpans(ctx, spans)
	// The room is free only now: spans of a running export use memory, too.
	e.room.leave(len(spans))

	if err == nil {
		e.in.spans.plus(float64(len(spans)), "exported")
		return nil
	}
	e.in.spans.plus(float64(len(spans)), "failed")
	e.warn("spans were not exported", "spans", len(spans), "err", err)

	// An error would go to the SDK's global handler.
	return nil
}
