package wire

import (
	"bytes"
	"net/http"
)

// InProcess returns an HTTP client (as the SDK's aws.Config.HTTPClient wants
// one) that calls h in the caller's goroutine: the bytes are those of the wire,
// without a socket. It honours the request's context only as far as h does.
func InProcess(h http.Handler) *http.Client {
	return &http.Client{Transport: Direct(h)}
}

// Direct is InProcess for a caller that needs nothing of what http.Client adds to a
// transport, like redirects and cookies.
func Direct(h http.Handler) Transport { return Transport{h} }

// Transport hands requests to a handler.
type Transport struct{ handler http.Handler }

// Do is RoundTrip, for the SDK.
func (t Transport) Do(r *http.Request) (*http.Response, error) { return t.RoundTrip(r) }

// RoundTrip hands the request to the handler and returns what it wrote.
func (t Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}

	if r.Body == nil {
		r.Body = http.NoBody
	}
	defer r.Body.Close()
	w := &response{Response: http.Response{Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, Request: r}}
	t.handler.ServeHTTP(w, r)

	if w.StatusCode == 0 {
		w.StatusCode = http.StatusOK
	}

	if err := r.Context().Err(); err != nil && w.StatusCode == http.StatusServiceUnavailable {
		return nil, err // the handler gave up because the caller did
	}
	w.body.Reset(w.written)
	w.Status, w.ContentLength, w.Body = http.StatusText(w.StatusCode), int64(len(w.written)), w

	return &w.Response, nil
}

// response collects what a handler writes, and is then the answer and its body.
type response struct {
	http.Response
	written []byte
	body    bytes.Reader
}

func (w *response) Header() http.Header        { return w.Response.Header }
func (w *response) WriteHeader(status int)     { w.StatusCode = status }
func (w *response) Read(p []byte) (int, error) { return w.body.Read(p) }
func (w *response) Close() error               { return nil }

func (w *response) Write(p []byte) (int, error) {
	w.written = append(w.written, p...)
	return len(p), nil
}

// give is Write for bytes that the handler leaves to the response.
func (w *response) give(p []byte) { w.written = p }
