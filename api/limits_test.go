package api_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ratchet/api"
	"ratchet/api/auth"
)

func TestEachCallerHasARateLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newAPIServer(t, func(cfg *api.Config) { cfg.Rate = 2 })
		one, other := s.key("acme", auth.Read), s.key("acme", auth.Read)

		for range 4 {
			s.want(s.ask("GET", "/v1/orders", "", "Authorization", one), http.StatusOK, "")
		}

		if a := s.want(s.ask("GET", "/v1/orders", "", "Authorization", one), http.StatusTooManyRequests, "rate_limited"); a.Header.Get("Retry-After") != "1" {
			t.Errorf("Retry-After %q, want 1", a.Header.Get("Retry-After"))
		}
		s.want(s.ask("GET", "/v1/orders", "", "Authorization", other), http.StatusOK, "")
		time.Sleep(500 * time.Millisecond)
		s.want(s.ask("GET", "/v1/orders", "", "Authorization", one), http.StatusOK, "")
		s.want(s.ask("GET", "/v1/orders", "", "Authorization", one), http.StatusTooManyRequests, "rate_limited")
	})
}

// All keys of a tenant share its limit, which other tenants do not feel. A request without a valid
// credential is charged to no tenant.
func TestEachTenantHasARateLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newAPIServer(t, func(cfg *api.Config) {
			cfg.TenantRate, cfg.TenantRates = 1, map[string]float64{"big": 3, "free": -1}
		})

		// spend sends requests with two keys of the tenant and returns how many were served.
		spend := func(one, other string) (served int) {
			for i := range 40 {
				a := s.ask("GET", "/v1/orders", "", "Authorization", []string{one, other}[i%2])
				if a.StatusCode == http.StatusOK {
					served++
					continue
				}

				if s.want(a, http.StatusTooManyRequests, "rate_limited"); a.Header.Get("Retry-After") != "1" {
					t.Errorf("Retry-After %q, want 1", a.Header.Get("Retry-After"))
				}
			}

			return served
		}

		forged := "Bearer " + strings.Repeat("x", 40)
		for range 10 {
			s.want(s.ask("GET", "/v1/orders", "", "Authorization", forged), http.StatusUnauthorized, "unauthenticated")
		}

		for tenant, want := range map[string][2]int{"acme": {2, 1}, "other": {2, 1}, "big": {6, 3}, "free": {40, 40}} {
			one, other := s.key(auth.Tenant(tenant), auth.Read), s.key(auth.Tenant(tenant), auth.Read)
			time.Sleep(time.Minute)

			got := [2]int{spend(one, other)}
			time.Sleep(time.Second)
			got[1] = spend(one, other)

			if got != want {
				t.Errorf("%s: %v served at once and a second later, want %v", tenant, got, want)
			}
		}
	})
}

func TestInvalidCredentialsAreRateLimitedByAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newAPIServer(t, func(cfg *api.Config) { cfg.Rate = 100 })
		good, fresh := s.key("acme", auth.Read), s.key("acme", auth.Read)
		s.want(s.ask("GET", "/v1/orders", "", "Authorization", good), http.StatusOK, "")

		codes := map[string]int{}
		for range 100 {
			codes[s.ask("GET", "/v1/orders", "", "Authorization", "Bearer rk_aaaaaaaaaaaaaaaa_"+strings.Repeat("A", 43)).code()]++
		}

		if codes["unauthenticated"] != 20 || codes["rate_limited"] != 80 {
			t.Errorf("answers by code: %v", codes)
		}
		s.want(s.ask("GET", "/v1/orders", "", "Authorization", good), http.StatusOK, "") // was valid before, and may share the address with the attacker
		s.want(s.ask("GET", "/v1/orders", "", "Authorization", fresh), http.StatusTooManyRequests, "rate_limited")
		time.Sleep(time.Second)
		s.want(s.ask("GET", "/v1/orders", "", "Authorization", fresh), http.StatusOK, "")
	})
}

// countingAuthenticator counts the credentials that are looked up.
type countingAuthenticator struct {
	auth.Authenticator
	n atomic.Int64
}

func (c *countingAuthenticator) Authenticate(ctx context.Context, token string) (auth.Principal, error) {
	c.n.Add(1)
	return c.Authenticator.Authenticate(ctx, token)
}

