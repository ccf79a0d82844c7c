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
