package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/api"
	"ratchet/api/auth"
	"ratchet/operate/audit"
)

// TestAnActNeedsAReason sends each operation of an administrator that changes something without a reason.
func TestAnActNeedsAReason(t *testing.T) {
	if testing.Short() {
		t.Skip("one client, and every operation")
	}

	s := newAPIServer(t, nil)
	bearer := s.key(auth.DefaultTenant, auth.Admin)
	refused := func(o operation, reason, code string) {
		t.Helper()

		a := s.ask(o.method, parameter.ReplaceAllString(o.path, "x-1"), "{}", "Authorization", bearer, api.ReasonHeader, reason)
		if o.method == http.MethodGet || o.scope != auth.Admin {
			if strings.Contains(a.text, api.ReasonHeader) {
				t.Errorf("%s asks for a reason: %s", o.id, a.text)
			}

			return
		}

		if a.StatusCode != http.StatusUnprocessableEntity || a.code() != code || !strings.Contains(a.text, api.ReasonHeader) {
			t.Errorf("%s with the reason %q: %d %s, want %s", o.id, reason, a.StatusCode, a.text, code)
		}
	}

	for _, o := range operations(t) {
		refused(o, "", "reason_missing")
		refused(o, " ", "reason_missing")
	}

	for _, o := range operations(t) {
		if o.id != "set-stock" {
			continue
		}

		refused(o, strings.Repeat("ä", audit.MaxText/2)+"x", "invalid_request")
		refused(o, "a\x01b", "invalid_request")
		refused(o, "a\xff", "invalid_request")
		refused(o, "as [masked] wishes", "invalid_request")
	}

	if rows := s.acts(); len(rows) != 0 {
		t.Errorf("refused requests are acts: %+v", rows)
	}

	longest := strings.Repeat("ä", audit.MaxText/2)
	s.want(s.ask("PUT", "/v1/inventory/mug", `{"available":1}`, "Authorization", bearer, api.ReasonHeader, longest), http.StatusOK, "")

	if rows := s.acts(); len(rows) != 1 || rows[0].Reason != longest {
		t.Errorf("rows: %+v", rows)
	}
}

// TestWhatComesThroughTheConsoleOrAJobIsAnAct: with a scope that leaves no row when a service sends the request.
func TestWhatComesThroughTheConsoleOrAJobIsAnAct(t *testing.T) {
	s := newAPIServer(t, nil)

	for _, via := range []string{"console", "job"} {
		by := person("acme", auth.Act)
		by.Via = via
		order := "/v1/orders/" + via

		s.want(s.as(by, "PUT", order, mugs, api.ReasonHeader, ""), http.StatusUnprocessableEntity, "reason_missing")
		s.want(s.as(by, "GET", order, "", api.ReasonHeader, ""), http.StatusNotFound, "order_not_found")

		before := len(s.acts())
		s.want(s.as(by, "PUT", order, mugs, api.ReasonHeader, "by telephone"), http.StatusCreated, "")

		rows := s.acts()[before:]
		if len(rows) != 1 || rows[0].Via != via || rows[0].Act != "put-order" || rows[0].On != via || rows[0].Reason != "by telephone" || rows[0].Tenant != "acme" || rows[0].Result != audit.Done {
			t.Errorf("rows: %+v", rows)
		}
	}

	// A service's request needs none, and leaves none.
	before := len(s.acts())
	s.want(s.ask("PUT", "/v1/orders/o-9", mugs, "Authorization", s.key("acme", auth.Act), api.ReasonHeader, ""), http.StatusCreated, "")

	if rows := s.acts()[before:]; len(rows) != 0 {
		t.Errorf("rows: %+v", rows)
	}

	// Without its row nothing is done.
	if _, err := s.db.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: aws.String("audit")}); err != nil {
		t.Fatal(err)
	}
	s.want(s.as(person("acme", auth.Act), "PUT", "/v1/orders/o-10", mugs), http.StatusServiceUnavailable, "audit_unavailable")
	s.want(s.as(person("acme", auth.Read), "GET", "/v1/orders/o-10", ""), http.StatusNotFound, "order_not_found")
}
