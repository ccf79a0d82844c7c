package linearizability

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync/atomic"
)

// fault is one thing that goes wrong between the SDK and the engine.
type fault int

const (
	lostRequest   fault = iota // never arrives; the connection breaks
	lostReply                  // carried out; the connection breaks before the answer
	twice                      // carried out twice; the second answer arrives
	throttled                  // refused: ProvisionedThroughputExceededException
	faultBefore                // 500, nothing done
	faultAfter                 // 500, yet carried out
	givenUpBefore              // the caller's context ends, nothing done
	givenUpAfter               // the caller's context ends, yet carried out
	faults
)

var faultNames = [faults]string{"lost request", "lost reply", "carried out twice", "throttled", "500 before", "500 after", "given up before", "given up after"}

// trouble is what shall befall the sendings of one call: skip pass unharmed, then
// as many as left meet a fault.
type trouble struct {
	rng        *rand.Rand
	skip, left int
	// kind is the fault; faults stands for a fresh draw each time.
	kind   fault
	cancel context.CancelFunc
	// struck counts what was done.
	struck int
}

type troubleKey struct{}

// wire passes the SDK's requests on to the engine and lets trouble strike. A call
// without trouble in its context passes unharmed.
type wire struct {
	client *http.Client
	struck [faults]atomic.Int64
	// tamper, when set, changes a request's body on its way.
	tamper func(body string) string
}

// Do carries one request.
func (w *wire) Do(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}

	if w.tamper != nil && strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".UpdateItem") {
		body = []byte(w.tamper(string(body)))
	}

	t, _ := r.Context().Value(troubleKey{}).(*trouble)
	if t == nil || t.left == 0 {
		return w.pass(r, body)
	}

	if t.skip > 0 {
		t.skip--
		return w.pass(r, body)
	}

	t.left--
	t.struck++
	kind := t.kind
	if kind == faults {
		kind = fault(t.rng.IntN(int(givenUpBefore)))
	}
	w.struck[kind].Add(1)

	return w.strike(r, body, kind, t.cancel)
}

func (w *wire) strike(r *http.Request, body []byte, kind fault, cancel context.CancelFunc) (*http.Response, error) {
	switch kind {
	case lostReply, twice, faultAfter, givenUpAfter:
		response, err := w.pass(r, body)
		if err != nil {
			return nil, err
		}
		_, _ = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
	}

	switch kind {
	case throttled:
		return refusal(r, http.StatusBadRequest, "ProvisionedThroughputExceededException"), nil
	case faultBefore, faultAfter:
		return refusal(r, http.StatusInternalServerError, "InternalServerError"), nil
	case givenUpBefore, givenUpAfter:
		cancel()
		return nil, context.Canceled
	case twice:
		return w.pass(r, body)
	}

	return nil, io.ErrUnexpectedEOF
}

// pass lets the engine answer.
func (w *wire) pass(r *http.Request, body []byte) (*http.Response, error) {
	sent := r.Clone(r.Context())
	sent.Body, sent.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return w.client.Do(sent)
}

func refusal(r *http.Request, status int, name string) *http.Response {
	body := `{"__type":"com.amazonaws.dynamodb.v20120810#` + name + `","message":"planted"}`
	return &http.Response{StatusCode: status, Request: r, ProtoMajor: 1, ProtoMinor: 1, ContentLength: int64(len(body)),
		Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}}, Body: io.NopCloser(strings.NewReader(body))}
}
