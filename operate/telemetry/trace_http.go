package telemetry

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// TraceHTTP makes a span of each request of the HTTP API, in the trace that its traceparent names.
// Probes of its health get none. Served adds the rest at the end.
func (t *Tracing) TraceHTTP(next http.Handler) http.Handler {
	if t == nil {
		return next
	}

	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/healthz" || r.URL.Path == "/readyz" {
			next.ServeHTTP(w, r)
			return
		}

		method := knownMethod(r.Method)
		ctx := propagation.TraceContext{}.Extract(r.Context(), propagation.HeaderCarrier(r.Header))

		ctx, span := t.tracer.Start(ctx, method, httpSpan.kind(), trace.WithAttributes(text(attrHTTPMethod, method)))
		defer span.End()

		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// Served returns a function that adds route and status to the request's span and then calls next. It
// has the parameters of [Telemetry.Served].
func (t *Tracing) Served(next func(*http.Request, string, http.Header, int, time.Duration)) func(*http.Request, string, http.Header, int, time.Duration) {
	if t == nil {
		return next
	}

	return func(r *http.Request, pattern string, answer http.Header, status int, took time.Duration) {
		span := trace.SpanFromContext(r.Context())
		if _, route, found := strings.Cut(pattern, " "); found {
			span.SetName(pattern)
			span.SetAttributes(text(attrHTTPRoute, route))
		}

		if status == 0 {
			status = http.StatusOK
		}
		span.SetAttributes(number(attrHTTPStatus, status))

		if status >= http.StatusInternalServerError {
			fail(span, strconv.Itoa(status))
		}

		next(r, pattern, answer, status, took)
	}
}
