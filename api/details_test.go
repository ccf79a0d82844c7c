package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"ratchet/api/auth"
)

// TestARefusalNamesTheRule: also for values whose names the caller chooses, and without ids as they are stored.
func TestARefusalNamesTheRule(t *testing.T) {
	s := newAPIServer(t, nil)
	bearer := s.key("acme", auth.Admin)

	long := strings.Repeat("x", 600)

	lines := make([]string, 98)
	for i := range lines {
		lines[i] = fmt.Sprintf(`{"sku":"s%d","quantity":1,"price":1}`, i)
	}
	const total = `"total":{"amount":0,"currency":"EUR"}`

	s.want(s.ask("PUT", "/v1/orders/o-1", "{"+total+"}", "Authorization", bearer), http.StatusCreated, "")

	for _, row := range []struct{ method, path, body, pointer, detail string }{
		{"PUT", "/v1/orders/o-2", `{` + total + `,"metadata":{"a":"` + long + `"}}`, "/metadata/a", "expected length <= 200"},
		{"PUT", "/v1/orders/o-2", `{` + total + `,"metadata":{"` + long + `":"a"}}`, "/metadata", "names have 1 to 40 characters"},
		{"PUT", "/v1/orders/o-2", `{` + total + `,"items":[` + strings.Join(lines, ",") + `]}`, "/items", "98 different SKUs, at most 97"},
		{"PUT", "/v1/orders/o-1/addresses/billing", `{"street":"` + long + `"}`, "/street", "expected length <= 512"},
	} {
		a := s.ask(row.method, row.path, row.body, "Authorization", bearer, "Idempotency-Key", "k")
		if a.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(a.text, `"pointer":"`+row.pointer+`"`) ||
			!strings.Contains(strings.ReplaceAll(a.text, `\u003c`, "<"), row.detail) || strings.Contains(a.text, `"detail":""`) || strings.Contains(a.text, "acme:") {
			t.Errorf("%s %s: %d %.400s", row.method, row.path, a.StatusCode, a.text)
		}
	}
}