// Beyond the limit of its address, an invalid credential costs no read. A revoked credential
// loses its exemption from that limit.
func TestCredentialsBeyondTheLimitAreNotLookedUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lookups := &countingAuthenticator{}

		s := newAPIServer(t, func(cfg *api.Config) {
			lookups.Authenticator = cfg.Auth
			cfg.Auth, cfg.Rate = lookups, 100
		})
		for i := range 1000 {
			s.ask("GET", "/v1/orders", "", "Authorization", fmt.Sprintf("Bearer rk_aaaaaaaaaaaaaaaa_%043d", i))
		}

		if n := lookups.n.Load(); n != 20 {
			t.Errorf("%d credentials were looked up, want 20", n)
		}
		time.Sleep(time.Minute)

		key, token, err := s.keys.Create(t.Context(), auth.NewKey{Name: "test", Tenant: "acme", Scope: auth.Read})
		if err != nil {
			t.Fatal(err)
		}

		if err := s.keys.Revoke(t.Context(), key.ID); err != nil {
			t.Fatal(err)
		}
		lookups.n.Store(0)

		for range 100 {
			s.ask("GET", "/v1/orders", "", "Authorization", "Bearer "+string(token))
		}

		if n := lookups.n.Load(); n != 20 {
			t.Errorf("a revoked key was looked up %d times, want 20", n)
		}
	})
}

// newOccupiedServer returns a server whose only slot has a request. leave lets the requests end, and waits
// for that one.
func newOccupiedServer(t *testing.T) (s *apiServer, leave func()) {
	t.Helper()

	entered, proceed := make(chan struct{}, 10), make(chan struct{})
	s = newAPIServer(t, func(cfg *api.Config) {
		dev(cfg)
		cfg.InFlight = 1
		cfg.Start = blockingStart(entered, proceed)
	})

	var group sync.WaitGroup
	group.Go(func() { s.want(s.ask("PUT", "/v1/orders/o-1", mugs), http.StatusCreated, "") })
	<-entered

	return s, func() { close(proceed); group.Wait() }
}

// An id that looks like the path of a probe does not bypass the limit.
func TestOnlyTheProbesBypassTheLoadShedder(t *testing.T) {
	t.Parallel() // refused requests have waited for a second

	s, leave := newOccupiedServer(t)

	var refused sync.WaitGroup
	for _, path := range []string{"/v1/orders/z", "/v1/orders/readyz", "/v1/inventory/healthz", "/v1/orders/o-z"} {
		refused.Go(func() { s.want(s.ask("GET", path, ""), http.StatusServiceUnavailable, "overloaded") })
	}
	refused.Wait()
	s.want(s.ask("GET", "/healthz", ""), http.StatusOK, "")
	s.want(s.ask("GET", "/readyz", ""), http.StatusOK, "")
	leave()
}

// The callers have taken all of their slots.
func TestCallbacksHaveSlotsOfTheirOwn(t *testing.T) {
	s, leave := newOccupiedServer(t)

	s.want(s.callback("evt-1", `{"type":"payout.paid","data":"any"}`, nil), http.StatusOK, "")
	leave()
}

// One request occupies the only slot, and two the places in the queue.
func TestRequestsBeyondTheQueueAreShed(t *testing.T) {
	s, leave := newOccupiedServer(t)

	var group sync.WaitGroup

	shed := make(chan answer, 20)
	for range 20 {
		group.Go(func() { shed <- s.ask("PUT", "/v1/orders/o-2", mugs) })
	}

	for range 18 { // two of them wait, and may be refused only after a second
		if a := <-shed; a.StatusCode != http.StatusServiceUnavailable || a.code() != "overloaded" || a.Header.Get("Retry-After") == "" {
			t.Errorf("%d %s", a.StatusCode, a.text)
		}
	}
	s.want(s.ask("GET", "/healthz", ""), http.StatusOK, "")
	leave()
	group.Wait()
}

// onWire serves the API on a TCP address, and returns the address.
func onWire(t *testing.T, s *apiServer) string {
	t.Helper()
	server := api.Server(s.handler)

	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close(); <-ended })

	return listener.Addr().String()
}

// raw sends the bytes on a new connection and returns the answer.
func raw(t *testing.T, address, text string) string {
	t.Helper()

	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()

	if _, err := conn.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}

	if half, ok := conn.(*net.TCPConn); ok {
		_ = half.CloseWrite()
	}
	_ = conn.SetReadDeadline(time.Now().Add(2 * time.Minute))
	out, _ := io.ReadAll(conn) // a connection that is reset is an answer, too

	return string(out)
}

