package webhooks_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"ratchet/notify/webhooks"
)

// TestConcurrentDeliveriesUseTheirConnectionsAgain: deliveries to one endpoint that run at a time find the connections of those before them.
func TestConcurrentDeliveriesUseTheirConnectionsAgain(t *testing.T) {
	const callers = 16

	var opened, arrived atomic.Int64
	var all atomic.Pointer[chan struct{}] // closed when the calls of a round have all arrived

	web := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		together := *all.Load()
		if arrived.Add(1)%callers == 0 {
			close(together)
		}
		<-together
		w.WriteHeader(http.StatusNoContent)
	}))
	web.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	web.Start()
	defer web.Close()

	c := client(t, webhooks.ReachLoopback)
	call := func() error { return c.Deliver(t.Context(), web.URL, "msg_1", []byte("{}"), nil) }

	// A connection is idle some time after its answer was read, so one round may be too early.
	for range 100 {
		before := opened.Load()
		together := make(chan struct{})
		all.Store(&together)

		var calls sync.WaitGroup
		for range callers {
			calls.Go(func() {
				if err := call(); err != nil {
					t.Error(err)
				}
			})
		}
		calls.Wait()

		if t.Failed() || before > 0 && opened.Load()-before < callers/4 {
			return
		}
	}

	t.Errorf("%d connections for 100 times %d calls", opened.Load(), callers)
}
