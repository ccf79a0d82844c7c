package api_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"ratchet/api"
	"ratchet/api/auth"
	"ratchet/server/listeners"
)

// behindProxy serves the API behind a proxy on a loopback address, which names its clients in X-Forwarded-For.
func behindProxy(t *testing.T, s *apiServer) *httptest.Server {
	t.Helper()

	proxies, err := listeners.NewProxies("x-forwarded-for", "127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}

	server := httptest.NewUnstartedServer(nil)
	server.Config = api.Server(proxies.Handler(s.handler))
	server.Listener = listeners.Limit(server.Listener, proxies, 4096, 1024)
	server.Start()
	t.Cleanup(server.Close)

	return server
}

// through sends a request as the proxy does for the client, and returns the status.
func through(t *testing.T, server *httptest.Server, client, method, path, body string, header map[string]string) int {
	t.Helper()

	r, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Forwarded-For", client)

	for name, value := range header {
		r.Header.Set(name, value)
	}

	answer, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()

	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		t.Fatal(err)
	}

	return answer.StatusCode
}

// TestAFloodBehindAProxyConcernsItsSender: probes, junk tokens and slow bodies of one client, or of many, cost others
// nothing.
func TestAFloodBehindAProxyConcernsItsSender(t *testing.T) {
	s := newAPIServer(t, func(cfg *api.Config) { cfg.Rate = 5 })
	server := behindProxy(t, s)

	// Callers that no one has seen before the flood.
	const callers = 20

	var fresh []string
	for range callers {
		fresh = append(fresh, s.key("acme", auth.Read))
	}
	junk := map[string]string{"Authorization": "Bearer rk_bbbbbbbbbbbbbbbb_" + strings.Repeat("A", 43)}

	refused := 0
	for range 100 {
		if status := through(t, server, "192.0.2.1", "GET", "/healthz", "", nil); status != http.StatusOK {
			t.Errorf("a probe in a flood of probes: %d", status)
		}

		if through(t, server, "192.0.2.1", "GET", "/v1/orders?limit=1", "", junk) == http.StatusTooManyRequests {
			refused++
		}
	}

	for i := range 300 {
		through(t, server, fmt.Sprintf("198.51.%d.%d", i/250, i%250), "GET", "/v1/orders?limit=1", "", junk)
	}

	if refused == 0 {
		t.Error("junk tokens have no limit")
	}

	// Slow bodies from one client, and then from many, until more are arriving than have a place.
	for i := range 600 {
		client := "192.0.2.1"
		if i >= 300 {
			client = fmt.Sprintf("198.51.%d.%d", i/250, i%250)
		}

		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })

		_, err = fmt.Fprintf(conn, "POST /v1/callbacks/payments HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: %s\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{", client)
		if err != nil {
			t.Fatal(err)
		}
	}

	answered := 0
	for i := range 100 {
		if status := through(t, server, "203.0.113.1", "POST", "/v1/callbacks/payments", "{}", map[string]string{"Content-Type": "application/json"}); status == http.StatusServiceUnavailable || status == http.StatusRequestTimeout {
			t.Errorf("a callback beside slow ones: %d", status)
		}

		if status := through(t, server, "203.0.113.2", "GET", "/readyz", "", nil); status != http.StatusOK {
			t.Errorf("a probe beside a flood: %d", status)
		}

		if through(t, server, fmt.Sprintf("203.0.113.%d", 100+i), "GET", "/v1/orders?limit=1", "", map[string]string{"Authorization": fresh[i%callers]}) == http.StatusOK {
			answered++
		}
	}

	if answered < 99 {
		t.Errorf("%d of 100 requests of other callers are answered", answered)
	}
}

// TestAForgedAddressIsIgnored: only a trusted proxy names clients.
func TestAForgedAddressIsIgnored(t *testing.T) {
	s := newAPIServer(t, func(cfg *api.Config) { cfg.Rate = 1 })
	server := httptest.NewServer(s.handler)
	t.Cleanup(server.Close)

	limited := 0
	for i := range 30 {
		status := through(t, server, fmt.Sprintf("192.0.2.%d", i), "GET", "/v1/orders", "", map[string]string{"Authorization": "Bearer junk", "Forwarded": fmt.Sprintf("for=192.0.2.%d", i)})
		if status == http.StatusTooManyRequests {
			limited++
		}
	}

	if limited == 0 {
		t.Error("a caller that names another address each time has no limit")
	}
}