// Two servers could read each of these requests differently. None succeeds, and no order is
// created.
func TestRequestSmugglingIsRefused(t *testing.T) {
	s := newAPIServer(t, dev)

	address := onWire(t, s)
	put := "PUT /v1/orders/smuggled HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
	inner := put + fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(mugs), mugs)
	for name, text := range map[string]string{
		"two lengths":              put + fmt.Sprintf("Content-Length: 0\r\nContent-Length: %d\r\n\r\n%s", len(mugs), mugs),
		"a length and chunks":      put + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"two encodings":            put + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
		"an unknown encoding":      put + "Transfer-Encoding: xchunked\r\n\r\n" + mugs,
		"a blank before the colon": put + "Content-Length : 5\r\n\r\n" + mugs,
		"a folded header":          put + "X-A: b\r\n Content-Length: 5\r\n\r\n" + mugs,
		"a bare line feed inside":  "PUT /v1/orders/smuggled HTTP/1.1\r\nHost: localhost\r\nX-A: b\x00c\r\n\r\n",
		"a negative length":        put + "Content-Length: -1\r\n\r\n" + mugs,
		"a length with a plus":     put + fmt.Sprintf("Content-Length: +%d\r\n\r\n%s", len(mugs), mugs),
		"a huge chunk":             put + "Transfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFF\r\n" + mugs,
		"two hosts":                "PUT /v1/orders/smuggled HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n",
		"no host":                  "PUT /v1/orders/smuggled HTTP/1.1\r\n\r\n",
		"another protocol":         "PUT /v1/orders/smuggled HTTP/9.9\r\nHost: localhost\r\n\r\n",
		"a request in a GET":       "GET /v1/orders HTTP/1.1\r\nHost: evil.example\r\n" + fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(inner), inner),
		"headers of 17 KiB":        put + "X-A: " + strings.Repeat("a", 24<<10) + "\r\n\r\n",
		"a long path":              "GET /v1/orders/" + strings.Repeat("a", 24<<10) + " HTTP/1.1\r\nHost: localhost\r\n\r\n",
	} {
		out := raw(t, address, text)
		if strings.Contains(out, "HTTP/1.1 2") {
			t.Errorf("%s: %.200s", name, out)
		}
	}
	s.want(s.ask("GET", "/v1/orders/smuggled", ""), http.StatusNotFound, "order_not_found")
}

func TestTheSizeOfABodyIsBounded(t *testing.T) {
	s := newAPIServer(t, dev)
	address := onWire(t, s)
	put := "PUT /v1/orders/big HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
	if out := raw(t, address, put+"Content-Length: 999999999999\r\n\r\n{"); !strings.Contains(out, " 413 ") || !strings.Contains(out, "body_too_large") {
		t.Errorf("an announced terabyte: %.200s", out)
	}

	var chunks strings.Builder
	for range 300 {
		chunks.WriteString("400\r\n" + strings.Repeat("a", 1024) + "\r\n")
	}

	if out := raw(t, address, put+"Transfer-Encoding: chunked\r\n\r\n"+chunks.String()+"0\r\n\r\n"); !strings.Contains(out, " 413 ") {
		t.Errorf("300 KiB in chunks: %.200s", out)
	}

	fits := `{"total":{"amount":1,"currency":"EUR"}}` + strings.Repeat(" ", 256<<10-39)
	if a := s.ask("PUT", "/v1/orders/fits", fits); a.StatusCode != http.StatusCreated {
		t.Errorf("256 KiB: %d %s", a.StatusCode, a.text)
	}

	if a := s.ask("PUT", "/v1/orders/over", fits+" "); a.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("256 KiB and a byte: %d", a.StatusCode)
	}

	if out := raw(t, address, put+"Content-Length: 100\r\n\r\n{\"total\""); !strings.Contains(out, " 400 ") || !strings.Contains(out, "malformed_request") {
		t.Errorf("a body that breaks off: %.300s", out)
	}
}

// pipes accepts connections that are in memory, so that their deadlines are those of a bubble.
type pipes struct {
	accepted chan net.Conn
	closed   chan struct{}
}

func (p pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.accepted:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p pipes) Close() error   { return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

// A client has 5 s for the header and 15 s for the whole request.
func TestASlowClientIsDisconnected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newAPIServer(t, dev)
		server := api.Server(s.handler)
		if server.IdleTimeout != time.Minute || server.MaxHeaderBytes != 16<<10 || server.WriteTimeout == 0 {
			t.Errorf("the limits of the server: %+v", server)
		}

		listener := pipes{make(chan net.Conn), make(chan struct{})}
		ended := make(chan struct{})
		go func() { defer close(ended); _ = server.Serve(listener) }()
		defer func() { close(listener.closed); _ = server.Close(); <-ended }()

		send := func(text string, most time.Duration) string {
			here, there := net.Pipe()
			defer here.Close()
			listener.accepted <- there

			if _, err := here.Write([]byte(text)); err != nil {
				t.Fatal(err)
			}
			began := time.Now()

			out, err := io.ReadAll(here) // ends when the server closes the connection
			if took := time.Since(began); err != nil || took > most {
				t.Errorf("the server waits for %v: %v", took, err)
			}

			return string(out)
		}
		if out := send("GET /v1/orders HTTP/1.1\r\nHost: local", 5*time.Second); strings.Contains(out, " 200 ") {
			t.Errorf("half a header: %s", out)
		}

		if out := send("PUT /v1/orders/slow HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{", 16*time.Second); !strings.Contains(out, " 408 ") || !strings.Contains(out, "body_timeout") {
			t.Errorf("half a body: %s", out)
		}
	})
}

