package api_test

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"

	"ratchet/api"
	"ratchet/api/auth"
	"ratchet/streams"
)

// aJob is the setup of a request about a job.
func aJob(s *apiServer) string {
	return strings.Trim(s.must("POST", "/v1/jobs", `{"kind":"orders-erase","ids":["o-1"]}`).field("id"), `"`)
}

func TestJobsAreCreatedAndChangedOverTheAPI(t *testing.T) {
	s := newAPIServer(t, func(c *api.Config) { c.Handlers = []streams.Handler{{Name: "notify", Handle: refuses}} })
	own, acme, other := s.key(auth.DefaultTenant, auth.Admin), s.key("acme", auth.Admin), s.key("other", auth.Admin)

	ask := func(bearer, method, path, body string, status int, code string) answer {
		t.Helper()
		return s.want(s.ask(method, path, body, "Authorization", bearer, api.ReasonHeader, "the bank was down"), status, code)
	}

	a := ask(acme, "POST", "/v1/jobs", `{"kind":"executions-redrive","filter":{"error":"Order.Unavailable"},"dryRun":true}`, http.StatusOK, "")
	id := strings.Trim(a.field("id"), `"`)
	if a.field("state") != "waiting" || a.field("dryRun") != "true" || a.field("rate") != "10" || !strings.Contains(a.text, "the bank was down") && !strings.Contains(a.text, "[masked]") {
		t.Errorf("created: %s", a.text)
	}

	if a := ask(acme, "POST", "/v1/jobs", `{"kind":"executions-redrive"}`, http.StatusConflict, "job_open"); !strings.Contains(a.text, id) {
		t.Errorf("the problem does not name the open job: %s", a.text)
	}
	ask(other, "POST", "/v1/jobs", `{"kind":"executions-redrive"}`, http.StatusOK, "")

	// Handlers belong to all tenants.
	ask(acme, "POST", "/v1/jobs", `{"kind":"dead-letters-discard","filter":{"handler":"notify"}}`, http.StatusForbidden, "forbidden")
	ask(own, "POST", "/v1/jobs", `{"kind":"dead-letters-discard","filter":{"handler":"notify"}}`, http.StatusOK, "")
	ask(own, "POST", "/v1/jobs", `{"kind":"dead-letters-redrive","filter":{"handler":"none"}}`, http.StatusNotFound, "handler_not_found")
	ask(s.keyOf(auth.NewKey{Tenant: auth.DefaultTenant, Scope: auth.Admin}), "POST", "/v1/jobs", `{"kind":"dead-letters-redrive","filter":{"handler":"notify","error":"Bonn"}}`, http.StatusForbidden, "forbidden")

	ask(acme, "POST", "/v1/jobs", `{"kind":"orders-erase"}`, http.StatusUnprocessableEntity, "invalid_request")
	ask(acme, "POST", "/v1/jobs", `{"kind":"deliveries-resend","ids":["!"]}`, http.StatusUnprocessableEntity, "invalid_request")

	// A migration has what the worker needs, and is the default tenant's.
	ask(acme, "POST", "/v1/jobs", `{"kind":"orders-migrate","migration":{}}`, http.StatusForbidden, "forbidden")
	ask(own, "POST", "/v1/jobs", `{"kind":"orders-migrate"}`, http.StatusUnprocessableEntity, "invalid_request")
	ask(own, "POST", "/v1/jobs", `{"kind":"orders-erase","filter":{"endedBefore":"2020-01-01T00:00:00Z"},"migration":{}}`, http.StatusUnprocessableEntity, "invalid_request")
	ask(own, "POST", "/v1/jobs", `{"kind":"orders-migrate","migration":{"mapping":"x: y"}}`, http.StatusUnprocessableEntity, "invalid_request")

	if a := ask(own, "POST", "/v1/jobs", `{"kind":"orders-migrate","migration":{"definitions":[],"mapping":"migrations: []"},"dryRun":true}`, http.StatusOK, ""); !strings.Contains(a.text, `"migration":{"workflow":"`+s.cfg.Orders.Definition().Name()+`"`) {
		t.Errorf("a migration: %s", a.text)
	}

	// The id of an order may have 256 bytes, each of which may be three in an id of its delivery.
	long := base64.RawURLEncoding.EncodeToString([]byte(strings.Repeat("%C3", 256) + "/06h28dad60fds/2/" + strings.Repeat("e", 64)))
	ask(other, "POST", "/v1/jobs", `{"kind":"deliveries-resend","ids":["`+long+`"]}`, http.StatusOK, "")
	ask(other, "GET", "/v1/deliveries/"+long, "", http.StatusNotFound, "delivery_not_found")

	// The default tenant has no way to the orders of others.
	for _, id := range []string{"acme:o-1", `a\u0000`, ""} {
		ask(own, "POST", "/v1/jobs", `{"kind":"orders-erase","ids":["`+id+`"]}`, http.StatusUnprocessableEntity, "invalid_request")
	}

	// Another tenant's job is no job.
	ask(other, "GET", "/v1/jobs/"+id, "", http.StatusNotFound, "job_not_found")
	ask(other, "POST", "/v1/jobs/"+id+"/stop", "", http.StatusNotFound, "job_not_found")
	ask(s.key("acme", auth.Act), "POST", "/v1/jobs/"+id+"/stop", "", http.StatusForbidden, "forbidden")

	for _, row := range []struct{ verb, state string }{{"pause", "paused"}, {"resume", "waiting"}, {"stop", "stopped"}, {"stop", "stopped"}} {
		if a := ask(acme, "POST", "/v1/jobs/"+id+"/"+row.verb, "", http.StatusOK, ""); a.field("state") != row.state {
			t.Errorf("%s: %s", row.verb, a.text)
		}
	}
	ask(acme, "POST", "/v1/jobs/"+id+"/resume", "", http.StatusConflict, "job_state")

	if a := ask(acme, "GET", "/v1/jobs", "", http.StatusOK, ""); strings.Count(a.text, `"id"`) != 1 || !strings.Contains(a.text, id) {
		t.Errorf("the list: %s", a.text)
	}
}
