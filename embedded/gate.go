package embedded

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
)

// gate lets calls in until it is shut, and shuts when the last one has left, so
// that nobody touches the store behind Close.
type gate struct {
	next  http.Handler
	calls atomic.Int64
	shut  atomic.Bool
	empty chan struct{} // closed when the gate is shut and no call is inside
	once  sync.Once
	// alive ends when the gate is being shut: calls that wait for something to
	// happen wait no longer.
	alive context.Context
	end   context.CancelFunc
}

func newGate(next http.Handler) *gate {
	g := &gate{next: next, empty: make(chan struct{})}
	g.alive, g.end = context.WithCancel(context.Background())
	return g
}

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer g.leave()

	if !g.enter() {
		http.Error(w, `{"__type":"ServiceUnavailable","message":"the embedded engine is closed"}`, http.StatusServiceUnavailable)
		return
	}
	// Only Step Functions and SQS have calls that wait (GetActivityTask,
	// ReceiveMessage). The others are spared the cost of a context of their own.
	if target := r.Header["X-Amz-Target"]; len(target) == 1 && (strings.HasPrefix(target[0], "AWSStepFunctions.") || target[0] == "AmazonSQS.ReceiveMessage") {
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(g.alive, cancel)()
		r = r.WithContext(ctx)
	}
	g.next.ServeHTTP(w, r)
}

// enter reports whether the gate is open. The caller leaves in either case.
func (g *gate) enter() bool {
	g.calls.Add(1)
	return !g.shut.Load()
}

func (g *gate) leave() {
	if g.calls.Add(-1) == 0 && g.shut.Load() {
		g.once.Do(func() { close(g.empty) })
	}
}

// close refuses new calls and waits for those inside.
func (g *gate) close() {
	g.enter()
	g.shut.Store(true)
	g.end()
	g.leave()
	<-g.empty
}
