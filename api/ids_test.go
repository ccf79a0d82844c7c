package api_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// An order's id is the segment of a path as it was before the client encoded it, once.
func TestAnOrderOfAnyIDHasARoute(t *testing.T) {
	s := newAPIServer(t, dev)
	for _, id := range []string{"a/../b//c/.", "a%2Fb", "é #?&=+~", strings.Repeat("é", 117)} {
		at := "/v1/orders/" + url.PathEscape(id)

		placed := s.want(s.ask("PUT", at, mugs), http.StatusCreated, "")
		if placed.field("orderId") != id || placed.Header.Get("Location") != at {
			t.Errorf("%s: %s, at %s", at, placed.text, placed.Header.Get("Location"))
		}

		s.want(s.ask("POST", at+"/transitions", `{"event":"pay"}`, "Idempotency-Key", "k"), http.StatusOK, "")

		if read := s.want(s.ask("GET", at, ""), http.StatusOK, ""); read.field("orderId") != id || read.field("state") != "PAYMENT_RECEIVED" {
			t.Errorf("%s: %s", at, read.text)
		}
	}

	for _, id := range []string{"a:b", ".", "..", "a\nb", "a\u0085b", strings.Repeat("é", 129)} {
		if got := s.ask("PUT", "/v1/orders/"+url.PathEscape(id), mugs); got.StatusCode == http.StatusCreated || got.StatusCode >= 500 {
			t.Errorf("%q: %d %s", id, got.StatusCode, got.text)
		}
	}
}
