package wire

import (
	"bytes"
	"io"
	"net/http"
)

// InProcess returns an HTTP client (as the SDK's aws.Config.HTTPClient wants
// one) that calls h in the caller's goroutine: the bytes are those of the wire,
// without a socket. It honours the request's context only as far as h does.
func InProcess(h http.Handler) *http.Client {
	return &http.Client{Transport: transport{h}}
}

type transport struct{ handler http.Handler }

// RoundTrip hands the request to the handler and returns what it wrote.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	if r.Body == nil {
		r.Body = http.NoBody
	}
	defer r.Body.Close()
	w := &response{header: http.Header{}, status: http.StatusOK}
	t.handler.ServeHTTP(w, r)
	if err := r.Context().Err(); err != nil && w.status == http.StatusServiceUnavailable {
		return nil, err // h gave up because the caller did
	}
	return &http.Response{
		Status: http.StatusText(w.status), StatusCode: w.status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.header, Body: io.NopCloser(&w.body), ContentLength: int64(w.body.Len()), Request: r,
	}, nil
}

// response collects what a handler writes.
type response struct {
	header http.Header
	body   bytes.Buffer
	status int
}

func (w *response) Header() http.Header         { return w.header }
func (w *response) Write(p []byte) (int, error) { return w.body.Write(p) }
func (w *response) WriteHeader(status int)      { w.status = status }
