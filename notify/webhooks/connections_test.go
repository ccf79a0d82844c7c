package webhooks_test

import (
	"net/http"
	"testing"

	"ratchet/internal/connectionstest"
	"ratchet/notify/webhooks"
)

// TestConcurrentDeliveriesUseTheirConnectionsAgain: deliveries to one endpoint that run at a time find the connections of those before them.
func TestConcurrentDeliveriesUseTheirConnectionsAgain(t *testing.T) {
	accepted := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }

	connectionstest.UsedAgain(t, accepted, func(address string) func() error {
		c := client(t, webhooks.ReachLoopback)
		return func() error { return c.Deliver(t.Context(), address, "msg_1", []byte("{}"), nil) }
	})
}