func TestUnknownMethodsAndPathsAreRefused(t *testing.T) {
	s := newAPIServer(t, dev)
	for path, allow := range map[string]string{
		"/v1/orders":           "GET, HEAD, POST",
		"/v1/orders/o-1":       "GET, HEAD, PUT",
		"/v1/orders/o-1/items": "POST",
		// Beside GET of /{handler}/{letter}.
		"/v1/dead-letters/notify/redrive": "POST",
	} {
		for _, method := range []string{"PATCH", "TRACE", "OPTIONS", "PROPFIND"} {
			if a := s.want(s.ask(method, path, ""), http.StatusMethodNotAllowed, "method_not_allowed"); a.Header.Get("Allow") != allow {
				t.Errorf("%s %s: Allow %q", method, path, a.Header.Get("Allow"))
			}
		}
	}

	for _, path := range []string{"/", "/v1", "/v1/orders/", "/v2/orders", "/v1//orders", "/v1/./orders", "/v1/orders/../orders", "/v1/orders/..", "/docs", "/schemas/Order.json", "/openapi.yaml"} {
		s.want(s.ask("GET", path, ""), http.StatusNotFound, "route_not_found")
	}
}

func TestAServerThatIsNotReadyAnswers503(t *testing.T) {
	synctest.Test(t, serverThatIsNotReady)
}

func serverThatIsNotReady(t *testing.T) {
	stopping := make(chan struct{})
	broken := errors.New("no answer")
	var ready error
	s := newAPIServer(t, func(cfg *api.Config) {
		dev(cfg)
		cfg.Draining = stopping
		cfg.Ready = func(context.Context) error { return ready }
	})
	s.want(s.ask("GET", "/readyz", ""), http.StatusOK, "")

	ready = broken
	time.Sleep(time.Second) // an answer of the store counts for a second

	if a := s.want(s.ask("GET", "/readyz", ""), http.StatusServiceUnavailable, "not_ready"); strings.Contains(a.text, broken.Error()) {
		t.Errorf("the answer contains the cause: %s", a.text)
	}

	// Probes come every second, and the log is not theirs.
	for range 30 {
		time.Sleep(time.Second)
		s.want(s.ask("GET", "/readyz", ""), http.StatusServiceUnavailable, "not_ready")
	}

	if n := strings.Count(s.log.String(), `"msg":"not ready"`); n != 1 {
		t.Errorf("%d lines of the log in half a minute, want one", n)
	}
	ready = nil
	close(stopping)
	s.want(s.ask("GET", "/readyz", ""), http.StatusServiceUnavailable, "not_ready")
	s.want(s.ask("GET", "/healthz", ""), http.StatusOK, "")
}

func TestAPanicIsAnsweredWithoutItsCause(t *testing.T) {
	s := newAPIServer(t, func(cfg *api.Config) {
		dev(cfg)
		cfg.Start = panicStart
	})
	a := s.want(s.ask("PUT", "/v1/orders/o-1", mugs), http.StatusInternalServerError, "internal")
	if strings.Contains(a.text, "secret-cause") || !strings.Contains(s.log.String(), "secret-cause") {
		t.Errorf("the cause must be in the log and not in the answer: %s", a.text)
	}

	if !strings.Contains(s.log.String(), `"outcome":"panic"`) {
		t.Error("the audit log has no line for the request")
	}
}

// An open stream does not occupy a slot of the load shedder.
func TestAnEventStreamDoesNotCountAsInFlight(t *testing.T) {
	s := newAPIServer(t, func(cfg *api.Config) { dev(cfg); cfg.InFlight = 1 })
	s.want(s.ask("PUT", "/v1/orders/o-1", mugs), http.StatusCreated, "")
	ctx, stop := context.WithCancel(t.Context())
	started := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		r := httptest.NewRequest(http.MethodGet, "http://localhost/v1/orders/o-1/events", nil).WithContext(ctx)
		s.handler.ServeHTTP(&notifyingRecorder{
			ResponseRecorder: httptest.NewRecorder(),
			wrote:            sync.OnceFunc(func() { close(started) }),
		}, r)
	})
	<-started
	s.want(s.ask("GET", "/v1/orders/o-1", ""), http.StatusOK, "")
	stop()
	group.Wait()
}

// notifyingRecorder calls wrote after each write.
type notifyingRecorder struct {
	*httptest.ResponseRecorder
	wrote func()
}

func (n *notifyingRecorder) Write(b []byte) (int, error) {
	defer n.wrote()
	return n.ResponseRecorder.Write(b)
}
