package httpcarrier_test

import (
	"net/http"
	"testing"

	"ratchet/internal/connectionstest"
	"ratchet/shipping/httpcarrier"
)

// TestConcurrentBookingsUseTheirConnectionsAgain: bookings that run at a time find the connections of those before them.
func TestConcurrentBookingsUseTheirConnectionsAgain(t *testing.T) {
	booked := func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"status":"booked"}`)) }

	connectionstest.UsedAgain(t, booked, func(address string) func() error {
		c, err := httpcarrier.New(httpcarrier.Config{URL: address})
		if err != nil {
			t.Fatal(err)
		}

		return func() error {
			_, err := c.Book(t.Context(), key, "o-1")
			return err
		}
	})
}
