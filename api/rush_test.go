package api_test

import (
	"flag"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
)

var flagCrowd = flag.Int("crowd", 2_000, "requests of a rush (make long: ten thousand)")

// rush sends n requests from 64 callers at once and counts the answers by code.
func (s *apiServer) rush(n int, request func(i int) answer) map[string]int {
	var mu sync.Mutex

	counts := map[string]int{}
	var sent atomic.Int64
	var group sync.WaitGroup
	for range 64 {
		group.Go(func() {
			for i := sent.Add(1); i <= int64(n); i = sent.Add(1) {
				a := request(int(i))
				code := a.code()
				if a.StatusCode < http.StatusBadRequest {
					code = fmt.Sprint(a.StatusCode)
				}
				mu.Lock()
				counts[code]++
				mu.Unlock()
			}
		})
	}
	group.Wait()

	return counts
}

// One buyer reserves the last piece. All others are refused.
func TestTenThousandBuyersReserveOnePiece(t *testing.T) {
	buyers := *flagCrowd
	s := newAPIServer(t, dev)
	s.want(s.ask("PUT", "/v1/inventory/last-one", `{"available":1}`), http.StatusOK, "")

	counts := s.rush(buyers, func(i int) answer {
		return s.ask("PUT", fmt.Sprintf("/v1/reservations/buyer-%d", i), `{"lines":[{"sku":"last-one","quantity":1}]}`)
	})
	if counts["200"] != 1 || counts["out_of_stock"]+counts["200"]+counts["contended"]+counts["unavailable"] != buyers {
		t.Errorf("answers by code: %v", counts)
	}

	a := s.want(s.ask("GET", "/v1/inventory/last-one", ""), http.StatusOK, "")
	if a.field("available") != "0" || a.field("reserved") != "1" {
		t.Errorf("%s", a.text)
	}
}

// After five guesses the action is locked, also for the right PIN.
func TestOfTenThousandGuessesOfAPINFiveAreCompared(t *testing.T) {
	guesses := *flagCrowd
	s := newAPIServer(t, dev)
	id := s.want(s.ask("POST", "/v1/actions", `{"pin":"right","maxAttempts":5,"expiresAt":"2030-01-01T00:00:00Z"}`, "Idempotency-Key", "a"), http.StatusCreated, "").field("id")

	counts := s.rush(guesses, func(i int) answer {
		return s.ask("POST", "/v1/actions/"+id+"/consume", fmt.Sprintf(`{"pin":"%05d"}`, i), "Idempotency-Key", fmt.Sprint(i))
	})
	if counts["invalid_pin"] > 5 || counts["invalid_pin"]+counts["locked"] != guesses {
		t.Errorf("answers by code: %v", counts)
	}
	s.want(s.ask("POST", "/v1/actions/"+id+"/consume", `{"pin":"right"}`, "Idempotency-Key", "late"), http.StatusLocked, "locked")
}
