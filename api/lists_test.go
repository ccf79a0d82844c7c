package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"ratchet/api"
	"ratchet/api/auth"
	"ratchet/embedded/embeddedtest"
	"ratchet/lists"
	"ratchet/transitions"
)

// withLists gives the API lists of its orders, which are not ready yet.
func (w *world) withLists(t *testing.T) {
	t.Helper()
	embeddedtest.Create(t, w.db, lists.TableInput("lists"))

	var err error
	if w.cfg.Lists, err = lists.New(lists.Config{DynamoDB: w.db, Table: "lists", Orders: w.cfg.Orders}); err != nil {
		t.Fatal(err)
	}

	if w.handler, err = api.New(w.cfg); err != nil {
		t.Fatal(err)
	}
}

func (w *world) rebuild(t *testing.T) {
	t.Helper()

	if _, err := w.cfg.Lists.Rebuild(t.Context(), transitions.Sweep{Segments: 1}); err != nil {
		t.Fatal(err)
	}
}

// orderList is a page of orders.
type orderList struct {
	Orders  []struct{ OrderID string }
	Next    string
	Scanned bool
	Stale   int
}

// orders returns all pages of a list: the ids, and the last page.
func (w *world) orders(query string, headers ...string) (ids string, last orderList) {
	w.t.Helper()

	var all []string
	for cursor := ""; ; {
		path := "/v1/orders?limit=2" + query
		if cursor != "" {
			path += "&cursor=" + cursor
		}
		last = orderList{}
		w.want(w.ask("GET", path, "", headers...), http.StatusOK, "").read(w.t, &last)

		for _, o := range last.Orders {
			all = append(all, o.OrderID)
		}

		if cursor = last.Next; cursor == "" {
			return strings.Join(all, " "), last
		}
	}
}

func TestOrdersAreListedFromTheLists(t *testing.T) {
	w := newWorld(t, nil)
	w.withLists(t)
	acme, other := w.key("acme", auth.Act), w.key("default", auth.Act)

	for i := range 5 {
		w.must("PUT", fmt.Sprintf("/v1/orders/o-%d", i), mugs, "Authorization", acme)
	}
	w.must("PUT", "/v1/orders/o-9", mugs, "Authorization", other)
	w.must("POST", "/v1/orders/o-1/transitions", `{"event":"hold"}`, "Idempotency-Key", "h", "Authorization", acme)

	if _, last := w.orders("", "Authorization", acme); !last.Scanned {
		t.Error("the lists were used before they were ready")
	}
	w.rebuild(t)

	var scans int
	w.transport.Before(func(c *embeddedtest.Call) error {
		if c.Is("Scan") {
			scans++
		}

		return nil
	})

	for _, row := range []struct{ key, query, want string }{
		{acme, "", "o-4 o-3 o-2 o-1 o-0"},
		{acme, "&state=PENDING", "o-4 o-3 o-2 o-0"},
		{acme, "&state=ON_HOLD", "o-1"},
		{acme, "&state=SHIPPED", ""},
		{other, "", "o-9"},
		{other, "&state=ON_HOLD", ""},
	} {
		if ids, last := w.orders(row.query, "Authorization", row.key); ids != row.want || last.Scanned || last.Stale != 0 {
			t.Errorf("%s: %s, %+v, want %s", row.query, ids, last, row.want)
		}
	}

	if scans != 0 {
		t.Errorf("%d scans", scans)
	}

	// The release is still to come to the lists.
	w.must("POST", "/v1/orders/o-1/transitions", `{"event":"release"}`, "Idempotency-Key", "r", "Authorization", acme)

	if ids, last := w.orders("&state=ON_HOLD", "Authorization", acme); ids != "" || last.Stale != 1 {
		t.Errorf("%s, %+v", ids, last)
	}
}

// A list that began with a scan does not change its sequence in between.
func TestAScannedListEndsAsAScan(t *testing.T) {
	w := newWorld(t, dev)
	w.withLists(t)

	for i := range 5 {
		w.must("PUT", fmt.Sprintf("/v1/orders/o-%d", i), mugs)
	}

	var page orderList
	w.must("GET", "/v1/orders?limit=2", "").read(t, &page)
	w.rebuild(t)

	seen := map[string]int{}
	for {
		for _, o := range page.Orders {
			seen[o.OrderID]++
		}

		if page.Next == "" {
			break
		}
		next := page.Next
		page = orderList{}
		w.must("GET", "/v1/orders?limit=2&cursor="+next, "").read(t, &page)

		if !page.Scanned {
			t.Error("the scan was left")
		}
	}

	if len(seen) != 5 {
		t.Errorf("%v", seen)
	}
}
