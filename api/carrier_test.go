package api_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"ratchet/api"
	"ratchet/api/auth"
)

// reported returns the body of a callback of the carrier about an order's first shipment.
func reported(order, milestone string) string {
	return fmt.Sprintf(`{"type":"shipment.%[2]s","timestamp":"2026-11-21T12:00:00Z","data":{"id":"r/%[1]s/%[2]s","shipment":"%[1]s/{life}/2/shipping","orderId":"%[1]s","milestone":"%[2]s","tracking":"JD1"}}`, order, milestone)
}

// TestReportsOfTheCarrierMoveAnOrder: one comes before its order can take
// it, one needs a person, one never fits.
func TestReportsOfTheCarrierMoveAnOrder(t *testing.T) {
	s := newAPIServer(t, dev)
	placedAndPaid(s)

	for i, c := range []struct{ order, milestone, effect string }{
		{"o-1", "delivered", "waiting"},
		{"o-1", "booked", "applied"},
		{"o-1", "shipped", "applied"},
		{"o-1", "returned", "attention"},
		{"o-9", "shipped", "refused"},
	} {
		a := s.want(s.callbackTo("/v1/callbacks/carrier", fmt.Sprint("rep_", i), reported(c.order, c.milestone), nil), http.StatusOK, "")
		if a.field("effect") != c.effect {
			t.Errorf("%s of %s: %s, want %s", c.milestone, c.order, a.text, c.effect)
		}
	}

	if a := s.must("GET", "/v1/orders/o-1", ""); a.field("state") != "SHIPPED" {
		t.Errorf("%s", a.text)
	}

	for effect, want := range map[string]string{
		"waiting":   `"orderId":"o-1","milestone":"delivered","tracking":"JD1","effect":"waiting","reason":"the order is PAYMENT_RECEIVED"`,
		"attention": `apply deliver, and the return follows","command":"ratchet orders apply o-1 deliver"`,
		"refused":   `"orderId":"o-9","milestone":"shipped"`,
	} {
		if a := s.must("GET", "/v1/callbacks/carrier/reports?effect="+effect, ""); !strings.Contains(a.text, want) || strings.Count(a.text, `"orderId"`) != 1 {
			t.Errorf("%s: %s", effect, a.text)
		}
	}
}

func TestACallbackOfTheCarrierIsRefused(t *testing.T) {
	const path = "/v1/callbacks/carrier"
	s := newAPIServer(t, dev)

	s.want(s.callbackTo(path, "rep_1", reported("o-1", "shipped"), func(h http.Header, body []byte) []byte {
		h.Set("Webhook-Signature", "v1,AAAA")
		return body
	}), http.StatusUnauthorized, "signature_refused")

	for _, body := range []string{
		`{}`,
		`[]`,
		strings.Replace(reported("o-1", "shipped"), `"shipment.shipped"`, `"shipment.lost"`, 1),
		strings.Replace(reported("o-1", "shipped"), `"shipment":"o-1/`, `"shipment":"o-2/`, 1),
		reported("o-1", "eaten"),
	} {
		s.want(s.callbackTo(path, "rep_1", body, nil), http.StatusUnprocessableEntity, "malformed_callback")
	}

	none := newAPIServer(t, func(c *api.Config) { dev(c); c.Reports = nil })
	none.want(none.callbackTo(path, "rep_1", reported("o-1", "shipped"), nil), http.StatusNotFound, "route_not_found")
	none.want(none.ask("GET", path+"/reports", ""), http.StatusNotFound, "route_not_found")
}

// A stored report is shown to the tenant of its order only.
func TestOnlyItsTenantSeesAReportOfTheCarrier(t *testing.T) {
	s := newAPIServer(t, nil)
	s.want(s.callbackTo("/v1/callbacks/carrier", "rep_1", reported("acme:o-1", "shipped"), nil), http.StatusOK, "")

	for tenant, want := range map[auth.Tenant]string{"acme": `"orderId":"o-1"`, auth.DefaultTenant: `"reports":[]`} {
		a := s.must("GET", "/v1/callbacks/carrier/reports?effect=refused", "", "Authorization", s.key(tenant, auth.Admin))
		if !strings.Contains(a.text, want) {
			t.Errorf("tenant %s: %s, want %s", tenant, a.text, want)
		}
	}
}

// TestAPersonEndsAReportOfTheCarrier: the first closing counts, with who the credential says, and only
// its tenant ends a report.
func TestAPersonEndsAReportOfTheCarrier(t *testing.T) {
	s := newAPIServer(t, nil)
	acme, other := s.key("acme", auth.Admin), s.key(auth.DefaultTenant, auth.Admin)

	s.want(s.ask("PUT", "/v1/orders/o-1", mugs, "Authorization", acme), http.StatusCreated, "")

	for _, event := range []string{"pay", "ship"} {
		s.want(s.ask("POST", "/v1/orders/o-1/transitions", `{"event":"`+event+`"}`, "Authorization", acme, "Idempotency-Key", event), http.StatusOK, "")
	}
	s.want(s.callbackTo("/v1/callbacks/carrier", "rep_1", reported("acme:o-1", "returned"), nil), http.StatusOK, "")
	s.want(s.callbackTo("/v1/callbacks/carrier", "rep_2", reported("acme:o-9", "shipped"), nil), http.StatusOK, "")

	const list = "/v1/callbacks/carrier/reports"
	ref := base64.RawURLEncoding.EncodeToString([]byte("acme:o-1/r/acme:o-1/returned"))
	done := list + "/" + ref + "/done"
	if a := s.must("GET", list+"?effect=attention", "", "Authorization", acme); !strings.Contains(a.text, `"ref":"`+ref+`"`) {
		t.Error(a.text)
	}
	unknown := list + "/" + base64.RawURLEncoding.EncodeToString([]byte("r/other")) + "/done"
	body := `{"cause":{"text":"paid back by hand"}}`

	s.want(s.ask("POST", done, body, "Authorization", other), http.StatusNotFound, "report_not_found")
	s.want(s.ask("POST", unknown, body, "Authorization", acme), http.StatusNotFound, "report_not_found")
	s.want(s.ask("POST", done, `{"cause":{}}`, "Authorization", acme), http.StatusUnprocessableEntity, "invalid_request")
	s.want(s.ask("POST", done, `{"cause":{"text":"x","actor":"cli:ada"}}`, "Authorization", acme), http.StatusUnprocessableEntity, "invalid_request")

	first := s.want(s.ask("POST", done, body, "Authorization", acme), http.StatusOK, "")
	if !strings.HasPrefix(first.field("done", "cause", "actor"), "key:") || first.field("done", "cause", "text") != "paid back by hand" || first.field("orderId") != "o-1" {
		t.Error(first.text)
	}

	again := s.want(s.ask("POST", done, strings.Replace(body, "hand", "card", 1), "Authorization", acme), http.StatusOK, "")
	if again.text != first.text || again.Header.Get("Idempotent-Replayed") != "true" || first.Header.Get("Idempotent-Replayed") != "" {
		t.Errorf("again: %s, want %s", again.text, first.text)
	}

	for effect, want := range map[string]int{"attention": 0, "done": 1} {
		if a := s.must("GET", list+"?effect="+effect, "", "Authorization", acme); strings.Count(a.text, `"ref"`) != want {
			t.Errorf("%s: %s", effect, a.text)
		}
	}

	if a := s.want(s.callbackTo("/v1/callbacks/carrier", "rep_3", reported("acme:o-1", "returned"), nil), http.StatusOK, ""); a.field("effect") != "done" {
		t.Error(a.text)
	}
}
