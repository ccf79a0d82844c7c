package api_test

import (
	"net/http"
	"strings"
	"testing"

	"ratchet/api/auth"
)

// TestAPreviewWritesNothing, says what a request would be answered, and knows no other tenant's orders.
func TestAPreviewWritesNothing(t *testing.T) {
	s := newAPIServer(t, nil)
	act, read, other := s.key("acme", auth.Act), s.key("acme", auth.Read), s.key("evil", auth.Admin)
	s.want(s.ask("PUT", "/v1/orders/o-1", mugs, "Authorization", act), http.StatusCreated, "")

	for query, want := range map[string]string{
		"event=pay":                 `"verdict":"Applied","at":`,
		"event=pay&transitionId=2":  `"to":"PAYMENT_RECEIVED","next":2`,
		"event=ship":                `"needs":["PAYMENT_RECEIVED"`,
		"event=nonsense":            `"verdict":"Illegal"`,
		"event=pay&from=DELIVERED":  `"verdict":"Illegal"`,
		"event=cancel&from=PENDING": `"to":"CANCELLED","next":2`,
	} {
		if a := s.want(s.ask("GET", "/v1/orders/o-1/preview?"+query, "", "Authorization", read), http.StatusOK, ""); !strings.Contains(a.text, want) {
			t.Errorf("%s: %s, want %s", query, a.text, want)
		}
	}

	for _, order := range []string{"o-1", "none"} {
		s.want(s.ask("GET", "/v1/orders/"+order+"/preview?event=pay", "", "Authorization", other), http.StatusNotFound, "order_not_found")
	}

	if a := s.must("GET", "/v1/orders/o-1", "", "Authorization", read); !strings.Contains(a.text, `"state":"PENDING"`) || !strings.Contains(a.text, `"transitionId":1`) {
		t.Error(a.text)
	}
}
