package server_test

import (
	"net/http"
	"strings"
	"testing"

	"ratchet/console"
	"ratchet/transitions"
)

// TestTheConsoleShowsWhatTimeDoes: the page of an order and the list of orders. An order that time does not move has no table of
// that.
func TestTheConsoleShowsWhatTimeDoes(t *testing.T) {
	url, b := consoleServer(t, true)
	if _, err := b.Orders.Create(t.Context(), transitions.NewOrder{ID: "o-2", Total: transitions.Money{Amount: 5, Currency: "EUR"}}); err != nil {
		t.Fatal(err)
	}

	for path, want := range map[string]bool{"/orders/o-2": true, "/orders": true, "/orders/o-1": false, "/orders?order=o-1": false} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+console.Path+path, nil)
		if err != nil {
			t.Fatal(err)
		}

		status, body := fetch(t, http.DefaultClient, r)
		shows := strings.Contains(body, "What time does") || strings.Contains(body, "<th>Timer</th>")

		if status != http.StatusOK || shows != want || want && !strings.Contains(body, "<code>expire</code>") {
			t.Errorf("%s: %d, shows timers: %t\n%s", path, status, shows, body)
		}

		if strings.Contains(body, `<div class="notice">`) {
			t.Errorf("%s has a notice of what its table says", path)
		}
	}
}
