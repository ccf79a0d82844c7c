package api_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"ratchet/api"
	"ratchet/api/auth"
	"ratchet/embedded/embeddedtest"
	"ratchet/transitions/lists"
)

// withLists gives the API lists of its orders, which are not ready yet.
func (s *apiServer) withLists(t *testing.T) {
	t.Helper()
	embeddedtest.Create(t, s.db, lists.TableInput("lists"))

	var err error
	if s.cfg.Lists, err = lists.New(lists.Config{DynamoDB: s.db, Table: "lists", Orders: s.cfg.Orders}); err != nil {
		t.Fatal(err)
	}

	if s.handler, err = api.New(s.cfg); err != nil {
		t.Fatal(err)
	}
}

func (s *apiServer) rebuild(t *testing.T) {
	t.Helper()

	if _, err := s.cfg.Lists.Rebuild(t.Context(), nil); err != nil {
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
func (s *apiServer) orders(query string, headers ...string) (ids string, last orderList) {
	s.t.Helper()

	var all []string
	for cursor := ""; ; {
		path := "/v1/orders?limit=2" + query
		if cursor != "" {
			path += "&cursor=" + cursor
		}
		last = orderList{}
		s.want(s.ask("GET", path, "", headers...), http.StatusOK, "").read(s.t, &last)

		for _, o := range last.Orders {
			all = append(all, o.OrderID)
		}

		if cursor = last.Next; cursor == "" {
			return strings.Join(all, " "), last
		}
	}
}

func TestOrdersAreListedFromTheLists(t *testing.T) {
	s := newAPIServer(t, nil)
	s.withLists(t)
	acme, other := s.key("acme", auth.Act), s.key("default", auth.Act)

	for i := range 5 {
		s.must("PUT", fmt.Sprintf("/v1/orders/o-%d", i), mugs, "Authorization", acme)
	}
	s.must("PUT", "/v1/orders/o-9", mugs, "Authorization", other)
	s.must("POST", "/v1/orders/o-1/transitions", `{"event":"hold"}`, "Idempotency-Key", "h", "Authorization", acme)

	if _, last := s.orders("", "Authorization", acme); !last.Scanned {
		t.Error("the lists were used before they were ready")
	}
	s.rebuild(t)

	var scans int
	s.transport.Before(func(c *embeddedtest.Call) error {
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
		if ids, last := s.orders(row.query, "Authorization", row.key); ids != row.want || last.Scanned || last.Stale != 0 {
			t.Errorf("%s: %s, %+v, want %s", row.query, ids, last, row.want)
		}
	}

	if scans != 0 {
		t.Errorf("%d scans", scans)
	}

	// The release is still to come to the lists.
	s.must("POST", "/v1/orders/o-1/transitions", `{"event":"release"}`, "Idempotency-Key", "r", "Authorization", acme)

	if ids, last := s.orders("&state=ON_HOLD", "Authorization", acme); ids != "" || last.Stale != 1 {
		t.Errorf("%s, %+v", ids, last)
	}
}

// Customers of different tenants are different ones. The lists and a scan agree.
func TestOrdersAreListedByCustomer(t *testing.T) {
	s := newAPIServer(t, nil)
	s.withLists(t)
	acme, other := s.key("acme", auth.Act), s.key("default", auth.Act)
	place := func(id, customer, key string) {
		s.must("PUT", "/v1/orders/"+id, strings.Replace(mugs, "{", `{"customer":"`+customer+`",`, 1), "Authorization", key)
	}

	place("o-1", "c-1", acme)
	place("o-2", "c-2", acme)
	place("o-3", "c-1", acme)
	place("o-4", "c-1", other)
	s.must("PUT", "/v1/orders/o-5", mugs, "Authorization", acme)
	s.must("POST", "/v1/orders/o-1/transitions", `{"event":"hold"}`, "Idempotency-Key", "h", "Authorization", acme)

	if text := s.must("GET", "/v1/orders/o-1", "", "Authorization", acme).text; !strings.Contains(text, `"customer":"c-1"`) {
		t.Error(text)
	}

	for _, scanned := range []bool{true, false} {
		for _, row := range []struct{ key, query, want string }{
			{acme, "&customer=c-1", "o-1 o-3"},
			{acme, "&customer=c-1&state=ON_HOLD", "o-1"},
			{acme, "&customer=c-2", "o-2"},
			{acme, "&customer=c-3", ""},
			{other, "&customer=c-1", "o-4"},
			{other, "&customer=c-2", ""},
		} {
			got, last := s.orders(row.query, "Authorization", row.key)
			ids := strings.Fields(got)
			slices.Sort(ids)

			if ids := strings.Join(ids, " "); ids != row.want || last.Scanned != scanned {
				t.Errorf("%s: %s, %+v, want %s", row.query, ids, last, row.want)
			}
		}
		s.rebuild(t)
	}

	// A cursor continues the list that it is of, and no other.
	var page orderList
	s.must("GET", "/v1/orders?limit=1&customer=c-1", "", "Authorization", acme).read(t, &page)
	s.want(s.ask("GET", "/v1/orders?limit=1&customer=c-2&cursor="+page.Next, "", "Authorization", acme), http.StatusBadRequest, "invalid_cursor")
}

// A customer is a reference. What looks like personal data is refused, and appears neither
// in the answer nor in the log.
func TestACustomerIsNoPersonalData(t *testing.T) {
	s := newAPIServer(t, dev)
	body := strings.Replace(mugs, "{", `{"customer":"ann@example.org",`, 1)

	for _, a := range []answer{
		s.ask("PUT", "/v1/orders/o-1", body),
		s.ask("GET", "/v1/orders?customer=ann@example.org", ""),
	} {
		s.want(a, http.StatusUnprocessableEntity, "invalid_request")

		if !strings.Contains(a.text, `customer"`) || strings.Contains(a.text, "ann@") {
			t.Error(a.text)
		}
	}

	s.must("PUT", "/v1/orders/o-1", strings.Replace(mugs, "{", `{"customer":"crm-4711",`, 1))
	s.must("GET", "/v1/orders?customer=crm-4711", "")
	s.want(s.ask("PUT", "/v1/orders/o-1", strings.Replace(mugs, "{", `{"customer":"crm-4712",`, 1)), http.StatusConflict, "conflict")

	if log := s.log.String(); strings.Contains(log, "ann@") || strings.Contains(log, "crm-47") {
		t.Error(log)
	}
}

// A list that began with a scan does not change its sequence in between.
func TestAScannedListEndsAsAScan(t *testing.T) {
	s := newAPIServer(t, dev)
	s.withLists(t)

	for i := range 5 {
		s.must("PUT", fmt.Sprintf("/v1/orders/o-%d", i), mugs)
	}

	var page orderList
	s.must("GET", "/v1/orders?limit=2", "").read(t, &page)
	s.rebuild(t)

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
		s.must("GET", "/v1/orders?limit=2&cursor="+next, "").read(t, &page)

		if !page.Scanned {
			t.Error("the scan was left")
		}
	}

	if len(seen) != 5 {
		t.Errorf("%v", seen)
	}
}
