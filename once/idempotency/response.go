package idempotency

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
)

// response is the response of a handler.
type response struct {
	Status int         `json:"status"`
	Header http.Header `json:"header,omitempty"`
	Body   []byte      `json:"-"`
}

// format is the first byte of a stored response.
const format = 1

// encode returns the response as it is stored: the format, the length of the head, the head
// as JSON, and the body. It keeps only the listed headers.
func (r *response) encode(stored []string) []byte {
	kept := response{Status: r.Status, Header: http.Header{}}
	for name, values := range r.Header {
		if slices.Contains(stored, name) {
			kept.Header[name] = values
		}
	}
	head, _ := json.Marshal(kept) // strings and numbers never fail
	out := binary.AppendUvarint([]byte{format}, uint64(len(head)))

	return append(append(out, head...), r.Body...)
}

var errStored = errors.New("stored response")

// decode reads a response that encode returned.
func decode(text []byte) (*response, error) {
	if len(text) == 0 {
		return nil, fmt.Errorf("%w: it is empty", errStored)
	}

	if text[0] != format {
		return nil, fmt.Errorf("%w: it has format %d, and this program reads format %d", errStored, text[0], format)
	}

	size, n := binary.Uvarint(text[1:])
	if n <= 0 || size > uint64(len(text)-1-n) {
		return nil, fmt.Errorf("%w: it is cut off", errStored)
	}

	head, body := text[1+n:1+n+int(size)], text[1+n+int(size):]
	r := &response{}
	if err := json.Unmarshal(head, r); err != nil {
		return nil, fmt.Errorf("%w: %w", errStored, err)
	}

	// WriteHeader panics above 999, and a 1xx is never stored.
	if r.Status < 200 || r.Status > 999 {
		return nil, fmt.Errorf("%w: status %d", errStored, r.Status)
	}

	if r.Header == nil {
		r.Header = http.Header{}
	}
	r.Body = body

	return r, nil
}

func (r *response) write(w http.ResponseWriter) {
	for name, values := range r.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(r.Status)
	_, _ = w.Write(r.Body) //nolint:gosec // G705: the handler set the content type. A client that has gone repeats the request
}

// recorder keeps a response until it is stored. It supports neither Flush nor Hijack.
type recorder struct {
	header   http.Header
	sent     http.Header // the header as it was when the status was written
	status   int
	body     []byte
	limit    int // of the body, in bytes
	overflow bool
}

func (r *recorder) Header() http.Header { return r.header }

func (r *recorder) WriteHeader(status int) {
	if r.status == 0 && status >= 200 { // a 1xx belongs to one connection and is not stored
		r.status, r.sent = status, r.header.Clone()
	}
}

func (r *recorder) Write(p []byte) (int, error) {
	// As in net/http, the default status is 200. After another status, this call changes nothing.
	r.WriteHeader(http.StatusOK)

	if len(r.body)+len(p) > r.limit {
		r.overflow = true
		return 0, fmt.Errorf("response to a request with a key: more than %d bytes", r.limit)
	}
	r.body = append(r.body, p...)

	return len(p), nil
}

func (r *recorder) response() *response {
	r.WriteHeader(http.StatusOK)

	// The type of the body would be guessed when it is sent, but a replay must have the same.
	if _, given := r.sent["Content-Type"]; !given && len(r.body) > 0 {
		r.sent.Set("Content-Type", http.DetectContentType(r.body))
	}

	return &response{Status: r.status, Header: r.sent, Body: r.body}
}
