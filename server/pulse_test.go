package server_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"ratchet/operate/processes"
	"ratchet/transitions"
	"ratchet/workflow"
)

// TestTheLastHourKnowsWhatWasDecided by this process, without a read.
func TestTheLastHourKnowsWhatWasDecided(t *testing.T) {
	_, b := consoleServer(t, true) // a hold that is applied, and a ship that is refused

	if _, err := b.Orders.Apply(t.Context(), transitions.Request{OrderID: "o-1", Event: "no such event", RequestID: "r-1"}); err != nil {
		t.Fatal(err)
	}

	hour, err := b.LastHour()
	if err != nil {
		t.Fatal(err)
	}

	var (
		decided []processes.Decided
		moved   []processes.Moved
	)
	for _, m := range hour.Minutes {
		decided, moved = append(decided, m.Decided...), append(moved, m.Moved...)
	}
	version := b.Orders.Definition().Version()

	for _, want := range []processes.Decided{
		{Event: string(workflow.Hold), Verdict: "Applied", Count: 1}, {Event: string(workflow.Ship), Verdict: "WrongState", Count: 1}, {Event: "other", Verdict: "Illegal", Count: 1},
	} {
		if !slices.Contains(decided, want) {
			t.Errorf("%+v is not in %+v", want, decided)
		}
	}

	// The order was placed in PENDING and has left it.
	if want := (processes.Moved{Version: version, State: "ON_HOLD", By: 1}); len(moved) != 1 || moved[0] != want {
		t.Errorf("%+v, want %+v", moved, want)
	}
}

// TestOrdersAreCountedByStateAndVersion: a pass counts each tenant's orders for itself.
func TestOrdersAreCountedByStateAndVersion(t *testing.T) {
	url, b := consoleServer(t, true)

	for _, id := range []transitions.OrderID{"o-2", "acme:o-1", "acme:o-2", "acme:o-3"} {
		if _, err := b.Orders.Create(t.Context(), transitions.NewOrder{ID: id, Items: []transitions.Item{{SKU: "mug", Quantity: 1, Price: 5}}, Total: transitions.Money{Amount: 5, Currency: "EUR"}}); err != nil {
			t.Fatal(err)
		}
	}

	if _, err := b.CountOrders(t.Context()); err != nil {
		t.Fatal(err)
	}
	version := b.Orders.Definition().Version()

	for owner, want := range map[string]map[string]int64{"": {"ON_HOLD": 1, "PENDING": 1}, "acme": {"PENDING": 3}} {
		count, known, err := b.Processes.NewestCount(t.Context(), owner)
		if err != nil || !known || len(count.Orders) != 1 {
			t.Fatalf("%q: %+v, %t, %v", owner, count, known, err)
		}

		for state, n := range want {
			if count.Orders[version][state] != n {
				t.Errorf("%q: %+v, want %v", owner, count, want)
			}
		}
	}

	wantOnPage(t, url+"/console/", "2 orders, counted", ">ON_HOLD</span>")
}

// wantOnPage reads a page, which must have the texts.
func wantOnPage(t *testing.T, address string, texts ...string) {
	t.Helper()

	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}

	status, body := fetch(t, http.DefaultClient, r)
	for _, text := range texts {
		if status != http.StatusOK || !strings.Contains(body, text) {
			t.Errorf("%s: %d, without %q", address, status, text)
		}
	}
}
