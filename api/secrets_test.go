package api_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"ratchet/activities/tasktoken"
	"ratchet/api/auth"
)

// The test sends at least 50 secrets: task tokens, valid and invalid API keys, PINs, tickets,
// ids and consume ids of actions, payloads, notes and addresses. No log line and no audit
// line contains a secret, and an answer contains only secrets of its owner.
func TestNoSecretIsLoggedOrReturned(t *testing.T) {
	s := newAPIServer(t, nil)
	bearer := s.key("acme", auth.Admin)
	canaries := map[string]bool{} // true if answers to the owner may contain it
	canary := func(owned bool) string {
		c := fmt.Sprintf("canary-%04d-x", len(canaries))
		canaries[c] = owned
		return c
	}
	var answers strings.Builder
	ask := func(method, path, body string, headers ...string) answer {
		a := s.ask(method, path, body, append([]string{"Authorization", bearer}, headers...)...)
		answers.WriteString(a.text)

		for name, values := range a.Header {
			answers.WriteString(name + ": " + strings.Join(values, ",") + "\n")
		}

		return a
	}

	for _, order := range []string{"o-1", "o-2", "o-3"} {
		s.want(ask("PUT", "/v1/orders/"+order, mugs), http.StatusCreated, "")
		s.park(tasktoken.Task{OrderID: "acme:" + order, Awaited: "SHIPPED", Since: 1, Token: tasktoken.Token(canary(false))})
		s.want(ask("GET", "/v1/orders/"+order+"/parked-tasks", ""), http.StatusOK, "")
	}
	ask("DELETE", "/v1/orders/o-1/parked-tasks/SHIPPED", "")
	ask("POST", "/v1/orders/o-2/parked-tasks/SHIPPED/complete", "{}")
	ask("POST", "/v1/orders/o-3/parked-tasks/SHIPPED/fail", "{}")

	for range 4 {
		for _, value := range []string{"Bearer " + canary(false), "Basic " + canary(false), "Bearer rk_aaaaaaaaaaaaaaaa_" + (canary(false) + strings.Repeat("A", 43))[:43]} {
			a := s.ask("GET", "/v1/orders?cursor="+canary(false), "", "Authorization", value)
			answers.WriteString(a.text)
		}
	}

	for _, body := range []string{`{"pin":"%s","expiresAt":"2030-01-01T00:00:00Z"}`, `{"pin":"%s","expiresAt":"x"}`, `{"pin":"%s"`, `{"PIN":"%s"}`, `{"pin":["%s"]}`} {
		ask("POST", "/v1/actions", fmt.Sprintf(body, canary(false)), "Idempotency-Key", canary(false))
	}

	id := ask("POST", "/v1/actions", fmt.Sprintf(`{"pin":"right-pin","payload":%q,"expiresAt":"2030-01-01T00:00:00Z"}`, canary(false)), "Idempotency-Key", canary(false)).field("id")
	for range 4 {
		ask("POST", "/v1/actions/"+id+"/consume", fmt.Sprintf(`{"pin":%q}`, canary(false)), "Idempotency-Key", canary(false))
	}
	ask("GET", "/v1/actions/"+canary(false), "")
	ask("POST", "/v1/actions/"+canary(false)+"/consume", "{}", "Idempotency-Key", "k")

	for range 3 {
		ask("POST", "/v1/claims/k/complete", fmt.Sprintf(`{"ticket":%q,"result":%q}`, canary(false), canary(false)))
	}
	ask("POST", "/v1/orders/o-1/notes", fmt.Sprintf(`{"by":"x","text":%q}`, canary(true)), "Idempotency-Key", canary(false))
	ask("PUT", "/v1/orders/o-1/addresses/shipping", fmt.Sprintf(`{"street":%q}`, canary(true)), "Idempotency-Key", canary(false))
	ticket := ask("POST", "/v1/claims/mine", "{}").field("ticket")
	a := s.callback("evt-1", `{"type":"`+canary(false)+`"}`, nil)
	answers.WriteString(a.text)
	s.ask("GET", "/v1/orders", "", "Authorization", bearer)

	if len(canaries) < 50 {
		t.Errorf("only %d canaries", len(canaries))
	}

	logged := s.log.String()
	for _, secret := range []string{strings.TrimPrefix(bearer, "Bearer ")[20:], id, ticket, "right-pin"} {
		if secret == "" || secret == "null" || strings.Contains(logged, secret) {
			t.Errorf("a secret is logged, or does not exist: %q", secret)
		}
	}

	for c, owned := range canaries {
		if strings.Contains(logged, c) {
			t.Errorf("%s is logged: %s", c, regexp.MustCompile(`.{0,200}`+c).FindString(logged))
		}

		if !owned && strings.Contains(answers.String(), c) {
			t.Errorf("%s is in an answer: %s", c, regexp.MustCompile(`.{0,200}`+c).FindString(answers.String()))
		}
	}
}

// There is one audit line per request that may change something, and none for a request that
// only reads.
func TestEveryMutatingRequestIsAudited(t *testing.T) {
	s := newAPIServer(t, nil)
	act := s.key("acme", auth.Act)
	s.ask("PUT", "/v1/orders/o-1", mugs, "Authorization", act)
	s.ask("POST", "/v1/orders/o-1/transitions", `{"event":"ship"}`, "Authorization", act, "Idempotency-Key", "k")
	s.ask("PUT", "/v1/inventory/mug", `{"available":1}`, "Authorization", act)
	s.ask("PUT", "/v1/orders/o-2", mugs)
	s.ask("GET", "/v1/orders/o-1", "", "Authorization", act)

	var lines []string
	for line := range strings.Lines(s.log.String()) {
		if strings.Contains(line, `"msg":"audit"`) {
			lines = append(lines, line)
		}
	}

	for i, want := range []string{
		`"caller":"key:[a-z2-7]{16}","tenant":"acme","operation":"put-order","status":201,"outcome":"done".*"orderId":"o-1"`,
		`"tenant":"acme","operation":"apply-transition","status":409,"outcome":"wrong_state".*"orderId":"o-1","idempotencyKeyHash":"[0-9a-f]{16}"`,
		`"operation":"set-stock","status":403,"outcome":"forbidden".*"sku":"mug"`,
		`"caller":"","tenant":"","operation":"put-order","status":401,"outcome":"unauthenticated"`,
	} {
		if i >= len(lines) || !regexp.MustCompile(want).MatchString(lines[i]) {
			t.Errorf("line %d does not match %s\n%v", i, want, lines)
		}
	}

	if len(lines) != 4 {
		t.Errorf("%d audit lines, want 4", len(lines))
	}
}
