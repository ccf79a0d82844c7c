package api_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ratchet/api"
	"ratchet/api/auth"
)

// person returns the identity of a person with the scope.
func person(tenant auth.Tenant, scope auth.Scope) api.Identity {
	return api.Identity{Principal: auth.Principal{ID: "oidc:ann", Tenant: tenant, Scope: scope}, Via: "console"}
}

// as sends a request in the process, as the identity. Headers alternate between names and values.
func (s *apiServer) as(by api.Identity, method, path, body string, headers ...string) answer {
	s.t.Helper()

	r := httptest.NewRequestWithContext(s.t.Context(), method, "http://localhost"+path, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}

	r.Header.Set(api.ReasonHeader, "test")

	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}

	rec := httptest.NewRecorder()
	s.handler.ServeHTTP(rec, api.As(r, by))

	return s.explained(method+" "+path, answer{rec.Result(), rec.Body.String()})
}

func TestACallInTheProcessHasScopeAndTenantOfItsCaller(t *testing.T) {
	s := newAPIServer(t, nil)

	s.want(s.as(person("acme", auth.Act), "PUT", "/v1/orders/o-1", mugs), http.StatusCreated, "")
	s.want(s.as(person("acme", auth.Read), "GET", "/v1/orders/o-1", ""), http.StatusOK, "")
	s.want(s.as(person("acme", auth.Read), "PUT", "/v1/orders/o-2", mugs), http.StatusForbidden, "forbidden")
	s.want(s.as(person("acme", auth.Act), "GET", "/v1/audit", ""), http.StatusForbidden, "forbidden")
	s.want(s.as(person("evil", auth.Admin), "GET", "/v1/orders/o-1", ""), http.StatusNotFound, "order_not_found")
	s.want(s.as(person(auth.DefaultTenant, auth.Admin), "GET", "/v1/orders/o-1", ""), http.StatusNotFound, "order_not_found")

	// The same order over the network.
	s.want(s.ask("GET", "/v1/orders/o-1", "", "Authorization", s.key("acme", auth.Read)), http.StatusOK, "")

	// A credential in the request adds nothing, and one that is refused takes nothing away.
	admin := s.key("acme", auth.Admin)
	s.want(s.as(person("acme", auth.Act), "GET", "/v1/audit", "", "Authorization", admin), http.StatusForbidden, "forbidden")
	s.want(s.as(person("acme", auth.Read), "GET", "/v1/orders/o-1", "", "Authorization", "Bearer nonsense"), http.StatusOK, "")
}

func TestAnIdentityThatNamesNoCallerIsRefused(t *testing.T) {
	s := newAPIServer(t, dev)

	for about, by := range map[string]api.Identity{
		"nothing":   {},
		"no id":     {Principal: auth.Principal{Tenant: "acme", Scope: auth.Admin}},
		"no tenant": {Principal: auth.Principal{ID: "x", Scope: auth.Admin}},
		"bad name":  {Principal: auth.Principal{ID: "x", Tenant: "A:b", Scope: auth.Admin}},
		"no scope":  {Principal: auth.Principal{ID: "x", Tenant: "acme", Scope: "root"}},
		"ended":     {Principal: person("acme", auth.Admin).Principal, Valid: func(context.Context) error { return auth.ErrRefused }},
	} {
		if a := s.as(by, "GET", "/v1/orders", ""); a.StatusCode != http.StatusUnauthorized || a.code() != "unauthenticated" {
			t.Errorf("%s: %d %s", about, a.StatusCode, a.text)
		}
	}

	unknown := person("acme", auth.Admin)
	unknown.Valid = func(context.Context) error { return errors.New("no answer") }
	s.want(s.as(unknown, "GET", "/v1/orders", ""), http.StatusServiceUnavailable, "unavailable")
}

// Nothing of a request from the network becomes an identity: no header, host, target or value of a context that
// another package can set.
func TestAnIdentityCannotBeForged(t *testing.T) {
	s := newAPIServer(t, nil)
	address := onWire(t, s)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)

	for _, header := range []string{"Identity", "Identitykey", "X-Identity", "Ratchet-Identity", "X-Forwarded-User", "Remote-User", "Via"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/v1/orders", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set(header, `{"ID":"key:x","Tenant":"default","Scope":"admin"}`)

		a, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		a.Body.Close()

		if a.StatusCode != http.StatusUnauthorized {
			t.Errorf("header %s: %d", header, a.StatusCode)
		}
	}

	// A key of the same form in another package is another key.
	type identityKey struct{}
	ctx := context.WithValue(t.Context(), identityKey{}, person(auth.DefaultTenant, auth.Admin))
	s.want(s.askIn(ctx, "GET", "/v1/orders", ""), http.StatusUnauthorized, "unauthenticated")
}

