package server_test

import (
	"context"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"ratchet/server"
)

// served is a listener of a process, with a request of each kind that it answers.
type served struct {
	name, url string
	path      string // of a request that changes nothing and is answered with 200 or 401
	probe     string
	target    string // the X-Amz-Target of a POST, "" for a GET
}

// everyListener starts everything that a process serves.
func everyListener(t *testing.T, network server.NetworkConfig) []served {
	t.Helper()

	ctx, stop := context.WithCancel(context.Background())
	b := initialized(t, server.Config{Data: filepath.Join(t.TempDir(), "data"), AdminListen: "127.0.0.1:0", Network: network})
	admin := startAdmin(ctx, t, b)

	listen := func(serve func(net.Listener) error) string {
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}

		ended := make(chan error, 1)
		go func() { ended <- serve(l) }()
		t.Cleanup(func() {
			stop()

			if err := <-ended; err != nil {
				t.Error(err)
			}
		})

		return "http://" + l.Addr().String()
	}

	return []served{
		{"engine", listen(func(l net.Listener) error { return b.ServeEngine(ctx, l) }), "/", "/", "DynamoDB_20120810.ListTables"},
		{"API for everybody", listen(func(l net.Listener) error { return b.ServeAPI(ctx, l, true) }), "/v1/orders?limit=1", "/readyz", ""},
		{"API", listen(func(l net.Listener) error { return b.ServeAPI(ctx, l, false) }), "/v1/orders?limit=1", "/readyz", ""},
		{"admin", admin.URL(), "/metrics", "/readyz", ""},
		{"profiles", admin.URL(), "/debug/pprof/cmdline", "/livez", ""},
	}
}

// send sends a request of the listener with headers; "Host" is the host that it names.
func (s served) send(t *testing.T, method, path string, header map[string]string) (status int, body string) {
	t.Helper()

	request, err := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}

	if s.target != "" && method == http.MethodPost {
		request.Header.Set("X-Amz-Target", s.target)
	}

	for name, value := range header {
		request.Header.Set(name, value)
	}
	request.Host = header["Host"]

	return fetch(t, http.DefaultClient, request)
}

// TestEveryListenerHasTheSameDoor walks all listeners and all checks.
func TestEveryListenerHasTheSameDoor(t *testing.T) {
	t.Cleanup(http.DefaultClient.CloseIdleConnections)

	const allowed = "orders.example.com"

	for _, s := range everyListener(t, server.NetworkConfig{AllowedHosts: []string{allowed}}) {
		method := http.MethodGet
		if s.target != "" {
			method = http.MethodPost
		}

		for _, check := range []struct {
			what, method, path string
			header             map[string]string
			status             int // 0: the listener's own answer
		}{
			{"a program", method, s.path, nil, 0},
			{"localhost", method, s.path, map[string]string{"Host": "localhost:1"}, 0},
			{"a name below localhost", method, s.path, map[string]string{"Host": "a.localhost"}, 0},
			{"the prefix of an SDK", method, s.path, map[string]string{"Host": "sync-localhost"}, 0},
			{"a name of the setting", method, s.path, map[string]string{"Host": allowed}, 0},
			{"a rebound name", method, s.path, map[string]string{"Host": "evil.example"}, http.StatusMisdirectedRequest},
			{"a rebound name like localhost", method, s.path, map[string]string{"Host": "localhost.evil.example"}, http.StatusMisdirectedRequest},
			{"a read of another page", http.MethodGet, s.path, map[string]string{"Sec-Fetch-Site": "cross-site", "X-Amz-Target": s.target}, http.StatusForbidden},
			{"a form of another page", http.MethodPost, s.path, map[string]string{"Sec-Fetch-Site": "cross-site"}, http.StatusForbidden},
			{"a page of another port", method, s.path, map[string]string{"Sec-Fetch-Site": "same-site"}, http.StatusForbidden},
			{"an old browser", method, s.path, map[string]string{"Origin": "http://evil.example"}, http.StatusForbidden},
			{"a page without an origin", method, s.path, map[string]string{"Origin": "null"}, http.StatusForbidden},
			{"a question before a request", http.MethodOptions, s.path, map[string]string{"Origin": "http://evil.example", "Access-Control-Request-Method": "POST"}, http.StatusForbidden},
			{"a probe of a balancer", http.MethodGet, s.probe, map[string]string{"Host": "10.0.0.7.balancer.example"}, http.StatusOK},
		} {
			// The engine's probe has the path of all its requests.
			if check.method == http.MethodGet && s.path == s.probe && check.status == http.StatusForbidden {
				continue
			}

			status, body := s.send(t, check.method, check.path, check.header)

			switch {
			case check.status == 0 && status != http.StatusOK && status != http.StatusUnauthorized,
				check.status != 0 && status != check.status:
				t.Errorf("%s: %s: %d %.200s, want %d", s.name, check.what, status, body, check.status)
			}
		}
	}
}
