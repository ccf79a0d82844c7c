package api_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/api"
	"ratchet/api/auth"
	"ratchet/embedded/embeddedtest"
	"ratchet/operate/audit"
	"ratchet/operate/inspect"
	"ratchet/operate/processes"
)

// Why operations leave no row in the audit table.
const (
	byServices = "services request it for each piece of work; the order, payment, claim or action has its own record"
	signed     = "it is public and signed by the sender"
	asks       = "it changes nothing"
)

// notActs are the operations with another method than GET and without a row in the audit table.
var notActs = map[string]string{
	"acquire-lock":                  byServices,
	"add-items":                     byServices,
	"add-note":                      byServices,
	"set-own":                       byServices,
	"schedule-transition":           byServices,
	"move-scheduled-transition":     byServices,
	"withdraw-scheduled-transition": byServices,
	"add-reserved-items":            byServices,
	"apply-transition":              byServices,
	"authorize-payment":             byServices,
	"cancel-action":                 byServices,
	"capture-payment":               byServices,
	"change-item":                   byServices,
	"claim":                         byServices,
	"commit-stock":                  byServices,
	"complete-claim":                byServices,
	"consume-action":                byServices,
	"create-action":                 byServices,
	"create-order":                  byServices,
	"extend-claim":                  byServices,
	"fail-claim":                    byServices,
	"hold-money":                    byServices,
	"make-actions":                  byServices,
	"post-transfer":                 byServices,
	"put-action":                    byServices,
	"put-order":                     byServices,
	"refund-payment":                byServices,
	"release-action":                byServices,
	"release-claim":                 byServices,
	"release-hold":                  byServices,
	"release-stock":                 byServices,
	"remove-item":                   byServices,
	"reserve-action":                byServices,
	"reserve-stock":                 byServices,
	"set-address":                   byServices,
	"ship-parcel":                   byServices,
	"void-payment":                  byServices,
	"plan-migration":                asks,
	"payment-callback":              signed, "carrier-callback": signed,
}

// acts returns the rows of the audit table.
func (s *apiServer) acts() []audit.Entry {
	s.t.Helper()

	found, next, err := s.cfg.Acts.List(context.Background(), audit.Filter{Since: time.Now().Add(-time.Hour)}, "", 1000)
	if err != nil || next != "" {
		s.t.Fatal(err, next)
	}

	return found
}

// TestEveryAdministrativeRequestIsAnAct sends one request to each operation that changes something.
// Most are refused, which is written down, too.
func TestEveryAdministrativeRequestIsAnAct(t *testing.T) {
	if testing.Short() {
		t.Skip("one client, and every operation")
	}

	s := newAPIServer(t, nil)
	bearer := s.key(auth.DefaultTenant, auth.Admin)
	unused := map[string]bool{}

	for id := range notActs {
		unused[id] = true
	}

	for _, op := range operations(t) {
		if op.method == http.MethodGet {
			continue
		}

		body := ""
		if op.body {
			body = "{}"
		}

		before := len(s.acts())
		a := s.ask(op.method, parameter.ReplaceAllString(op.path, "x-1"), body, "Authorization", bearer, "Idempotency-Key", "k-"+op.id)
		rows := s.acts()[before:]

		if op.scope != auth.Admin {
			if _, known := notActs[op.id]; !known || len(rows) != 0 {
				t.Errorf("%s (scope %q): %d rows, in notActs: %t", op.id, op.scope, len(rows), known)
			}
			delete(unused, op.id)

			continue
		}

		if len(rows) != 1 {
			t.Errorf("%s: %d rows, want 1", op.id, len(rows))
			continue
		}

		row := rows[0]
		done := row.Result == audit.Done && a.StatusCode < 400 || row.Result == audit.Refused && a.StatusCode >= 400 && row.Code == a.code()
		if row.Act != op.id || !done || !strings.HasPrefix(row.Who, "key:") || row.Via != "api" || row.Request != a.Header.Get("X-Request-Id") {
			t.Errorf("%s was answered %d %s: row %+v", op.id, a.StatusCode, a.text, row)
		}

		if strings.Contains(op.path, "{") && !strings.Contains(row.On, "x-1") {
			t.Errorf("%s: the row does not say on what it was done: %q", op.id, row.On)
		}
	}

	for id := range unused {
		t.Errorf("notActs has %s, which is no operation", id)
	}
}

