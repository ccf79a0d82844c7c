package linearizability

import (
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"sync/atomic"

	"ratchet/embedded/embeddedtest"
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

// trouble says which requests of one call have a fault: after the first skip ones, as many
// as left.
type trouble struct {
	rng        *rand.Rand
	skip, left int
	// kind is the fault; the value faults means that each request draws another one.
	kind   fault
	cancel context.CancelFunc
	// struck counts the faults so far.
	struck int
}

type troubleKey struct{}

// wire is between the SDK and the engine and makes the faults. A call without a trouble in
// its context has none.
type wire struct {
	struck [faults]atomic.Int64
	// tamper, if set, changes the body of an UpdateItem.
	tamper func(body string) string
}

// carry sends one request, with or without a fault. It is the transport's Around hook.
func (w *wire) carry(c *embeddedtest.Call, send embeddedtest.Sender) (*http.Response, error) {
	if w.tamper != nil && c.Is("UpdateItem") {
		c.SetBody([]byte(w.tamper(string(c.Body()))))
	}

	t, _ := c.Request.Context().Value(troubleKey{}).(*trouble)
	if t == nil || t.left == 0 {
		return send()
	}

	if t.skip > 0 {
		t.skip--
		return send()
	}

	t.left--
	t.struck++
	kind := t.kind
	if kind == faults {
		kind = fault(t.rng.IntN(int(givenUpBefore)))
	}
	w.struck[kind].Add(1)
	c.Body() // read, so that it can be sent twice

	return strike(kind, send, t.cancel)
}

// strike makes one fault: it sends the request once, twice or not at all, and replaces the
// answer if the fault does.
func strike(kind fault, send embeddedtest.Sender, cancel context.CancelFunc) (*http.Response, error) {
	switch kind {
	case lostReply, twice, faultAfter, givenUpAfter:
		response, err := send()
		if err != nil {
			return nil, err
		}
		_, _ = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
	}

	switch kind {
	case throttled:
		return nil, &embeddedtest.Error{Code: "ProvisionedThroughputExceededException"}
	case faultBefore, faultAfter:
		return nil, &embeddedtest.Error{Code: "InternalServerError"}
	case givenUpBefore, givenUpAfter:
		cancel()
		return nil, context.Canceled
	case twice:
		return send()
	}

	return nil, embeddedtest.ErrLost
}
