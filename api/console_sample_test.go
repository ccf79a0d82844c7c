package api_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"ratchet/api"
	"ratchet/api/auth"
	"ratchet/console"
	"ratchet/transitions"
)

// TestASampleOrderIsPlacedByAClick: on an empty page of `ratchet dev`, with its stock; a second click leads to the same order. Elsewhere there
// is no such button, and no such request. A page of another origin cannot send it.
func TestASampleOrderIsPlacedByAClick(t *testing.T) {
	s := newAPIServer(t, dev)
	draining := make(chan struct{})
	defer close(draining)

	pagesOf := func(sample bool) http.Handler {
		handler, err := console.New(console.Config{
			API: s.handler, Identify: func(*http.Request) (api.Identity, bool) { return whose(auth.DefaultTenant, auth.Admin), true },
			Sample: sample, Log: slog.New(slog.DiscardHandler), Draining: draining,
		})
		if err != nil {
			t.Fatal(err)
		}

		return handler
	}
	send := func(pages http.Handler, method, path, site string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), method, "http://localhost"+console.Path+path, nil)
		r.Header.Set("Sec-Fetch-Site", site)
		pages.ServeHTTP(w, r)

		return w
	}

	with, without := pagesOf(true), pagesOf(false)
	const button = "Place a sample order"

	for _, path := range []string{"/", "/orders"} {
		if a := send(with, "GET", path, "none"); strings.Count(a.Body.String(), button) != 1 {
			t.Errorf("%s has not one button: %s", path, a.Body)
		}

		if a := send(without, "GET", path, "none"); strings.Contains(a.Body.String(), button) || !strings.Contains(a.Body.String(), "No order is here yet") {
			t.Errorf("%s has a button where no sample is placed", path)
		}
	}

	if a := send(with, "POST", "/sample", "cross-site"); a.Code != http.StatusForbidden {
		t.Errorf("a page of another origin is answered with %d", a.Code)
	}

	if a := send(without, "POST", "/sample", "same-origin"); a.Code != http.StatusMethodNotAllowed {
		t.Errorf("where no sample is placed, the answer is %d", a.Code)
	}

	for range 2 {
		if a := send(with, "POST", "/sample", "same-origin"); a.Code != http.StatusSeeOther || a.Header().Get("Location") != "/console/orders/hello-1" {
			t.Fatalf("%d to %s: %s", a.Code, a.Header().Get("Location"), regexp.MustCompile(`<div class="notice bad">.*?</div>`).FindString(a.Body.String()))
		}
	}

	order, found, err := s.kit.Orders().Get(t.Context(), "hello-1")
	if err != nil || !found || order.TransitionID != 1 || order.Total != (transitions.Money{Amount: 2500, Currency: "EUR"}) {
		t.Errorf("the order is %+v, %v", order, err)
	}

	var stock struct{ Available int64 }
	if s.must("GET", "/v1/inventory/mug", "").read(t, &stock); stock.Available != 10 {
		t.Errorf("%d pieces", stock.Available)
	}

	if a := send(with, "GET", "/orders", "none"); strings.Contains(a.Body.String(), button) || !strings.Contains(a.Body.String(), "hello-1") {
		t.Error("the button is there beside an order")
	}
}
