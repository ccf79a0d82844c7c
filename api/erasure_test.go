package api_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"ratchet/api"
	"ratchet/api/auth"
	"ratchet/operate/erasure"
	"ratchet/streams"
	"ratchet/tests/shop"
	"ratchet/transitions/refusals"
)

// withEraser serves erasures.
func (s *apiServer) withEraser() {
	s.t.Helper()
	s.kit.Tables(refusals.TableInput("refusals"))

	var err error
	s.cfg.Eraser, err = erasure.New(erasure.Config{
		DynamoDB: s.db, Orders: s.cfg.Orders, OrdersTable: shop.OrdersTable, RefusalsTable: "refusals", Deliveries: s.cfg.Deliveries,
		Reports: s.cfg.Reports, DeadLetters: s.cfg.DeadLetters, Handlers: []string{"notify"}, QuietFor: time.Nanosecond,
	})
	if err != nil {
		s.t.Fatal(err)
	}

	if s.handler, err = api.New(s.cfg); err != nil {
		s.t.Fatal(err)
	}
}

// erasable is the setup of a request that erases o-1.
func erasable(s *apiServer) string {
	s.withEraser()
	s.must("PUT", "/v1/orders/o-1", strings.Replace(mugs, "{", `{"customer":"c-1","execution":"none",`, 1))
	s.must("POST", "/v1/orders/o-1/transitions", `{"event":"cancel"}`, "Idempotency-Key", "end")

	return ""
}

func TestAPersonIsErasedOverTheAPI(t *testing.T) {
	s := newAPIServer(t, nil)
	s.withEraser()
	acme, other := s.key("acme", auth.Admin), s.key("other", auth.Admin)
	order := strings.Replace(mugs, "{", `{"customer":"c-1",`, 1)

	s.want(s.ask("PUT", "/v1/orders/o-1", order, "Authorization", acme), http.StatusCreated, "")
	s.want(s.ask("POST", "/v1/orders/o-1/erase", `{}`, "Authorization", acme), http.StatusConflict, "not_erasable")
	s.want(s.ask("POST", "/v1/orders/o-1/transitions", `{"event":"cancel"}`, "Authorization", acme, "Idempotency-Key", "end"), http.StatusOK, "")
	s.want(s.ask("POST", "/v1/orders/o-1/erase", `{}`, "Authorization", other), http.StatusNotFound, "order_not_found")
	s.want(s.ask("POST", "/v1/orders/o-1/erase", `{}`, "Authorization", s.key("acme", auth.Act)), http.StatusForbidden, "forbidden")

	customer := func() string {
		a := s.want(s.ask("GET", "/v1/orders/o-1", "", "Authorization", acme), http.StatusOK, "")
		return a.field("customer")
	}

	if a := s.want(s.ask("POST", "/v1/orders/o-1/erase", `{"dryRun":true}`, "Authorization", acme), http.StatusOK, ""); a.field("result") != "selected" || customer() != "c-1" {
		t.Errorf("dry run: %s, customer %s", a.text, customer())
	}

	for range 2 {
		if a := s.want(s.ask("POST", "/v1/orders/o-1/erase", `{}`, "Authorization", acme), http.StatusOK, ""); a.field("result") != "erased" || customer() == "c-1" {
			t.Errorf("erased: %s, customer %s", a.text, customer())
		}
	}
}

func TestHandlersArePausedForTheDefaultTenant(t *testing.T) {
	s := newAPIServer(t, func(c *api.Config) { c.Handlers = []streams.Handler{{Name: "notify", Handle: refuses}} })
	own, acme := s.key(auth.DefaultTenant, auth.Admin), s.key("acme", auth.Admin)

	s.want(s.ask("POST", "/v1/stream/handlers/notify/pause", "", "Authorization", acme), http.StatusForbidden, "forbidden")
	s.want(s.ask("POST", "/v1/stream/handlers/none/pause", "", "Authorization", own), http.StatusNotFound, "handler_not_found")

	for _, row := range []struct {
		verb   string
		paused int
	}{{"pause", 1}, {"pause", 1}, {"resume", 0}, {"resume", 0}} {
		s.want(s.ask("POST", "/v1/stream/handlers/notify/"+row.verb, "", "Authorization", own), http.StatusOK, "")

		if paused, err := s.cfg.RetryQueue.Paused(t.Context()); err != nil || len(paused) != row.paused {
			t.Errorf("after %s: %v, %v", row.verb, paused, err)
		}
	}
}

func TestARepairIsPreviewed(t *testing.T) {
	s, start := withExecutions(t, dev)
	start("o-3", "o-3")

	for range 2 { // nothing has changed
		a := s.want(s.ask("GET", "/v1/orders/o-3/execution/repair", ""), http.StatusOK, "")
		if a.field("action") != "redriven" || a.field("execution", "name") != "o-3" || !strings.Contains(a.text, "runs the state again") {
			t.Errorf("%s", a.text)
		}
	}

	a := s.want(s.ask("GET", "/v1/orders/o-3/execution/repair?successor=true", ""), http.StatusOK, "")
	if a.field("action") != "successor started" || !strings.Contains(a.text, "places order o-3") {
		t.Errorf("%s", a.text)
	}

	start("wait-1", "wait-1")
	s.want(s.ask("GET", "/v1/orders/wait-1/execution/repair", ""), http.StatusConflict, "execution_healthy")
	s.want(s.ask("GET", "/v1/orders/none/execution/repair", ""), http.StatusNotFound, "order_not_found")
}
