package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"ratchet/api/auth"
)

// collect reads all pages of a list and returns what the member of each entry is.
func (s *apiServer) collect(path, list, member, bearer string) (found []string) {
	s.t.Helper()

	join := "?"
	if strings.Contains(path, "?") {
		join = "&"
	}

	for next, pages := "", 0; pages < 50; pages++ {
		target := path + join + "limit=2"
		if next != "" {
			target += "&cursor=" + next
		}

		a := s.want(s.ask("GET", target, "", "Authorization", bearer), http.StatusOK, "")

		var page map[string]json.RawMessage
		a.read(s.t, &page)

		var entries []map[string]any
		if err := json.Unmarshal(page[list], &entries); err != nil {
			s.t.Fatalf("%v in %s", err, a.text)
		}

		if len(entries) > 2 {
			s.t.Fatalf("%s: a page of %d", path, len(entries))
		}

		for _, e := range entries {
			found = append(found, fmt.Sprint(e[member]))
		}

		next = ""
		_ = json.Unmarshal(page["next"], &next)

		if next == "" {
			break
		}
	}
	slices.Sort(found)

	return found
}

// The lists show all of a tenant's, page by page, and nothing of others.
func TestListsShowAllOfATenantAndNothingOfOthers(t *testing.T) {
	s := newAPIServer(t, nil)

	for n, tenant := range []auth.Tenant{auth.DefaultTenant, "acme", "acme-2"} {
		bearer := s.key(tenant, auth.Admin)
		do := func(method, path, body string) { s.must(method, path, body, "Authorization", bearer) }

		do("PUT", "/v1/accounts/bank", `{"currency":"EUR","overdraft":true}`)
		do("PUT", "/v1/accounts/alice", `{"currency":"EUR"}`)

		for i := range 3 + n {
			do("PUT", fmt.Sprint("/v1/inventory/sku-", i), `{"available":10}`)
			do("PUT", fmt.Sprint("/v1/reservations/r-", i), fmt.Sprintf(`{"lines":[{"sku":"sku-%d","quantity":1}]}`, i)) // in the same table
			do("PUT", fmt.Sprint("/v1/transfers/t-", i), legs(`{"account":"bank","amount":-10},{"account":"alice","amount":10}`))
			do("PUT", fmt.Sprint("/v1/accounts/bank/holds/h-", i), `{"amount":1,"currency":"EUR"}`)
			do("PUT", fmt.Sprint("/v1/payments/p-", i), `{"orderId":"o-1","payer":"bank","payee":"alice","amount":5,"currency":"EUR"}`)
		}
		do("PUT", "/v1/payments/p-0/captures/c-1", `{"amount":5}`)
	}

	for n, tenant := range []auth.Tenant{auth.DefaultTenant, "acme", "acme-2"} {
		bearer := s.key(tenant, auth.Read)

		for _, row := range []struct{ path, list, member, prefix string }{
			{"/v1/inventory", "levels", "sku", "sku-"},
			{"/v1/accounts/bank/holds", "holds", "holdId", "h-"},
			{"/v1/payments", "payments", "paymentId", "p-"},
		} {
			var want []string
			for i := range 3 + n {
				want = append(want, fmt.Sprint(row.prefix, i))
			}

			got := s.collect(row.path, row.list, row.member, bearer)
			got = slices.DeleteFunc(got, func(id string) bool { return strings.Contains(id, "#payment") }) // the payments' own holds

			if !slices.Equal(got, want) {
				t.Errorf("%s of %s: %v, want %v", row.path, tenant, got, want)
			}
		}

		// The step of a payment is a transfer, too.
		if got := s.collect("/v1/transfers", "transfers", "transferId", bearer); len(got) != 4+n || !slices.Contains(got, "t-0") {
			t.Errorf("transfers of %s: %v", tenant, got)
		}

		if got := s.collect("/v1/payments?state=CAPTURED", "payments", "paymentId", bearer); fmt.Sprint(got) != "[p-0]" {
			t.Errorf("captured payments of %s: %v", tenant, got)
		}
	}

	bearer := s.key("acme", auth.Read)
	s.want(s.ask("GET", "/v1/accounts/none/holds", "", "Authorization", bearer), http.StatusNotFound, "account_not_found")
	s.want(s.ask("GET", "/v1/payments?state=GONE", "", "Authorization", bearer), http.StatusUnprocessableEntity, "invalid_request")

	if got := s.collect("/v1/accounts/alice/holds", "holds", "holdId", bearer); len(got) != 0 {
		t.Errorf("holds of alice: %v", got)
	}
}
