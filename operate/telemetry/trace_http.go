package telemetry

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// TraceHTTP makes a span of each request of the HTTP API, in the trace of the request's
// traceparent. Health probes have no spans. Served adds the rest at the end.
func (t *Tracing) TraceHTTP(next http.Handler) http.Handler {
	if t == nil {
		return next
	}

	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Probes come every few seconds and say nothing about an order.
		if r.URL.Path == "/healthz" || r.URL.Path == "/readyz" {
			next.ServeHTTP(w, r)
			return
		}

		method := knownMethod(r.Method)
		ctx := propagation.TraceContext{}.Extract(r.Context(), propagation.HeaderCarrier(r.Header))

		// The route is known only after the mux has matched; Served renames the span then.
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
			// The pattern has the method, as the conventions want the name.
			span.SetName(pattern)
			span.SetAttributes(text(attrHTTPRoute, route))
		}

		if status == 0 {
			status = http.StatusOK
		}
		span.SetAttributes(number(attrHTTPStatus, status))

		// A 4xx is the caller's fault; the conventions leave such spans of a server without an
		// error.
		if status >= http.StatusInternalServerError {
			fail(span, strconv.Itoa(status))
		}

		next(r, pattern, answer, status, took)
	}
}
