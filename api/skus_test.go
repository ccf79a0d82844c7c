package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// skuLines returns lines of the SKUs from the first to before the last, as a member of a body.
func skuLines(first, last int) string {
	var lines []string
	for i := first; i < last; i++ {
		lines = append(lines, fmt.Sprintf(`{"sku":"sku-%d","quantity":1,"price":1}`, i))
	}

	return `"items":[` + strings.Join(lines, ",") + `]`
}

// TestEditsKeepTheLimitOfSKUs: the answer names the field and the rule, for edits as for placing.
func TestEditsKeepTheLimitOfSKUs(t *testing.T) {
	s := newAPIServer(t, dev)
	total := `,"total":{"amount":97,"currency":"EUR"}}`
	rule := "different SKUs"

	a := s.want(s.ask("PUT", "/v1/orders/o-2", "{"+skuLines(0, 98)+total), http.StatusUnprocessableEntity, "invalid_request")
	if !strings.Contains(a.text, rule) || !strings.Contains(a.text, "/items") {
		t.Errorf("placed: %s", a.text)
	}
	s.want(s.ask("PUT", "/v1/orders/o-1", "{"+skuLines(0, 97)+total), http.StatusCreated, "")

	for _, path := range []string{"items", "reserved-items"} {
		s.want(s.ask("PUT", "/v1/inventory/sku-97", `{"available":5}`), http.StatusOK, "")

		a := s.want(s.ask("POST", "/v1/orders/o-1/"+path, "{"+skuLines(97, 98)+"}", "Idempotency-Key", path), http.StatusConflict, "order_full")
		if !strings.Contains(a.text, rule+": at most 97") || !strings.Contains(a.text, "/items") {
			t.Errorf("%s: %s", path, a.text)
		}
	}
	s.want(s.ask("POST", "/v1/orders/o-1/items", "{"+skuLines(0, 90)+"}", "Idempotency-Key", "known"), http.StatusOK, "")
}
