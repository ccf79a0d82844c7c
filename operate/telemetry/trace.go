package telemetry

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"ratchet/transitions"
)

// Tracing makes spans of a process's work and exports them. It is safe for concurrent use. A nil
// Tracing makes no spans, and every method works on it: it returns its argument. Call Close after
// use.
type Tracing struct {
	tracer   trace.Tracer
	shutdown func(context.Context) error // of the provider
	exporter sdk.SpanExporter
	attempts firstAttempts
	log      *slog.Logger
}

// StartTracing returns the tracing of a process, nil if tracing is off. It makes no call: a
// receiver that is down shows in the metric ratchet_trace_spans_total.
func (t *Telemetry) StartTracing(cfg ExportConfig) (*Tracing, error) {
	to, on, err := cfg.receiver(tracesSignal)
	if err != nil || !on {
		return nil, err
	}

	var options []otlptracehttp.Option
	if to != "" {
		options = append(options, otlptracehttp.WithEndpointURL(to))
	}

	process, err := t.process()
	if err != nil {
		return nil, err
	}

	exporter, err := otlptracehttp.New(context.Background(), options...)
	if err != nil {
		return nil, fmt.Errorf("telemetry: exporter of traces for OTLP: %w", err)
	}

	// The limits of the environment apply, except for the length: ids and texts from outside are
	// cut.
	limits := sdk.NewSpanLimits()
	limits.AttributeValueLengthLimit = maxAttribute

	provider := sdk.NewTracerProvider(
		sdk.WithResource(process),
		sdk.WithIDGenerator(spanIDs{}),
		sdk.WithRawSpanLimits(limits),
		sdk.WithSpanProcessor(newSpanQueue(exporter, &t.traces, cfg.log())))

	return &Tracing{
		tracer:   provider.Tracer("ratchet"),
		shutdown: provider.Shutdown,
		exporter: exporter,
		log:      cfg.log(),
	}, nil
}

// maxAttribute is the most bytes of an attribute's value. An order's id has up to 128.
const maxAttribute = 256

// Close exports the spans that wait, for 3 s at most, and ends the tracing. Spans that end later
// are lost.
func (t *Tracing) Close() {
	if t == nil {
		return
	}

	ctx, cancel := context.WithTimeout(context.Background(), flushFor)
	defer cancel()

	if err := t.shutdown(ctx); err != nil {
		t.log.Warn("the last spans were not exported in time", "err", err)
		_ = t.exporter.Shutdown(context.Background()) // ends the call that is under way
	}
}

// Traceparent returns the W3C traceparent of the span in ctx, "" if there is none. A program's own
// bank or carrier sends it as the header of that name, so that the trace continues there.
func Traceparent(ctx context.Context) string { return traceparent(trace.SpanContextFromContext(ctx)) }

func traceparent(c trace.SpanContext) string {
	if !c.IsValid() {
		return ""
	}

	return "00-" + c.TraceID().String() + "-" + c.SpanID().String() + "-" + c.TraceFlags().String()
}

// parseTrace returns the span context of a traceparent, an invalid one if the text is no
// traceparent.
func parseTrace(text string) trace.SpanContext {
	if !transitions.ValidTrace(text) {
		return trace.SpanContext{}
	}

	// The errors cannot occur: ValidTrace has checked the whole text.
	traceID, _ := trace.TraceIDFromHex(text[3:35])
	spanID, _ := trace.SpanIDFromHex(text[36:52])

	flags, _ := strconv.ParseUint(text[53:], 16, 8)

	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: traceID, SpanID: spanID, TraceFlags: trace.TraceFlags(flags), Remote: true})
}

// The values of the attribute ratchet.link.
const (
	linkFirst    = "first_attempt"
	linkPrevious = "previous_transition"
	linkChange   = "transition" // of a batch
)

// linkTo returns a link of a kind, none if the context is invalid.
func linkTo(kind string, to trace.SpanContext) []trace.Link {
	if !to.IsValid() {
		return nil
	}

	return []trace.Link{{SpanContext: to, Attributes: []attribute.KeyValue{attribute.String(attrLink, kind)}}}
}

// end ends a span. A class that is not empty names the error.
func end(span trace.Span, class string) {
	if class != "" {
		fail(span, class)
	}
	span.End()
}

// fail marks a span as failed.
func fail(span trace.Span, class string) {
	span.SetAttributes(attribute.String(attrError, class))
	span.SetStatus(codes.Error, "")
}
