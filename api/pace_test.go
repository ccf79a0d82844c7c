package api_test

import (
	"net/http"
	"testing"
	"time"

	"ratchet/api"
)

// TestOrdersWaitForTheReactions: a new order is refused while the stream is read more than 5 s late, and
// leaves nothing. What concerns orders that have begun is served.
func TestOrdersWaitForTheReactions(t *testing.T) {
	var unread time.Duration
	s := newAPIServer(t, func(cfg *api.Config) {
		dev(cfg)
		cfg.Unread = func() time.Duration { return unread }
	})
	s.want(s.ask("PUT", "/v1/orders/o-1", mugs), http.StatusCreated, "")

	for behind, pause := range map[time.Duration]string{
		5*time.Second + time.Millisecond: "1",
		9 * time.Second:                  "2",
		time.Minute:                      "28",
		24 * time.Hour:                   "30",
	} {
		unread = behind

		// The order exists.
		s.want(s.ask("PUT", "/v1/orders/o-1", mugs), http.StatusCreated, "")

		for _, a := range []answer{
			s.ask("PUT", "/v1/orders/o-2", mugs),
			s.ask("POST", "/v1/orders", mugs, "Idempotency-Key", "k"),
		} {
			s.want(a, http.StatusTooManyRequests, "reactions_behind")

			if got := a.Header.Get("Retry-After"); got != pause {
				t.Errorf("%v behind: Retry-After %q, want %q", behind, got, pause)
			}
		}
	}

	s.want(s.ask("GET", "/v1/orders/o-2", ""), http.StatusNotFound, "order_not_found")
	s.want(s.ask("POST", "/v1/orders/o-1/transitions", `{"event":"pay"}`, "Idempotency-Key", "p"), http.StatusOK, "")

	unread = 5 * time.Second
	s.want(s.ask("PUT", "/v1/orders/o-2", mugs), http.StatusCreated, "")
	s.want(s.ask("POST", "/v1/orders", mugs, "Idempotency-Key", "k"), http.StatusCreated, "")
}