// TestAnActIsRefusedWithoutItsRow: services go on meanwhile.
func TestAnActIsRefusedWithoutItsRow(t *testing.T) {
	s := newAPIServer(t, dev)
	s.want(s.ask("PUT", "/v1/orders/o-1", mugs), http.StatusCreated, "")

	if _, err := s.db.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: aws.String("audit")}); err != nil {
		t.Fatal(err)
	}

	s.want(s.ask("PUT", "/v1/inventory/mug", `{"available":5}`), http.StatusServiceUnavailable, "audit_unavailable")
	s.want(s.ask("GET", "/v1/inventory/mug", ""), http.StatusNotFound, "sku_not_found")
	s.want(s.ask("PUT", "/v1/orders/o-2", mugs), http.StatusCreated, "")
}

// TestACrashLeavesTheBegunRow: the process dies, or loses its table, before the result is written.
func TestACrashLeavesTheBegunRow(t *testing.T) {
	s := newAPIServer(t, dev)
	match := func(c *embeddedtest.Call) bool { return strings.Contains(string(c.Body()), `"audit"`) }
	fault := embeddedtest.Answer("AccessDeniedException", "UpdateItem")
	fault.Match = match
	s.transport.Inject(fault)

	s.want(s.ask("PUT", "/v1/inventory/mug", `{"available":5}`), http.StatusOK, "")

	if rows := s.acts(); len(rows) != 1 || rows[0].Result != audit.Begun || rows[0].On != "mug" {
		t.Errorf("rows: %+v", rows)
	}
}

func TestActsAreListedForTheirTenant(t *testing.T) {
	s := newAPIServer(t, nil)
	own, other := s.key(auth.DefaultTenant, auth.Admin), s.key("acme", auth.Admin)

	for _, sku := range []string{"mug", "cap", "pen"} {
		s.want(s.ask("PUT", "/v1/inventory/"+sku, `{"available":5}`, "Authorization", own), http.StatusOK, "")
	}
	s.want(s.ask("PUT", "/v1/inventory/acme-1", `{"available":5}`, "Authorization", other), http.StatusOK, "")

	on := func(path, bearer string) (ids []string, next string) {
		var page struct {
			Acts []struct{ On string }
			Next string
		}
		s.want(s.ask("GET", path, "", "Authorization", bearer), http.StatusOK, "").read(t, &page)

		for _, a := range page.Acts {
			ids = append(ids, a.On)
		}

		return ids, page.Next
	}

	first, next := on("/v1/audit?limit=2", own)
	rest, end := on("/v1/audit?limit=2&cursor="+next, own)
	if got := strings.Join(append(first, rest...), " "); got != "mug cap pen" || end != "" {
		t.Errorf("the default tenant's: %q, next %q", got, end)
	}

	if got, _ := on("/v1/audit", other); strings.Join(got, " ") != "acme-1" {
		t.Errorf("the other tenant's: %q", got)
	}

	if got, _ := on("/v1/audit?on=cap&act=set-stock", own); strings.Join(got, " ") != "cap" {
		t.Errorf("on cap: %q", got)
	}
	s.want(s.ask("GET", "/v1/audit?since=2000-01-01T00:00:00Z", "", "Authorization", own), http.StatusUnprocessableEntity, "invalid_request")
}

func TestTheStatusIsForTheDefaultTenant(t *testing.T) {
	s := newAPIServer(t, func(c *api.Config) {
		c.Status = func(context.Context) (inspect.SystemStatus, error) {
			return inspect.SystemStatus{
				Problems:  []inspect.SystemProblem{{Area: "stream", Text: "behind", Action: "look"}},
				Processes: []processes.Process{{ID: "p", State: processes.Live, Rates: map[string]float64{"transitions": 2}}},
				Rates:     map[string]float64{"transitions": 2},
				Quotas:    []inspect.QuotaUse{{Name: "StartExecution", Of: "account", Used: 3, Quota: 300, Percent: 1, Source: "https://docs.aws.amazon.com/"}},
				Stuck:     &processes.Survey{At: time.Now(), Stuck: map[string]int{"failed": 3}},
			}, nil
		}
	})

	s.want(s.ask("GET", "/v1/status", "", "Authorization", s.key("acme", auth.Admin)), http.StatusForbidden, "forbidden")

	a := s.want(s.ask("GET", "/v1/status", "", "Authorization", s.key(auth.DefaultTenant, auth.Admin)), http.StatusOK, "")
	if a.field("ok") != "false" || a.field("stuckOrders", "failed") != "3" || !strings.Contains(a.text, `"state":"live"`) ||
		!strings.Contains(a.text, `"quotas":[{"name":"StartExecution","of":"account","used":3,"quota":300,"percent":1,"source":"https://docs.aws.amazon.com/"}]`) {
		t.Errorf("%s", a.text)
	}
}
