package notify_test

import (
	"bytes"
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ratchet/embedded/embeddedtest"
	"ratchet/notify"
)

// TestAStopEndsCallsWithoutAnAnswer: a stop waits for no call of DynamoDB, and another worker goes on.
func TestAStopEndsCallsWithoutAnAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		ordered bool
		silent  func(*embeddedtest.Call) bool
	}{
		"the endpoints": {silent: func(c *embeddedtest.Call) bool { return c.Is("Scan") }},
		"the deliveries of the order": {
			ordered: true,
			silent: func(c *embeddedtest.Call) bool {
				return c.Is("Query") && !bytes.Contains(c.Body(), []byte("IndexName"))
			},
		},
		"the queue":               {silent: func(c *embeddedtest.Call) bool { return c.Is("Query") && bytes.Contains(c.Body(), []byte("IndexName")) }},
		"the begin of an attempt": {silent: func(c *embeddedtest.Call) bool { return c.Is("UpdateItem") }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newDeliveryHarness(t)
				far := h.endpoint("shop", func(s *notify.Settings) { s.Ordered, s.Concurrency = c.ordered, 1 })
				far.set(11*time.Second, nil) // the settings are old when an attempt ends

				stored := h.worker() // it does not run, so it only stores
				h.accept(stored, notice("o-1", 2, "SHIPPED"), notice("o-2", 2, "SHIPPED"), notice("o-3", 2, "SHIPPED"))

				var silent atomic.Int32
				d, transport := h.separate()
				transport.Around(func(call *embeddedtest.Call, send embeddedtest.Sender) (*http.Response, error) {
					if far.effects() == 0 || !c.silent(call) {
						return send()
					}
					silent.Add(1)

					ctx := call.Request.Context()
					<-ctx.Done()

					return nil, context.Cause(ctx)
				})
				stop := h.run(d)
				time.Sleep(40 * time.Second)

				began := time.Now()
				stop()

				if took := time.Since(began); took > time.Minute || silent.Load() == 0 {
					t.Errorf("the stop took %v with %d calls without an answer", took, silent.Load())
				}

				far.set(0, nil)
				stop = h.run(stored)
				time.Sleep(5 * time.Minute)
				synctest.Wait()
				stop()

				if got := h.statuses(stored); got["shop DELIVERED"] != 3 {
					t.Errorf("%v", got)
				}
			})
		})
	}
}
