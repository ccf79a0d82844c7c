package embeddedtest

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"

	"ratchet/embedded/faults"
)

// Transport passes calls on and lets a test interfere with them. It serves as
// aws.Config.HTTPClient and as http.RoundTripper, and is safe for concurrent use.
//
// A call meets the Before hook, then the faults in the order in which they were
// injected, then the Around hook with the service behind it, then the After hook.
// Hooks run in the goroutine of the call, several at a time; they may panic or call
// runtime.Goexit, as a process that dies there.
type Transport struct {
	next Doer

	faults faults.Set

	mu     sync.Mutex
	calls  []Call // since the last Reset, without their requests
	before func(*Call) error
	around func(*Call, Sender) (*http.Response, error)
	after  func(*Call) error
}

// Sender sends the call of an Around hook to the service. It may be called again, to
// send a call twice, if the hook has read the call's body first.
type Sender func() (*http.Response, error)

// NewTransport returns a transport in front of next. If next is nil, only hooks
// answer.
func NewTransport(next Doer) *Transport {
	return &Transport{next: next}
}

// Intercept puts a transport in front of the configuration's HTTPClient. Clients that
// are made of the configuration afterwards use it.
func Intercept(cfg *aws.Config) *Transport {
	t := NewTransport(cfg.HTTPClient)
	cfg.HTTPClient = t

	return t
}

// Inject puts a fault into effect, in addition to the faults already in effect.
func (t *Transport) Inject(f Fault) *Injection { return t.faults.Inject(f) }

// Before sets a hook that sees every call before it is sent. If the hook returns an error, the call
// is not sent, and the client gets the error as it gets the Err of a [Fault]; [ErrAnswerLost] lets
// the call be carried out. Nil removes the hook.
func (t *Transport) Before(hook func(*Call) error) {
	t.mu.Lock()
	defer t.mu.Unlock()

	t.before = hook
}

// After sets a hook that sees every call that the service answered, also with an error. If the hook
// returns an error, the client gets it in place of the answer. Nil removes the hook.
func (t *Transport) After(hook func(*Call) error) {
	t.mu.Lock()
	defer t.mu.Unlock()

	t.after = hook
}

// Around sets a hook that stands in the place of the service: it may change the call, send it once,
// twice or not at all, and change the answer or make one with [Call.Respond]. The client gets an
// error of the hook as it gets the Err of a [Fault]. Nil removes the hook.
func (t *Transport) Around(hook func(c *Call, send Sender) (*http.Response, error)) {
	t.mu.Lock()
	defer t.mu.Unlock()

	t.around = hook
}

// Clear removes all faults and hooks. Counts stay.
func (t *Transport) Clear() {
	t.mu.Lock()
	defer t.mu.Unlock()

	t.faults.Clear()
	t.before, t.around, t.after = nil, nil, nil
}

// Calls returns the operations of the calls since the last Reset, in the order in
// which they came, as "UpdateItem".
func (t *Transport) Calls() []string {
	t.mu.Lock()
	defer t.mu.Unlock()

	operations := make([]string, len(t.calls))
	for i, c := range t.calls {
		operations[i] = c.Operation
	}

	return operations
}

// Count returns how many calls of these operations (see [Call.Is]) came since the last
// Reset. Without names it counts all.
func (t *Transport) Count(operations ...string) int {
	t.mu.Lock()
	defer t.mu.Unlock()

	n := 0
	for _, c := range t.calls {
		if c.Is(operations...) {
			n++
		}
	}

	return n
}

// Reset forgets the calls that Calls and Count have seen. The numbers of calls
// ([Call.N]) go on.
func (t *Transport) Reset() {
	t.mu.Lock()
	defer t.mu.Unlock()

	t.calls = nil
}

// Do carries one request, for aws.Config.HTTPClient.
func (t *Transport) Do(r *http.Request) (*http.Response, error) {
	c := faults.CallOf(r)
	t.faults.Number(c)

	t.mu.Lock()

	// The call is kept without its request, whose body would stay in memory until the test ends.
	t.calls = append(t.calls, Call{Service: c.Service, Operation: c.Operation, N: c.N})

	// The hooks run outside of the lock, so that a hook can set or remove hooks.
	before, around, after := t.before, t.around, t.after
	t.mu.Unlock()

	afterCommit, fault := t.interfere(c, before)
	if fault != nil && !afterCommit {
		return c.AnswerError(fault)
	}

	send := func() (*http.Response, error) { return c.Send(t.next) }

	var response *http.Response
	var err error
	if around == nil {
		response, err = send()
	} else {
		response, err = around(c, send)
	}

	if err != nil {
		return c.AnswerError(err)
	}

	// The body is closed also if the After hook panics or exits: an open body keeps its connection.
	answered := false
	defer func() {
		if !answered {
			_, _ = io.Copy(io.Discard, response.Body)
			_ = response.Body.Close()
		}
	}()

	if err := t.meetAnswer(c, response); err != nil {
		fault = err
	}

	if after != nil {
		if err := after(c); err != nil {
			fault = err
		}
	}

	if fault != nil {
		return c.AnswerError(fault)
	}

	answered = true

	return response, nil
}

// RoundTrip carries one request, for http.Client.Transport.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) { return t.Do(r) }

// interfere runs the Before hook and the faults, up to the first error. If afterCommit
// is true, the call is carried out nevertheless.
func (t *Transport) interfere(c *Call, before func(*Call) error) (afterCommit bool, err error) {
	if before != nil {
		if err := before(c); err != nil {
			return errors.Is(err, ErrAnswerLost), err
		}
	}

	return t.faults.Before(c.Request.Context(), c)
}

// meetAnswer runs the faults that select calls by their answers.
func (t *Transport) meetAnswer(c *Call, response *http.Response) error {
	if !t.faults.SeesAnswers() {
		return nil
	}

	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}

	if err := response.Body.Close(); err != nil {
		return err
	}

	// The client reads the body, too.
	response.Body = io.NopCloser(bytes.NewReader(body))

	return t.faults.After(c, body)
}
