package api_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"ratchet/api"
	"ratchet/api/auth"
)

// operation is an operation of the OpenAPI document.
type operation struct {
	id, method, path string
	scope            auth.Scope // "" for a public operation
	body             bool
}

// openAPI is the document of an authenticated server. Writing it takes longer than a server and its requests, so it is written once.
var openAPI = sync.OnceValues(api.OpenAPI)

// operations returns the operations of the OpenAPI document, sorted by id. Callers do not change them.
func operations(t testing.TB) []operation {
	t.Helper()

	all, err := operationsOnce()
	if err != nil {
		t.Fatal(err)
	}

	return all
}

var operationsOnce = sync.OnceValues(func() ([]operation, error) {
	text, err := openAPI()
	if err != nil {
		return nil, err
	}

	var doc struct {
		Paths map[string]map[string]struct {
			OperationID string
			Security    []map[string][]string
			RequestBody any
		}
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		return nil, err
	}

	var all []operation
	for path, methods := range doc.Paths {
		for method, op := range methods {
			o := operation{id: op.OperationID, method: strings.ToUpper(method), path: path, body: op.RequestBody != nil}
			if len(op.Security) > 0 {
				o.scope = auth.Scope(op.Security[0]["bearer"][0])
			}
			all = append(all, o)
		}
	}
	slices.SortFunc(all, func(a, b operation) int { return strings.Compare(a.id, b.id) })

	return all, nil
})

var parameter = regexp.MustCompile(`\{[^}]+\}`)

// Every operation is called without a credential, with invalid ones, and with one of each
// scope.
func TestEveryRouteRequiresItsScope(t *testing.T) {
	if testing.Short() {
		t.Skip("one client, and every operation")
	}

	s := newAPIServer(t, nil)
	bearers := map[auth.Scope]string{
		auth.Read:  s.key("acme", auth.Read),
		auth.Act:   s.key("acme", auth.Act),
		auth.Admin: s.key("acme", auth.Admin),
	}
	rank := map[auth.Scope]int{auth.Read: 1, auth.Act: 2, auth.Admin: 3}
	for _, o := range operations(t) {
		path := parameter.ReplaceAllString(o.path, "x")
		if o.scope == "" {
			if a := s.ask(o.method, path, ""); a.StatusCode == http.StatusForbidden || a.StatusCode == http.StatusUnauthorized && !strings.HasPrefix(path, "/v1/callbacks") {
				t.Errorf("%s without a credential: %d", o.id, a.StatusCode)
			}
			continue
		}

		for name, headers := range map[string][]string{
			"no credential":         nil,
			"an invalid key":        {"Authorization", "Bearer rk_x"},
			"another scheme":        {"Authorization", "Basic YTpi"},
			"an empty header":       {"Authorization", ""},
			"a key without Bearer ": {"Authorization", bearers[auth.Admin][7:]},
		} {
			a := s.ask(o.method, path, "{}", headers...)
			if a.StatusCode != http.StatusUnauthorized || a.code() != "unauthenticated" || a.Header.Get("WWW-Authenticate") == "" {
				t.Errorf("%s with %s: %d %s", o.id, name, a.StatusCode, a.text)
			}
		}

		for scope, bearer := range bearers {
			a := s.ask(o.method, path, "{}", "Authorization", bearer)
			if may := rank[scope] >= rank[o.scope]; may == (a.StatusCode == http.StatusForbidden) || a.StatusCode == http.StatusUnauthorized {
				t.Errorf("%s (for %s) with scope %s: %d %s", o.id, o.scope, scope, a.StatusCode, a.text)
			}
		}
	}
}

// A GET needs scope read, or admin if it shows what operators see. Any other method needs
// more than read.
func TestOnlyReadingNeedsNoMoreThanScopeRead(t *testing.T) {
	for _, o := range operations(t) {
		if reads := o.method == http.MethodGet; !reads && o.scope == auth.Read || reads && o.scope == auth.Act {
			t.Errorf("%s %s requires %s", o.method, o.path, o.scope)
		}
	}
}

func TestOnlyLoopbackIsServedWithoutAuthentication(t *testing.T) {
	loopback := []string{"127.0.0.1:0", "127.9.9.9:1", "[::1]:8701", "localhost:8701"}
	others := []string{":8701", "0.0.0.0:8701", "[::]:8701", "192.0.2.1:8701", "example.com:80", "[fe80::1]:80", "127.0.0.1.example.com:80"}

	for _, address := range loopback {
		for _, open := range []bool{true, false} {
			if err := api.CheckListen(address, open); err != nil {
				t.Errorf("%s, dev %t: %v", address, open, err)
			}
		}
	}

	for _, address := range others {
		if err := api.CheckListen(address, true); err == nil {
			t.Errorf("%s without authentication was accepted", address)
		}

		if err := api.CheckListen(address, false); err != nil {
			t.Errorf("%s with authentication: %v", address, err)
		}
	}

	for _, address := range []string{"", "127.0.0.1", "8701"} {
		if api.CheckListen(address, false) == nil {
			t.Errorf("%q was accepted", address)
		}
	}
}

