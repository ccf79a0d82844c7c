package api_test

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"ratchet/api/auth"
	"ratchet/notify"
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

// madeByTheirIDs are the operations that create something under an id that is free in the tenant of the caller: a repeat with
// another tenant's id is answered as one with an id of its own.
var madeByTheirIDs = []string{
	"put-order", "set-stock", "reserve-stock", "put-action", "claim", "acquire-lock", "open-account", "post-transfer", "authorize-payment", "make-actions", "create-endpoint",
}

// ofAllTenants are parameters of what does not belong to a tenant, and of things that other tests ask for.
var ofAllTenants = map[string]string{
	"handler": "a handler is the service's", "letter": "only the default tenant may ask", "question": "a name", "ref": "only the default tenant may ask",
	"execution": "TestAnExecutionOfAnotherTenantSeemsNotToExist",
}

// foreignTarget is a request for a thing, with %s for its id.
type foreignTarget struct{ method, path, body, id string }

// foreignTargets returns a request of each operation that is about a thing of a tenant. ids has the things by the parameters of paths.
func foreignTargets(t *testing.T, ids map[string]string) (targets []foreignTarget) {
	t.Helper()

	others := strings.NewReplacer("{holdId}", "h-1", "{sku}", "mug", "{state}", "SHIPPED", "{stepId}", "c-1", "{parcelId}", "JD-1", "{transitionId}", "2",
		"{endpoint}", "shop", "{scheduledId}", "s-1", "{kind}", "shipping")

	for _, o := range operations(t) {
		parts := parameter.FindStringIndex(o.path)
		if parts == nil || o.scope == "" || slices.Contains(madeByTheirIDs, o.id) {
			continue
		}
		name := o.path[parts[0]+1 : parts[1]-1]

		if ofAllTenants[name] != "" {
			continue
		}

		id := ids[name]
		if name == "key" {
			id = ids[strings.Split(o.path, "/")[2]]
		}

		rest := others.Replace(o.path[parts[1]:])
		if id == "" || strings.Contains(rest, "{") {
			t.Errorf("%s: which %s, and the rest of %s, has the other tenant?", o.id, name, o.path)
		}

		body := ""
		if o.body {
			body = cmp.Or(validBodies[o.id], "{}")
		}
		targets = append(targets, foreignTarget{o.method, o.path[:parts[0]] + "%s" + rest, body, id})
	}

	return targets
}

// TestThingsOfOtherTenantsSeemNotToExist sends 2,500 requests, of all operations of the OpenAPI document, with ids of another tenant's
// things, and with guesses of their stored ids. Each gets the same answer, byte for byte, as the same request for a
// thing that does not exist.
func TestThingsOfOtherTenantsSeemNotToExist(t *testing.T) {
	s := newAPIServer(t, nil)
	acme := s.key("acme", auth.Admin)
	s.createThings(acme)
	s.must("PUT", "/v1/endpoints/shop", `{"destination":"log"}`, "Authorization", acme)

	notice := notify.Notification{Key: "acme:o-1/0/2/notify", OrderID: "acme:o-1", Incarnation: "0", TransitionID: 2, State: "SHIPPED", At: time.Now()}
	if err := s.cfg.Deliveries.Accept(t.Context(), notice); err != nil {
		t.Fatal(err)
	}

	var sent struct{ Deliveries []struct{ ID string } }
	s.must("GET", "/v1/orders/o-1/deliveries", "", "Authorization", acme).read(t, &sent)

	if len(sent.Deliveries) != 1 {
		t.Fatalf("%d deliveries", len(sent.Deliveries))
	}

	bearers := []string{s.key("evil", auth.Admin), s.key("acme-2", auth.Admin), s.key("acm", auth.Admin), s.key("default", auth.Admin)}
	targets := append(foreignTargets(t, map[string]string{
		"orderId": "o-1", "sku": "mug", "action": "SPRING-26", "claims": "c-1", "locks": "l-1", "accountId": "alice", "transferId": "t-1", "paymentId": "p-1",
		"endpoint": "shop", "delivery": sent.Deliveries[0].ID, "job": s.must("POST", "/v1/jobs", `{"kind":"executions-redrive"}`, "Authorization", acme).field("id"),
	}), foreignTarget{"GET", "/v1/accounts/alice/holds/%s", "", "h-1"})

	requests := *foreignRequests
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
			return s.ask(target.method, fmt.Sprintf(target.path, id), target.body, "Authorization", bearer, "Idempotency-Key", fmt.Sprint(n, id))
		}
		got, missing := send(id), send(missingID)
		sameText := clockDependent.ReplaceAllString(strings.ReplaceAll(got.text, target.id, "X"), "") == clockDependent.ReplaceAllString(strings.ReplaceAll(missing.text, "nb-"+fmt.Sprint(n), "X"), "")
		if got.StatusCode != missing.StatusCode || !sameText {
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
