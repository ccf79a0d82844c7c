package wire

import (
	"context"
	"net/http"
)

// inProcessAddress is the address of the engine for callers that used none: calls in the same process and
// calls of executions. The engine takes the URLs of its queues with any host.
const inProcessAddress = "http://embedded.ratchet.internal"

type addressKey struct{}

// Address returns the scheme and the host under which the caller of an operation has reached the engine. The
// operation must be one of Service.Addressed.
func Address(ctx context.Context) string {
	if at, ok := ctx.Value(addressKey{}).(string); ok {
		return at
	}

	return inProcessAddress
}

// withAddress adds the address of a request to its context.
func withAddress(r *http.Request) context.Context {
	scheme := "http"
	// A proxy in front of the engine may have ended the encryption.
	if r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https" {
		scheme = "https"
	}

	return context.WithValue(r.Context(), addressKey{}, scheme+"://"+r.Host)
}

type traceKey struct{}

// Trace returns the tracing header of the request that called an operation, "" for none.
func Trace(ctx context.Context) string {
	trace, _ := ctx.Value(traceKey{}).(string)
	return trace
}

// withTrace adds the tracing header of a request to a context, if the request has one.
func withTrace(ctx context.Context, r *http.Request) context.Context {
	trace := r.Header.Get("X-Amzn-Trace-Id")
	if trace == "" {
		return ctx
	}

	return context.WithValue(ctx, traceKey{}, trace)
}
