package api_test

import (
	"net/http"
	"strings"
	"testing"

	"ratchet/api/auth"
)

// ownRoutes are the requests that may have own attributes beside what they are about, with a place for them.
var ownRoutes = map[string][3]string{
	"transition":  {"POST", "/transitions", `{"event":"pay","own":OWN}`},
	"own":         {"POST", "/own", `{"own":OWN}`},
	"items":       {"POST", "/items", `{"items":[{"sku":"cup","quantity":1,"price":5}],"own":OWN}`},
	"change item": {"PUT", "/items/mug", `{"quantity":3,"price":5,"own":OWN}`},
	"note":        {"POST", "/notes", `{"text":"x","own":OWN}`},
	"parcel":      {"PUT", "/parcels/p-1", `{"lines":[{"sku":"mug","quantity":1}],"own":OWN}`},
}

// Edits and parcels change own attributes in their one write.
func TestEditsAndParcelsCarryOwnAttributes(t *testing.T) {
	s := newAPIServer(t, dev)

	for name, route := range ownRoutes {
		order := "/v1/orders/o-" + strings.ReplaceAll(name, " ", "-")
		s.must("PUT", order, mugs)

		if name == "parcel" {
			s.must("POST", order+"/transitions", `{"event":"pay"}`, "Idempotency-Key", "pay")
		}

		body := func(own string) string { return strings.Replace(route[2], "OWN", own, 1) }
		if a := s.ask(route[0], order+route[1], body(`{"set":{"a":{"N":"1"}},"if":{"exists":["a"]}}`), "Idempotency-Key", "k"); a.StatusCode != http.StatusConflict || !strings.Contains(a.text, "own attribute") {
			t.Errorf("%s: a condition that does not hold: %d %s", name, a.StatusCode, a.text)
		}

		for range 2 {
			a := s.ask(route[0], order+route[1], body(`{"set":{"a":{"N":"1"}},"if":{"missing":["a"]}}`), "Idempotency-Key", "k-2")
			if a.StatusCode != http.StatusOK || ownOf(t, a) != `{"a":{"N":"1"}}` {
				t.Errorf("%s: %d %s", name, a.StatusCode, a.text)
			}
		}

		if a := s.ask(route[0], order+route[1], body(`{"set":{"a":{"N":"2"}}}`), "Idempotency-Key", "k-2"); a.StatusCode != http.StatusConflict {
			t.Errorf("%s: other own attributes: %d %s", name, a.StatusCode, a.text)
		}
	}
}

// A caller that may not see own attributes may not compare them: whether a condition holds would confirm a guess of a
// value or a name. It may set and remove them.
func TestOwnConditionsNeedTheGrant(t *testing.T) {
	s := newAPIServer(t, dev)

	for name, route := range ownRoutes {
		order := "/v1/orders/o-" + strings.ReplaceAll(name, " ", "-")
		s.must("PUT", order, strings.TrimSuffix(mugs, "}")+`,"own":{"email":{"S":"ada@example.com"}}}`)

		if name == "parcel" {
			s.must("POST", order+"/transitions", `{"event":"pay"}`, "Idempotency-Key", "pay")
		}
		ungranted := person(auth.DefaultTenant, auth.Admin)
		send := func(own, key string) answer {
			return s.as(ungranted, route[0], order+route[1], strings.Replace(route[2], "OWN", own, 1), "Idempotency-Key", key)
		}

		// The answers to a right and a wrong guess are the same.
		for _, guess := range []string{
			`{"equals":{"email":{"S":"ada@example.com"}}}`, `{"equals":{"email":{"S":"bob@example.com"}}}`,
			`{"exists":["email"]}`, `{"exists":["phone"]}`, `{"missing":["email"]}`, `{"missing":["phone"]}`,
		} {
			a := send(`{"set":{"a":{"N":"1"}},"if":`+guess+`}`, "guess")
			if a.StatusCode != http.StatusForbidden || !strings.Contains(a.text, `"pointer":"/own/if"`) {
				t.Errorf("%s: %s: %d %s", name, guess, a.StatusCode, a.text)
			}
		}

		if a := send(`{"set":{"a":{"N":"1"}},"remove":["email"],"if":{}}`, "k"); a.StatusCode != http.StatusOK {
			t.Errorf("%s: without a condition: %d %s", name, a.StatusCode, a.text)
		}
	}
}
