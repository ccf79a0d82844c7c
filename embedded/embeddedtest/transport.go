package embeddedtest

import (
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// Doer sends HTTP requests: an http.Client, or the HTTPClient of an aws.Config.
type Doer interface {
	Do(r *http.Request) (*http.Response, error)
}

// Transport passes calls on and lets a test interfere with them. It serves as
// aws.Config.HTTPClient and as http.RoundTripper, and is safe for concurrent use.
//
// A call meets the Before hook, then the faults in the order in which they were
// injected, then the Around hook with the service behind it, then the After hook.
// Hooks run in the goroutine of the call, several at a time; they may panic or call
// runtime.Goexit, as a process that dies there.
type Transport struct {
	next Doer

	mu     sync.Mutex
	calls  []Call         // since the last Reset, without their requests
	counts map[string]int // of all calls, by Call.String
	faults []*Injection
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
	return &Transport{next: next, counts: map[string]int{}}
}

// Intercept puts a transport in front of the configuration's HTTPClient. Clients that
// are made of the configuration afterwards use it.
func Intercept(cfg *aws.Config) *Transport {
	t := NewTransport(cfg.HTTPClient)
	cfg.HTTPClient = t

	return t
}

// Inject puts a fault into effect, beside those that are.
func (t *Transport) Inject(f Fault) *Injection {
	i := &Injection{fault: f, random: rand.New(rand.NewPCG(f.Seed, 0))} //nolint:gosec // repeatable draws are the point
	i.remove = func() {
		t.mu.Lock()
		defer t.mu.Unlock()

		t.faults = slices.DeleteFunc(slices.Clone(t.faults), func(other *Injection) bool { return other == i })
	}

	t.mu.Lock()
	defer t.mu.Unlock()

	t.faults = append(slices.Clip(t.faults), i)

	return i
}

// Before sets a hook that sees every call before it is sent. If it returns an error,
// the call is not sent, and the client gets the error as it does that of a
// [Fault]; [ErrAnswerLost] lets the call be carried out. Nil removes the hook.
func (t *Transport) Before(hook func(*Call) error) {
	t.mu.Lock()
	defer t.mu.Unlock()

	t.before = hook
}

// After sets a hook that sees every call that the service answered, also with an error.
// If it returns an error, the client gets that in place of the answer. Nil removes the
// hook.
func (t *Transport) After(hook func(*Call) error) {
	t.mu.Lock()
	defer t.mu.Unlock()

	t.after = hook
}

// Around sets a hook that stands in the place of the service: it may change the call,
// send it once, twice or not at all, and change the answer or make one with
// [Call.Respond]. An error that it returns reaches the client as that of a [Fault] does.
// Nil removes the hook.
func (t *Transport) Around(hook func(c *Call, send Sender) (*http.Response, error)) {
	t.mu.Lock()
	defer t.mu.Unlock()

	t.around = hook
}

// Clear removes all faults and hooks. Counts stay.
func (t *Transport) Clear() {
	t.mu.Lock()
	defer t.mu.Unlock()

	t.faults, t.before, t.around, t.after = nil, nil, nil, nil
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
	c := newCall(r)

	t.mu.Lock()
	t.counts[c.String()]++
	c.N = t.counts[c.String()]
	t.calls = append(t.calls, Call{Service: c.Service, Operation: c.Operation, N: c.N})
	faults, before, around, after := t.faults, t.before, t.around, t.after
	t.mu.Unlock()

	afterCommit, fault := interfere(c, before, faults)
	if fault != nil && !afterCommit {
		return answerError(r, fault)
	}

	send := func() (*http.Response, error) { return c.send(t.next) }

	var response *http.Response
	var err error
	if around == nil {
		response, err = send()
	} else {
		response, err = around(c, send)
	}

	if err != nil {
		return answerError(r, err)
	}

	// Also if the hook panics or exits: an open body keeps its connection.
	answered := false
	defer func() {
		if !answered {
			_, _ = io.Copy(io.Discard, response.Body)
			_ = response.Body.Close()
		}
	}()

	if after != nil {
		if err := after(c); err != nil {
			fault = err
		}
	}

	if fault != nil {
		return answerError(r, fault)
	}

	answered = true

	return response, nil
}

// RoundTrip carries one request, for http.Client.Transport.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) { return t.Do(r) }

// interfere runs the Before hook and the faults, up to the first error. If afterCommit
// is true, the call is carried out nevertheless.
func interfere(c *Call, before func(*Call) error, faults []*Injection) (afterCommit bool, err error) {
	if before != nil {
		if err := before(c); err != nil {
			return errors.Is(err, ErrAnswerLost), err
		}
	}

	for _, i := range faults {
		if !i.strike(c) {
			continue
		}

		if err := wait(c.Request.Context(), i.fault.Delay); err != nil {
			return false, err
		}

		if i.fault.Err != nil {
			return i.fault.AfterCommit, i.fault.Err
		}
	}

	return false, nil
}
