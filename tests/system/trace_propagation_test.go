package system

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"ratchet/notify/webhooks"
	"ratchet/server"
	"ratchet/server/ratchettest"
	"ratchet/transitions"
	"ratchet/workflow"
)

// carrier books every shipment, and remembers the traceparents.
type carrier struct {
	mu      sync.Mutex
	parents []string
}

func (c *carrier) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()

	c.parents = append(c.parents, r.Header.Get("Traceparent"))
	_, _ = io.WriteString(w, `{"status":"booked","tracking":"t-1"}`)
}

func (c *carrier) asked() []string {
	c.mu.Lock()
	defer c.mu.Unlock()

	return append([]string(nil), c.parents...)
}

// TestTheTraceparentGoesWhereTheSettingsSay: to a carrier's URL, to webhooks, or to neither.
func TestTheTraceparentGoesWhereTheSettingsSay(t *testing.T) {
	sink := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))
	t.Cleanup(sink.Close)

	const traceparent = "00-" + buyer + "-" + caller + "-01"

	for _, test := range []struct {
		propagation, endpoint string
		carrier, webhook      bool
	}{
		{server.PropagateToAll, sink.URL, true, true},
		{server.PropagateToOwn, sink.URL, true, false},
		{server.PropagateToNone, sink.URL, false, false},
		{server.PropagateToAll, "off", false, false},
	} {
		t.Run(test.propagation+" "+strings.TrimPrefix(test.endpoint, sink.URL), func(t *testing.T) {
			far, hook := &carrier{}, startEndpoint(t, "")
			booking := httptest.NewServer(far)
			t.Cleanup(func() {
				booking.Close()
				http.DefaultTransport.(*http.Transport).CloseIdleConnections()
			})

			env := ratchettest.Start(t, ratchettest.Config{Server: server.Config{
				Carrier:       booking.URL,
				Notify:        hook.url,
				WebhookSecret: server.Secret(webhooks.NewSecret().Reveal()),
				Tracing:       server.TracingConfig{Endpoint: test.endpoint, Propagation: test.propagation},
			}})

			order := ratchettest.NewOrder("o-1", "mug")
			order.Cause = transitions.Cause{Trace: traceparent}
			env.SetStock("mug", 1)
			env.Place(order)
			env.Apply(transitions.Request{
				OrderID:   "o-1",
				Event:     workflow.Pay,
				RequestID: "pay-1",
				Cause:     transitions.Cause{Trace: traceparent},
			}, transitions.Applied)

			env.Wait("the booking and the webhook", func() (bool, string, error) {
				return len(far.asked()) > 0 && len(hook.got("o-1 PAYMENT_RECEIVED")) > 0, "", nil
			})

			for who, got := range map[string]struct {
				parent string
				sent   bool
			}{
				"carrier": {far.asked()[0], test.carrier},
				"webhook": {hook.got("o-1 PAYMENT_RECEIVED")[0], test.webhook},
			} {
				if got.sent != strings.HasPrefix(got.parent, traceparent[:36]) || !got.sent && got.parent != "" {
					t.Errorf("the %s got %q; sent: %t", who, got.parent, got.sent)
				}
			}
		})
	}
}
