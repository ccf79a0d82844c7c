package telemetry

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"

	"go.opentelemetry.io/otel/trace"
)

// spanIDs makes random ids, and gives the span of a first attempt the id that its caller has computed.
type spanIDs struct{}

// givenID is where the context of a call of Start holds the id of the span.
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

// firstOf returns the context of the span of the first attempt of some work that a transition has
// caused. The id follows from the transition's span and the work's name, so that a retry finds it in
// any process, days later, although no one has stored it. It is invalid if the transition's is.
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
		digest.Write([]byte(part + "\x00"))
	}

	var id trace.SpanID
	copy(id[:], digest.Sum(nil))

	return transition.WithSpanID(id)
}

// startFirst is Start for the span of a first attempt, as firstOf returns it. The id is not for the
// span's children. If it is invalid, the span has an id of its own.
func (t *Tracing) startFirst(ctx context.Context, first trace.SpanContext, name string, options ...trace.SpanStartOption) (context.Context, trace.Span) {
	if !first.IsValid() {
		return t.tracer.Start(ctx, name, options...)
	}
	_, span := t.tracer.Start(context.WithValue(ctx, givenID{}, first.SpanID()), name, options...)

	return trace.ContextWithSpan(ctx, span), span
}

// newInstanceID names this process.
func newInstanceID() string {
	var id [16]byte
	_, _ = rand.Read(id[:])

	return hex.EncodeToString(id[:])
}
