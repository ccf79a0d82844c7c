package api_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ratchet/api"
	"ratchet/api/auth"
)

// A parked callback is shown to the tenant of its payment only, under the tenant's id.
func TestOnlyItsTenantSeesAParkedCallback(t *testing.T) {
	s := newAPIServer(t, nil)
	s.want(s.callback("evt-1", succeeded("acme:p-1/authorize", 5), nil), http.StatusOK, "")
	s.want(s.callback("evt-2", succeeded("p-2/authorize", 5), nil), http.StatusOK, "")

	for tenant, want := range map[auth.Tenant]string{"acme": `"paymentId":"p-1"`, auth.DefaultTenant: `"paymentId":"p-2"`, "other": `"callbacks":[]`} {
		a := s.must("GET", "/v1/callbacks/payments/parked", "", "Authorization", s.key(tenant, auth.Admin))
		if !strings.Contains(a.text, want) || strings.Count(a.text, `"eventId"`) != strings.Count(want, "paymentId") {
			t.Errorf("tenant %s: %s, want %s", tenant, a.text, want)
		}
	}
}

// A leg debits the hold of its tenant, and not one of the same id of another tenant.
func TestALegDebitsTheHoldOfItsTenant(t *testing.T) {
	s := newAPIServer(t, nil)

	bearers := map[auth.Tenant]string{}
	for _, tenant := range []auth.Tenant{auth.DefaultTenant, "acme"} {
		bearer := s.key(tenant, auth.Admin)
		bearers[tenant] = bearer
		s.must("PUT", "/v1/accounts/bank", `{"currency":"EUR","overdraft":true}`, "Authorization", bearer)
		s.must("PUT", "/v1/accounts/alice", `{"currency":"EUR"}`, "Authorization", bearer)
		s.must("PUT", "/v1/accounts/bank/holds/h-1", `{"amount":10,"currency":"EUR"}`, "Authorization", bearer)
	}

	a := s.want(s.ask("PUT", "/v1/transfers/t-1", legs(`{"account":"bank","amount":-10,"hold":"h-1"},{"account":"alice","amount":10}`), "Authorization", bearers["acme"]), http.StatusCreated, "")
	if !strings.Contains(a.text, `"hold":"h-1"`) {
		t.Errorf("%s", a.text)
	}

	for tenant, want := range map[auth.Tenant]string{auth.DefaultTenant: "active", "acme": "settled"} {
		if a := s.must("GET", "/v1/accounts/bank/holds/h-1", "", "Authorization", bearers[tenant]); a.field("status") != want {
			t.Errorf("tenant %s: %s, want %s", tenant, a.text, want)
		}
	}
}

// A credential that was valid is exempt from its address's limit of invalid ones only until
// it is refused.
func TestARevokedCredentialIsNoLongerExempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lookups := &countingAuthenticator{}
		s := newAPIServer(t, func(cfg *api.Config) {
			lookups.Authenticator = cfg.Auth
			cfg.Auth, cfg.Rate = lookups, 1000
		})

		key, token, err := s.keys.Create(t.Context(), auth.NewKey{Name: "x", Tenant: "acme", Scope: auth.Read, Expires: time.Now().Add(time.Hour)})
		if err != nil {
			t.Fatal(err)
		}
		s.must("GET", "/v1/orders", "", "Authorization", "Bearer "+string(token))

		if err := s.keys.Revoke(t.Context(), key.ID); err != nil {
			t.Fatal(err)
		}

		time.Sleep(10 * time.Second) // no instance has the key in its cache any more
		lookups.n.Store(0)

		for range 100 {
			s.ask("GET", "/v1/orders", "", "Authorization", "Bearer "+string(token))
		}

		if n := lookups.n.Load(); n != 20 {
			t.Errorf("the revoked key was looked up %d times, want 20", n)
		}
	})
}
