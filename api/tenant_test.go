package api_test

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ratchet/api/auth"
)

// createThings creates one thing of each kind for the tenant of the credential.
func (s *apiServer) createThings(bearer string) {
	s.t.Helper()
	create := func(status int, method, path, body string, headers ...string) answer {
		s.t.Helper()
		return s.want(s.ask(method, path, body, append(headers, "Authorization", bearer)...), status, "")
	}
	create(http.StatusOK, "PUT", "/v1/inventory/mug", `{"available":100}`)
	create(http.StatusCreated, "PUT", "/v1/orders/o-1", mugs)
	create(http.StatusOK, "POST", "/v1/orders/o-1/transitions", `{"event":"hold"}`, "Idempotency-Key", "k")
	create(http.StatusOK, "PUT", "/v1/reservations/o-1", `{"lines":[{"sku":"mug","quantity":1}]}`)
	create(http.StatusCreated, "PUT", "/v1/actions/SPRING-26", `{"expiresAt":"2030-01-01T00:00:00Z"}`)
	create(http.StatusCreated, "POST", "/v1/claims/c-1", `{}`)
	create(http.StatusCreated, "PUT", "/v1/locks/l-1", `{"holder":"h"}`)
	create(http.StatusCreated, "PUT", "/v1/accounts/bank", `{"currency":"EUR","overdraft":true}`)
	create(http.StatusCreated, "PUT", "/v1/accounts/alice", `{"currency":"EUR"}`)
	create(http.StatusCreated, "PUT", "/v1/transfers/t-1", legs(`{"account":"bank","amount":-10},{"account":"alice","amount":10}`))
	create(http.StatusCreated, "PUT", "/v1/accounts/alice/holds/h-1", `{"amount":1,"currency":"EUR"}`)
	create(http.StatusOK, "PUT", "/v1/payments/p-1", `{"orderId":"o-1","payer":"bank","payee":"alice","amount":5,"currency":"EUR"}`)
}

// The tenants are the default one, and two with a common prefix.
func TestTenantsCanUseTheSameIDs(t *testing.T) {
	s := newAPIServer(t, nil)
	for _, name := range []auth.Tenant{auth.DefaultTenant, "acme", "acme-2"} {
		bearer := s.key(name, auth.Admin)
		s.createThings(bearer) // fails if one of them exists

		for _, list := range []string{"/v1/orders", "/v1/accounts", "/v1/payments"} {
			a := s.want(s.ask("GET", list, "", "Authorization", bearer), http.StatusOK, "")
			if strings.Contains(a.text, "acme") || strings.Count(a.text, `"createdAt"`) != map[string]int{
				"/v1/orders":   1,
				"/v1/accounts": 2,
				"/v1/payments": 1,
			}[list] {
				t.Errorf("%s of %s: %s", list, name, a.text)
			}
		}

		a := s.want(s.ask("GET", "/v1/orders/o-1", "", "Authorization", bearer), http.StatusOK, "")
		if a.field("orderId") != "o-1" || strings.Contains(a.text, ":mug") {
			t.Errorf("tenant %s sees stored ids: %s", name, a.text)
		}
	}
}

// storedID matches a conversion that makes a stored id.
var storedID = regexp.MustCompile(`transitions\.OrderID\(`)

func TestOnlyTenantGoMakesStoredIDs(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}

	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}

		if strings.HasSuffix(name, "_test.go") || name == "tenant.go" {
			continue
		}

		for i, line := range strings.Split(string(text), "\n") {
			if storedID.MatchString(line) {
				t.Errorf("%s:%d makes a stored id without the tenant", name, i+1)
			}
		}
	}
}
