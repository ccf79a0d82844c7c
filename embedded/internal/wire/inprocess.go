package wire

import (
	"bytes"
	"net/http"
)

// InProcess returns an HTTP client (aws.Config.HTTPClient takes one) that calls h in the caller's
// goroutine. Requests and answers have the bytes of the wire; there is no socket. A call ends with
// its context only if h watches the request's context.
func InProcess(h http.Handler) *http.Client {
	return &http.Client{Transport: Direct(h)}
}

// Direct returns the transport of InProcess, for callers that do not need the features of
// http.Client, such as redirects and cookies.
func Direct(h http.Handler) Transport { return Transport{h} }

// Transport passes requests to a handler. It is an http.RoundTripper and an HTTP client
// of the SDK.
type Transport struct{ handler http.Handler }

// Do is RoundTrip under the name that the SDK calls.
func (t Transport) Do(r *http.Request) (*http.Response, error) { return t.RoundTrip(r) }

// RoundTrip passes the request to the handler and returns the handler's response. It fails only
// when the request's context ends, or when the handler breaks the connection.
func (t Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}

	if r.Body == nil {
		r.Body = http.NoBody
	}
	defer r.Body.Close()

	res := &response{Response: http.Response{
		Proto:      "HTTP/1.1",
		ProtoMajor: 1,
		ProtoMinor: 1,
		Header:     http.Header{},
		Request:    r,
	}}
	t.handler.ServeHTTP(res, r)

	if res.broken != nil {
		return nil, res.broken
	}

	if res.StatusCode == 0 {
		res.StatusCode = http.StatusOK
	}

	// The handler answers 503 when it stops because the caller gave up. Over a socket,
	// the caller would see the error of its context, so it gets the same error here.
	if err := r.Context().Err(); err != nil && res.StatusCode == http.StatusServiceUnavailable {
		return nil, err
	}

	res.body.Reset(res.written)
	res.Status = http.StatusText(res.StatusCode)
	res.ContentLength = int64(len(res.written))
	res.Body = res

	return &res.Response, nil
}

// response is the http.ResponseWriter of a call and, once the handler has returned, the
// call's response and body: one allocation for all three.
type response struct {
	http.Response
	written []byte
	body    bytes.Reader
	broken  error // the caller's error in place of a response
}

func (r *response) Header() http.Header        { return r.Response.Header }
func (r *response) WriteHeader(status int)     { r.StatusCode = status }
func (r *response) Read(p []byte) (int, error) { return r.body.Read(p) }

// Close lets a later answer use the memory of this one.
func (r *response) Close() error {
	answer := r.written
	r.written = nil
	r.body.Reset(nil)
	reuse(answer)

	return nil
}

func (r *response) Write(p []byte) (int, error) {
	r.written = append(r.written, p...)
	return len(p), nil
}

// writeOwned is Write without a copy: the caller does not use p afterwards.
func (r *response) writeOwned(p []byte) { r.written = p }
