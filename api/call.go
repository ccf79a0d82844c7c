package api

import (
	"context"
	"crypto/rand"
	"net/http"
	"regexp"
	"sync"

	"ratchet/api/auth"
)

// call is the state of one request while it is served.
type call struct {
	service *service // that serves the request
	id      string   // the request id, for the logs
	caller  auth.Principal
	code    string // of the problem that answers the request
	key     string // the Idempotency-Key, without quotes
	trace   string // the traceparent, unchecked
	path    []string
	token   string    // of the caller, "" without one
	by      *Identity // that the process itself has named, nil for a request from the network
	reason  string    // of an act, as its header gives it
	head    bool      // only the header of the answer is wanted
	release func()    // gives the slot of the load shedder back, once

	// header and raw are the request as it arrived, for routes that check a signature.
	header http.Header
	raw    []byte
}

// via names the way by which the request came, for audit.
func (c *call) via() string {
	if c.by == nil || c.by.Via == "" {
		return sourceAPI
	}

	return c.by.Via
}

// party returns the caller as the limits of concurrent work count it.
func (c *call) party() party { return party{c.caller.ID, string(c.caller.Tenant)} }

type callKey struct{}

// callOf returns the call in ctx, an empty one if there is none.
func callOf(ctx context.Context) *call {
	if c, ok := ctx.Value(callKey{}).(*call); ok {
		return c
	}

	return &call{}
}

var requestIDRule = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9._-]{8,64}$`) })

// requestID returns the client's X-Request-Id if it is a valid one, a random id otherwise.
func requestID(r *http.Request) string {
	if id := r.Header.Get("X-Request-Id"); requestIDRule().MatchString(id) {
		return id
	}

	return rand.Text()
}

// recorder remembers the status of the response.
type recorder struct {
	http.ResponseWriter
	status int // 0 until the response begins
}

func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}

	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(b []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}

	return r.ResponseWriter.Write(b)
}

// Unwrap gives http.ResponseController access to the connection.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }
