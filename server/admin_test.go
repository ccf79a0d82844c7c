package server_test

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"ratchet/embedded/embeddedtest"
	"ratchet/server"
)

// openWith opens a backend with tables and without a worker.
func openWith(t *testing.T, adminListen string) *server.Backend {
	t.Helper()
	t.Cleanup(http.DefaultClient.CloseIdleConnections)

	return initialized(t, server.Config{Data: filepath.Join(t.TempDir(), "data"), AdminListen: adminListen})
}

// initialized opens a backend on the embedded engine, and creates its tables and state machine.
func initialized(t *testing.T, cfg server.Config) *server.Backend {
	t.Helper()

	b, err := server.Embed(cfg, embeddedtest.Quiet(), server.Events{})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})

	if err := b.Init(t.Context()); err != nil {
		t.Fatal(err)
	}

	return b
}

func startAdmin(ctx context.Context, t *testing.T, b *server.Backend) *server.Admin {
	t.Helper()

	admin, err := b.StartAdmin(ctx)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		if err := admin.Close(); err != nil {
			t.Error(err)
		}
	})

	return admin
}

// ask returns status and body of a GET request, which names the host if it is not "".
func ask(t *testing.T, url, host string) (status int, body string) {
	t.Helper()

	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Host = host

	return fetch(t, http.DefaultClient, request)
}

//raced:here
func TestTheAdminListenerAnswers(t *testing.T) {
	stopping, stop := context.WithCancel(t.Context())
	defer stop()

	admin := startAdmin(stopping, t, openWith(t, "127.0.0.1:0"))

	for _, c := range []struct {
		path, host string
		status     int
		contains   string
	}{
		{"/livez", "", 200, `"ready":true`},
		{"/readyz", "", 200, `{"name":"table","status":"ok"}`},
		{"/metrics", "", 200, "ratchet_build_info{"},
		{"/debug/pprof/", "", 200, "goroutine"},
		{"/readyz", "localhost:8702", 200, `"ready":true`},
		{"/readyz", "[::1]:8702", 200, `"ready":true`},
		{"/metrics", "attacker.example", 421, "does not serve that host"},
		{"/debug/pprof/cmdline", "attacker.example:8702", 421, "does not serve that host"},
		{"/", "", 404, ""},
	} {
		if status, body := ask(t, admin.URL()+c.path, c.host); status != c.status || !strings.Contains(body, c.contains) {
			t.Errorf("%s of host %q: %d %.200s, want %d with %q", c.path, c.host, status, body, c.status, c.contains)
		}
	}

	stop()

	status, body := ask(t, admin.URL()+"/readyz", "")

	var health server.Health
	if err := json.Unmarshal([]byte(body), &health); err != nil {
		t.Fatal(err)
	}

	if status != 503 || health.Ready || !strings.Contains(body, "the process stops") {
		t.Errorf("while it stops: %d %s", status, body)
	}

	if status, _ := ask(t, admin.URL()+"/livez", ""); status != 200 {
		t.Errorf("a process that stops is alive: %d", status)
	}
}

// TestProfilesAreServedOnLoopbackOnly listens on all addresses.
func TestProfilesAreServedOnLoopbackOnly(t *testing.T) {
	admin := startAdmin(t.Context(), t, openWith(t, "0.0.0.0:0"))

	_, port, err := net.SplitHostPort(strings.TrimPrefix(admin.URL(), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	url := "http://127.0.0.1:" + port

	for _, path := range []string{"/debug/pprof/", "/debug/pprof/heap", "/debug/pprof/cmdline", "/debug/pprof/profile", "/debug/pprof/trace"} {
		if status, _ := ask(t, url+path, ""); status != 404 {
			t.Errorf("%s: %d, want 404", path, status)
		}
	}

	if status, _ := ask(t, url+"/readyz", "worker.example:8702"); status != 200 {
		t.Errorf("an orchestrator may name the host as it likes: %d", status)
	}
}

func TestSeveralProcessesHaveAdminListenersOnOneMachine(t *testing.T) {
	first := startAdmin(t.Context(), t, openWith(t, ""))  // the default, unless another process of this machine has it
	second := startAdmin(t.Context(), t, openWith(t, "")) // a free port

	if first.URL() == second.URL() {
		t.Errorf("both at %s", first.URL())
	}

	for _, admin := range []*server.Admin{first, second} {
		if status, _ := ask(t, admin.URL()+"/readyz", ""); status != 200 || !strings.HasPrefix(admin.URL(), "http://127.0.0.1:") {
			t.Errorf("%s: %d", admin.URL(), status)
		}
	}

	taken := strings.TrimPrefix(first.URL(), "http://")
	if _, err := openWith(t, taken).StartAdmin(t.Context()); err == nil || !strings.Contains(err.Error(), "admin-listen") {
		t.Errorf("a port that was set and is taken: error %v", err)
	}

	if off := startAdmin(t.Context(), t, openWith(t, server.AdminOff)); off != nil || off.URL() != "" {
		t.Errorf("off: %v", off)
	}
}