// The call counts against the caller, whose key shares the limit, and for no address.
func TestACallInTheProcessCountsAgainstItsCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newAPIServer(t, func(c *api.Config) { c.Rate = 2 }) // a burst of 4

		for range 4 {
			s.want(s.as(person("acme", auth.Read), "GET", "/v1/orders", ""), http.StatusOK, "")
		}
		s.want(s.as(person("acme", auth.Read), "GET", "/v1/orders", ""), http.StatusTooManyRequests, "rate_limited")

		other := person("acme", auth.Read)
		other.ID = "oidc:bob"
		s.want(s.as(other, "GET", "/v1/orders", ""), http.StatusOK, "")

		time.Sleep(2 * time.Second)
		s.want(s.as(person("acme", auth.Read), "GET", "/v1/orders", ""), http.StatusOK, "")

		// Refused identities are no guesses of the address.
		ended := person("acme", auth.Read)
		ended.Valid = func(context.Context) error { return auth.ErrRefused }
		for range 100 {
			s.as(ended, "GET", "/v1/orders", "")
		}
		s.want(s.ask("GET", "/v1/orders", "", "Authorization", s.key("acme", auth.Read)), http.StatusOK, "")
	})
}

// Host and Origin are checked by the listener that the browser has reached.
func TestACallInTheProcessIsNotHeldAgainstTheDoor(t *testing.T) {
	s := newAPIServer(t, nil)

	loopback := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80}
	for _, inside := range []bool{true, false} {
		r := httptest.NewRequest(http.MethodGet, "http://shop.example/v1/orders", nil)
		r.Header.Set("Authorization", s.key("acme", auth.Read))
		r = r.WithContext(contextWith(r, loopback))

		want := http.StatusMisdirectedRequest
		if inside {
			r, want = api.As(r, person("acme", auth.Read)), http.StatusOK
		}

		rec := httptest.NewRecorder()
		s.handler.ServeHTTP(rec, r)

		if rec.Code != want {
			t.Errorf("in the process %t: %d %s, want %d", inside, rec.Code, rec.Body, want)
		}
	}

	// The path is still the API's own matter.
	s.want(s.as(person("acme", auth.Read), "GET", "//v1/orders", ""), http.StatusNotFound, "route_not_found")
}

func TestTheEndOfAnIdentityEndsItsEventStreams(t *testing.T) {
	for _, row := range []struct {
		about string
		after error
		ends  bool
	}{
		{"it has ended", auth.ErrRefused, true},
		{"it cannot be checked", errors.New("no answer"), true},
		{"it is valid", nil, false},
	} {
		t.Run(row.about, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newAPIServer(t, dev) // the end of an identity counts without authentication, too
				s.want(s.ask("PUT", "/v1/orders/o-1", mugs), http.StatusCreated, "")

				var later atomic.Bool
				by := person(auth.DefaultTenant, auth.Read)
				by.Valid = func(context.Context) error {
					if later.Load() {
						return row.after
					}
					return nil
				}

				f := s.followAs(t, by)
				time.Sleep(30 * time.Second)

				later.Store(true)
				time.Sleep(10 * time.Second)
				synctest.Wait()

				if f.over() != row.ends || strings.Contains(f.events(), `interrupted{"code":"unauthenticated"}`) != row.ends {
					t.Errorf("events %s, over %t, want the end %t", f.events(), f.over(), row.ends)
				}
			})
		})
	}
}

// followAs opens the event stream of order o-1 in the process. It ends with the test.
func (s *apiServer) followAs(t *testing.T, by api.Identity) *following {
	t.Helper()

	ctx, cancel := context.WithCancel(t.Context())
	r := api.As(httptest.NewRequest(http.MethodGet, "http://localhost/v1/orders/o-1/events", nil).WithContext(ctx), by)

	f := &following{header: http.Header{}, ended: make(chan struct{})}
	go func() {
		defer close(f.ended)
		s.handler.ServeHTTP(f, r)
	}()
	t.Cleanup(func() { cancel(); <-f.ended })
	synctest.Wait()

	return f
}

func TestActsSayByWhichWayTheyCame(t *testing.T) {
	s := newAPIServer(t, nil)

	s.want(s.as(person("acme", auth.Admin), "PUT", "/v1/inventory/mug", `{"available":1}`), http.StatusOK, "")
	s.want(s.ask("PUT", "/v1/inventory/mug", `{"available":2}`, "Authorization", s.key("acme", auth.Admin)), http.StatusOK, "")

	a := s.want(s.as(person("acme", auth.Admin), "GET", "/v1/audit", ""), http.StatusOK, "")
	if strings.Count(a.text, `"via":"console"`) != 1 || strings.Count(a.text, `"via":"api"`) != 1 {
		t.Errorf("%s", a.text)
	}

	if !strings.Contains(s.log.String(), `"via":"console"`) {
		t.Errorf("no audit line says it: %s", s.log.String())
	}
}
