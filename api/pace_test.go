package api_test

import (
	"net/http"
	"testing"
	"time"

	"ratchet/api"
)

// TestOrdersWaitForTheReactions: a new order is refused while reactions begin more than 4 s late, and
// leaves nothing. What concerns orders that have begun is served.
func TestOrdersWaitForTheReactions(t *testing.T) {
	var late time.Duration
	s := newAPIServer(t, func(cfg *api.Config) {
		dev(cfg)
		cfg.Behind = func() time.Duration { return late }
	})
	s.want(s.ask("PUT", "/v1/orders/o-1", mugs), http.StatusCreated, "")

	for behind, pause := range map[time.Duration]string{
		4*time.Second + time.Millisecond: "1",
		8 * time.Second:                  "2",
		time.Minute:                      "28",
		24 * time.Hour:                   "30",
	} {
		late = behind

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

	late = 4 * time.Second
	s.want(s.ask("PUT", "/v1/orders/o-2", mugs), http.StatusCreated, "")
	s.want(s.ask("POST", "/v1/orders", mugs, "Idempotency-Key", "k"), http.StatusCreated, "")
}
