package api_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"ratchet/api"
	"ratchet/api/auth"
)

// The page of an order shows its own attributes, and an event and an edit set them.
func TestTheConsoleShowsAndSetsOwnAttributes(t *testing.T) {
	s := newAPIServer(t, forPages)
	p := s.pages()
	admin := whose(auth.DefaultTenant, auth.Admin)
	admin.Personal = true
	s.must("PUT", "/v1/orders/o-1", strings.TrimSuffix(mugs, "}")+`,"own":{"shelf":{"S":"B7"},"weight":{"N":"3"}}}`)

	shows := func(who api.Identity, want ...string) {
		t.Helper()

		a := p.send(who, "GET", "/console/orders/o-1", nil)
		for _, text := range want {
			if !strings.Contains(a.text, text) {
				t.Errorf("the page does not have %q", text)
			}
		}
	}
	shows(admin, "<code>shelf</code>", "<code>B7</code>", `{&#34;N&#34;:&#34;3&#34;}`, "/act/set-own?", "/act/remove-own?")

	ungranted := admin
	ungranted.Personal = false
	if a := p.send(ungranted, "GET", "/console/orders/o-1", nil); strings.Contains(a.text, "shelf") || strings.Contains(a.text, "act/remove-own") || !strings.Contains(a.text, "[masked]") {
		t.Error("a visitor without the grant sees them")
	}

	for _, row := range []struct {
		act  string
		form url.Values
		want int
	}{
		{"set-own", url.Values{"name": {"weight"}, "value": {`{"N":"x"}`}}, http.StatusUnprocessableEntity},
		{"set-own", url.Values{"name": {"weight"}, "value": {`{"N":`}}, http.StatusUnprocessableEntity},
		{"set-own", url.Values{"name": {"weight"}, "value": {`{"N":"4"}`}}, http.StatusOK},
		{"remove-own", url.Values{"name": {"shelf"}}, http.StatusOK},
		{"apply", url.Values{"event": {"pay"}, "own": {"bay = {\"SS\":[\"a\"]}\nnote=left"}}, http.StatusOK},
	} {
		path := "/console/act/" + row.act
		form := formOn(p.send(admin, "GET", path+"?order=o-1&"+row.form.Encode(), nil))
		for name, values := range row.form {
			form[name] = values
		}
		form.Set("reason", "because")

		if a := p.send(admin, "POST", path, form); a.StatusCode != row.want {
			t.Errorf("%s %v: %d %s", row.act, row.form, a.StatusCode, a.text)
		}
	}

	if own := ownOf(t, s.ask("GET", "/v1/orders/o-1", "")); own != `{"bay":{"SS":["a"]},"note":{"S":"left"},"weight":{"N":"4"}}` {
		t.Error(own)
	}
}
