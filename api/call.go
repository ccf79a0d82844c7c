package api

import (
	"context"
	"crypto/rand"
	"net/http"
	"regexp"

	"ratchet/api/auth"
)

// call is what is known about a request while it is served.
type call struct {
	id      string // the request's, for the logs
	caller  auth.Principal
	code    string // of the problem that it ended in
	release func() // gives the place in the gate back, once
	// header and raw are the request as it came, for routes that check a signature.
	header http.Header
	raw    []byte
}

type callKey struct{}

func callOf(ctx context.Context) *call {
	if c, ok := ctx.Value(callKey{}).(*call); ok {
		return c
	}
	return &call{}
}

var requestIDRule = regexp.MustCompile(`^[A-Za-z0-9._-]{8,64}$`)

// requestID is the client's where that is one, a new one elsewhere.
func requestID(r *http.Request) string {
	if id := r.Header.Get("X-Request-Id"); requestIDRule.MatchString(id) {
		return id
	}
	return rand.Text()
}

// recorder remembers the status of an answer.
type recorder struct {
	http.ResponseWriter
	status int
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

// Unwrap is for http.ResponseController.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }
