// Package connectionstest shows that the calls of a client use their connections again.
package connectionstest

import (
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
)

// callers is how many calls run at a time.
const callers = 16

// UsedAgain fails the test unless calls that run at a time find the connections of those before them. The server answers
// with answer; client returns a call to the server's address.
func UsedAgain(t *testing.T, answer http.HandlerFunc, client func(address string) (call func() error)) {
	t.Helper()

	var opened, arrived atomic.Int64
	var all atomic.Pointer[chan struct{}] // closed when the calls of a round have all arrived

	web := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		together := *all.Load()
		if arrived.Add(1)%callers == 0 {
			close(together)
		}
		<-together
		answer(w, r)
	}))
	web.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	web.Start()
	defer web.Close()

	call := client(web.URL)

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
