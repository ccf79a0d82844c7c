package api_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
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

var clockDependent = regexp.MustCompile(`"(took|at)":[^,}]*`)

var foreignRequests = flag.Int("foreign-requests", 2_500, "how many requests ask for another tenant's things")

// The test sends 2,500 requests with ids of another tenant's things, and with guesses of
// their stored ids. Each gets the same answer, byte for byte, as the same request for a
// thing that does not exist.
func TestThingsOfOtherTenantsSeemNotToExist(t *testing.T) {
	s := newAPIServer(t, nil)
	s.createThings(s.key("acme", auth.Admin))

	bearers := []string{s.key("evil", auth.Admin), s.key("acme-2", auth.Admin), s.key("acm", auth.Admin), s.key("default", auth.Admin)}
	targets := []struct{ method, path, body, id string }{
		{"GET", "/v1/orders/%s", "", "o-1"},
		{"GET", "/v1/orders/%s/transitions", "", "o-1"},
		{"GET", "/v1/orders/%s/explanation", "", "o-1"},
		{"GET", "/v1/orders/%s/events", "", "o-1"},
		{"GET", "/v1/orders/%s/parked-tasks", "", "o-1"},
		{"POST", "/v1/orders/%s/transitions", `{"event":"release"}`, "o-1"},
		{"POST", "/v1/orders/%s/notes", `{"text":"x"}`, "o-1"},
		{"POST", "/v1/orders/%s/items", `{"items":[{"sku":"a","quantity":1,"price":1}]}`, "o-1"},
		{"POST", "/v1/orders/%s/reserved-items", `{"items":[{"sku":"a","quantity":1,"price":1}]}`, "o-1"},
		{"DELETE", "/v1/orders/%s/items/mug", "", "o-1"},
		{"DELETE", "/v1/orders/%s/parked-tasks/SHIPPED", "", "o-1"},
		{"POST", "/v1/orders/%s/parked-tasks/SHIPPED/complete", `{}`, "o-1"},
		{"POST", "/v1/orders/%s/parked-tasks/SHIPPED/fail", `{}`, "o-1"},
		{"GET", "/v1/inventory/%s", "", "mug"},
		{"GET", "/v1/reservations/%s", "", "o-1"},
		{"POST", "/v1/reservations/%s/commit", "", "o-1"},
		{"GET", "/v1/actions/%s", "", "SPRING-26"},
		{"POST", "/v1/actions/%s/consume", `{}`, "SPRING-26"},
		{"POST", "/v1/actions/%s/cancel", "", "SPRING-26"},
		{"GET", "/v1/claims/%s", "", "c-1"},
		{"GET", "/v1/locks/%s", "", "l-1"},
		{"GET", "/v1/accounts/%s", "", "alice"},
		{"GET", "/v1/accounts/%s/entries", "", "alice"},
		{"GET", "/v1/accounts/alice/holds/%s", "", "h-1"},
		{"GET", "/v1/accounts/%s/holds", "", "alice"},
		{"POST", "/v1/accounts/%s/close", "", "alice"},
		{"GET", "/v1/transfers/%s", "", "t-1"},
		{"GET", "/v1/payments/%s", "", "p-1"},
		{"POST", "/v1/payments/%s/void", "", "p-1"},
		{"PUT", "/v1/payments/%s/captures/c-1", `{"amount":1}`, "p-1"},
	}

	requests := *foreignRequests // each target, bearer and form of an id about five times
	if testing.Short() {
		requests = 300
	}

	random := rand.New(rand.NewPCG(1, 2))
	for n := range requests {
		target, bearer := targets[n%len(targets)], bearers[random.IntN(len(bearers))]
		format := []string{"%s", "%s", "acme:%s", "acme%%3A%s", "acme-%s", "acme.%s"}[random.IntN(6)]
		id := fmt.Sprintf(format, target.id)
		missingID := strings.Replace(id, target.id, "nb-"+fmt.Sprint(n), 1)

		send := func(id string) answer {
			return s.ask(target.method, fmt.Sprintf(target.path, id), target.body, "Authorization", bearer, "Idempotency-Key", fmt.Sprint(n))
		}
		got, missing := send(id), send(missingID)
		sameText := clockDependent.ReplaceAllString(strings.ReplaceAll(got.text, target.id, "X"), "") == clockDependent.ReplaceAllString(strings.ReplaceAll(missing.text, "nb-"+fmt.Sprint(n), "X"), "")
		if got.StatusCode != missing.StatusCode || !sameText || got.StatusCode < 400 && !strings.HasSuffix(target.path, "parked-tasks") {
			t.Fatalf("%s %s with id %s: %d %s; for a thing that does not exist: %d %s", target.method, target.path, id, got.StatusCode, got.text, missing.StatusCode, missing.text)
		}
	}

	if a := s.ask("GET", "/v1/orders/o-1", "", "Authorization", s.key("acme", auth.Read)); a.field("state") != "ON_HOLD" || a.field("contentVersion") != "0" {
		t.Errorf("another tenant changed the order: %s", a.text)
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
