package telemetry

import (
	"strconv"
	"testing"

	"go.opentelemetry.io/otel/trace"
)

// TestFailedAttemptsAreForgotten: the oldest are forgotten first, so that there are never too many.
func TestFailedAttemptsAreForgotten(t *testing.T) {
	var f firstAttempts
	span := func(n int) trace.SpanContext {
		return trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{byte(n), 1}})
	}

	for n := range 2 * mostFailed {
		f.failed(strconv.Itoa(n), span(n))
		f.failed(strconv.Itoa(n), span(n+1)) // a retry
	}

	if len(f.spans) != mostFailed {
		t.Errorf("%d are remembered, want %d", len(f.spans), mostFailed)
	}

	if newest := 2*mostFailed - 1; f.first("0").IsValid() || f.first(strconv.Itoa(newest)).SpanID() != span(newest).SpanID() {
		t.Error("the wrong ones are remembered")
	}
}

// TestAnAttemptThatFailsAgainIsRememberedAsLong: it succeeded in between, and its old place among
// the oldest is not taken for its new place.
func TestAnAttemptThatFailsAgainIsRememberedAsLong(t *testing.T) {
	var f firstAttempts
	span := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}})

	f.failed("pay", span)
	f.forget("pay")
	f.failed("pay", span)

	for n := range mostFailed - 1 {
		f.failed(strconv.Itoa(n), span)
	}

	if !f.first("pay").IsValid() {
		t.Error("it is forgotten before it is the oldest")
	}
	f.failed("one more", span)

	if f.first("pay").IsValid() || len(f.spans) != mostFailed {
		t.Errorf("%d are remembered, want %d, and not the oldest", len(f.spans), mostFailed)
	}
}
