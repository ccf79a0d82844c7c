package telemetry

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"

	"go.opentelemetry.io/otel/trace"
)

// spanIDs makes random ids, except for the span of a first attempt: its id was computed by the
// caller of startFirst.
type spanIDs struct{}

// givenID is the context's key of the id that the next span must have.
type givenID struct{}

// NewIDs is part of sdk.IDGenerator.
func (g spanIDs) NewIDs(ctx context.Context) (id trace.TraceID, span trace.SpanID) {
	_, _ = rand.Read(id[:]) // it never fails

	return id, g.NewSpanID(ctx, id)
}

// NewSpanID is part of sdk.IDGenerator.
func (spanIDs) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	if id, given := ctx.Value(givenID{}).(trace.SpanID); given {
		return id
	}

	var id trace.SpanID
	_, _ = rand.Read(id[:])

	return id
}

// firstOf returns the context of the span of the first attempt of some work that a transition
// caused. The id is computed from the transition's span and the work's name, so a retry can compute
// it in any process, days later; it is stored nowhere. The context is invalid if the transition's
// context is invalid.
//
// A first attempt that is repeated after a crash has the same id.
func firstOf(transition trace.SpanContext, work ...string) trace.SpanContext {
	if !transition.IsValid() {
		return trace.SpanContext{}
	}

	traceID, spanID := transition.TraceID(), transition.SpanID()
	digest := sha256.New()
	digest.Write(traceID[:])
	digest.Write(spanID[:])

	for _, part := range work {
		// The zero byte keeps "a", "bc" apart from "ab", "c".
		digest.Write([]byte(part + "\x00"))
	}

	var id trace.SpanID
	// The first 8 of the digest's 32 bytes.
	copy(id[:], digest.Sum(nil))

	return transition.WithSpanID(id)
}

// startFirst starts the span of a first attempt with the context that firstOf returned. If that is
// invalid, the span has a random id.
func (t *Tracing) startFirst(ctx context.Context, first trace.SpanContext, name string, options ...trace.SpanStartOption) (context.Context, trace.Span) {
	if !first.IsValid() {
		return t.tracer.Start(ctx, name, options...)
	}
	// The returned context must not have the id: the span's children would take it, too.
	_, span := t.tracer.Start(context.WithValue(ctx, givenID{}, first.SpanID()), name, options...)

	return trace.ContextWithSpan(ctx, span), span
}

// newInstanceID names this process.
func newInstanceID() string {
	var id [16]byte
	_, _ = rand.Read(id[:])

	return hex.EncodeToString(id[:])
}
