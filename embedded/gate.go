package embedded

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
)

// gate counts the calls inside the engine, so that Close can wait until no call uses the
// store any more.
type gate struct {
	next      http.Handler
	calls     atomic.Int64 // inside
	closed    atomic.Bool
	empty     chan struct{} // closed when the gate is closed and no call is inside
	closeOnce sync.Once     // of empty
	// closing ends when the gate begins to close: calls that wait for something to
	// happen, as a long poll, then stop waiting.
	closing    context.Context
	beginClose context.CancelFunc
}

func newGate(next http.Handler) *gate {
	g := &gate{next: next, empty: make(chan struct{})}
	g.closing, g.beginClose = context.WithCancel(context.Background())
	return g
}

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer g.leave()

	if !g.enter() {
		http.Error(w, `{"__type":"ServiceUnavailable","message":"the embedded engine is closed"}`, http.StatusServiceUnavailable)
		return
	}

	if mayWait(r) {
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()

		// AfterFunc returns its own stop function, which is deferred: no call leaves a watch
		// behind.
		defer context.AfterFunc(g.closing, cancel)()
		r = r.WithContext(ctx)
	}

	g.next.ServeHTTP(w, r)
}

// mayWait reports whether the call may take long: ReceiveMessage, any call of Step Functions, a
// backup or a compaction. Other calls get no context that ends with the engine, because making one
// is a measurable part of a short call.
func mayWait(r *http.Request) bool {
	target := r.Header["X-Amz-Target"]
	if len(target) != 1 {
		return false
	}

	switch target[0] {
	case "AmazonSQS.ReceiveMessage", BackupTarget, CompactTarget:
		return true
	}

	return strings.HasPrefix(target[0], "AWSStepFunctions.")
}

// enter counts a call and reports whether the gate is open. The caller must leave in either
// case.
func (g *gate) enter() bool {
	// The call is counted before closed is read: a close that comes in between waits for
	// this call to leave.
	g.calls.Add(1)
	return !g.closed.Load()
}

func (g *gate) leave() {
	if g.calls.Add(-1) == 0 && g.closed.Load() {
		// Refused calls count, too, so the number can reach 0 more than once after the close.
		g.closeOnce.Do(func() { close(g.empty) })
	}
}

// close refuses new calls and waits until the calls inside have left.
func (g *gate) close() {
	// The close counts as a call itself, so that the last leave, which may be its own,
	// finds the gate closed.
	g.enter()
	g.closed.Store(true)
	g.beginClose()
	g.leave()
	<-g.empty
}