func TestAnInvalidConfigIsRefused(t *testing.T) {
	good := newAPIServer(t, nil).cfg
	for name, change := range map[string]func(*api.Config){
		"neither authentication nor dev": func(c *api.Config) { c.Auth = nil },
		"dev with authentication":        func(c *api.Config) { c.Dev = true },
		"no secret":                      func(c *api.Config) { c.Secret = nil },
		"no orders":                      func(c *api.Config) { c.Orders = nil },
		"no completer":                   func(c *api.Config) { c.Completer = nil },
		"a short secret":                 func(c *api.Config) { c.Secret = c.Secret[:16] },
		"a negative bound":               func(c *api.Config) { c.InFlight = -1 },
	} {
		cfg := good
		change(&cfg)

		if _, err := api.New(cfg); err == nil {
			t.Errorf("%s: was accepted", name)
		}
	}
}

// A web page whose name resolves to 127.0.0.1 sends that name as the host.
func TestDNSRebindingDoesNotReachALoopbackAddress(t *testing.T) {
	open := newAPIServer(t, dev)
	proxied := newAPIServer(t, func(c *api.Config) { c.AllowedHosts = []string{"orders.example.com"} })
	bearer := proxied.key("default", auth.Read)
	hosts := map[string]bool{
		"localhost":      true,
		"localhost:8701": true,
		"127.0.0.1:8701": true,
		"[::1]:8701":     true,
		"[::1]":          true,
		"LOCALHOST":      true,
		"0.0.0.0:8701":   true,
		"192.0.2.1":      true, // no page can have an address as its name

		"evil.example":           false,
		"evil.example:8701":      false,
		"localhost.evil.example": false,
		"127.0.0.1.nip.io":       false,
		"":                       false,
	}
	local := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8701}

	send := func(s *apiServer, host string) int {
		r := httptest.NewRequest(http.MethodGet, "http://localhost/v1/orders", nil)
		r.Host = host
		r.Header.Set("Authorization", bearer)
		r = r.WithContext(contextWith(r, local))
		rec := httptest.NewRecorder()
		s.handler.ServeHTTP(rec, r)

		return rec.Code
	}
	for host, allowed := range hosts {
		for name, s := range map[string]*apiServer{"dev": open, "with keys": proxied} {
			if got := send(s, host); (got == http.StatusOK) != allowed || !allowed && got != http.StatusMisdirectedRequest {
				t.Errorf("%s: host %q: %d", name, host, got)
			}
		}
	}

	if got := send(proxied, "orders.example.com"); got != http.StatusOK {
		t.Errorf("a configured host: %d", got)
	}
}

// Every mutating route is called with the headers that browsers send.
func TestRequestsFromOtherOriginsAreRefused(t *testing.T) {
	if testing.Short() {
		t.Skip("one client, and every operation")
	}

	s := newAPIServer(t, dev)
	for _, o := range operations(t) {
		if o.method == http.MethodGet || strings.HasPrefix(o.path, "/v1/callbacks") {
			continue
		}

		path := parameter.ReplaceAllString(o.path, "x")
		for name, c := range map[string]struct {
			headers []string
			refused bool
		}{
			"a program":                                        {nil, false},
			"a page of the same origin":                        {[]string{"Sec-Fetch-Site", "same-origin"}, false},
			"typed by the user":                                {[]string{"Sec-Fetch-Site", "none"}, false},
			"a page of another site":                           {[]string{"Sec-Fetch-Site", "cross-site"}, true},
			"a page of a sibling domain":                       {[]string{"Sec-Fetch-Site", "same-site"}, true},
			"another page in a browser that sends only Origin": {[]string{"Origin", "https://evil.example"}, true},
		} {
			a := s.ask(o.method, path, "{}", c.headers...)
			if (a.code() == "cross_origin") != c.refused {
				t.Errorf("%s from %s: %d %s", o.id, name, a.StatusCode, a.text)
			}
		}
	}
}

// TestTheGrantForPersonalDataOpensNoRoute: every operation answers with the same status with the grant and without it,
// in every scope, but for those that say where personal data go. It opens nothing that the scope does not.
func TestTheGrantForPersonalDataOpensNoRoute(t *testing.T) {
	s := newAPIServer(t, nil)
	needGrant := []string{"create-endpoint", "change-endpoint"}

	for _, scope := range []auth.Scope{auth.Read, auth.Act, auth.Admin} {
		for _, o := range operations(t) {
			if o.scope == "" {
				continue
			}

			statuses := map[bool]int{} // by the grant
			for tenant, personal := range map[auth.Tenant]bool{"acme": true, "beta": false} {
				by := person(tenant, scope) // of a tenant of its own, so that the second request repeats nothing
				by.Personal = personal

				headers := []string{"Idempotency-Key", fmt.Sprint(o.id, scope)}
				statuses[personal] = s.as(by, o.method, parameter.ReplaceAllString(o.path, "x"), "{}", headers...).StatusCode
			}

			if needs := slices.Contains(needGrant, o.id) && scope == auth.Admin; needs != (statuses[false] == http.StatusForbidden && statuses[true] != http.StatusForbidden) || !needs && statuses[true] != statuses[false] {
				t.Errorf("%s with scope %s: %d with the grant, %d without", o.id, scope, statuses[true], statuses[false])
			}
		}
	}
}
