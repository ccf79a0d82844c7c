package server_test

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"ratchet/console"
	"ratchet/server"
	"ratchet/transitions"
	"ratchet/workflow"
)

// consoleServer serves the API with the console, as `ratchet dev` does, and an order whose texts are code.
func consoleServer(t *testing.T, dev bool) (url string, b *server.Backend) {
	t.Helper()

	return consoleServerWith(t, dev, server.ConsoleConfig{})
}

//raced:in TestAPageFollowsItsOrder
func consoleServerWith(t *testing.T, dev bool, cfg server.ConsoleConfig) (url string, b *server.Backend) {
	t.Helper()
	t.Cleanup(http.DefaultClient.CloseIdleConnections)

	b = initialized(t, server.Config{Data: filepath.Join(t.TempDir(), "data"), OrderLists: true, Console: cfg, ExpireUnpaid: 24 * time.Hour})

	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- b.ServeAPI(ctx, listener, dev) }()
	t.Cleanup(func() {
		stop()

		if err := <-ended; err != nil {
			t.Error(err)
		}
	})

	cause := transitions.Cause{Code: "test", Text: `<script>alert(1)</script><img src=x onerror=alert(2) hx-get="/x">`, Actor: "cli:test", Source: "cli"}
	for _, r := range []transitions.Request{
		{OrderID: "o-1", Event: workflow.Hold, TransitionID: 2, Cause: cause},
		{OrderID: "o-1", Event: workflow.Ship, RequestID: "too-early"},
	} {
		if r.TransitionID == 2 {
			if _, err := b.Orders.Create(t.Context(), transitions.NewOrder{ID: "o-1", Items: []transitions.Item{{SKU: "mug", Quantity: 1, Price: 5}}, Total: transitions.Money{Amount: 5, Currency: "EUR"}}); err != nil {
				t.Fatal(err)
			}
		}

		if _, err := b.Orders.Apply(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}

	return "http://" + listener.Addr().String(), b
}

// consolePages are all pages, with a text that stands on each.
var consolePages = map[string]string{
	"/":                 "Overview",
	"/orders":           "o-1",
	"/orders?order=o-1": "ON_HOLD",
	"/orders/o-1":       "The way that it has taken",
	"/workflow":         "AwaitShipped",
	"/stream":           "Shards",
	"/dead-letters":     "has given up on nothing",
	"/deliveries":       "Endpoints",
	"/audit":            "Audit",
	"/executions":       "No execution on this page",
	"/refusals":         "<code>ship</code>",
	"/money":            "No payment is on this page",
	"/stock":            "No SKU is on this page",
	"/once":             "An action",
	"/quotas":           "write unit",
	"/jobs":             "Erase persons of orders",
	"/doctor":           "Compares every order with its journal",
	"/doctor/verify":    "There is no answer yet",
	"/docs/":            "Find the page for what you want to do",
}

// TestEveryPageOfTheConsoleIsReadable without JavaScript, by a person who watches with a browser, and holds no
// code of a stranger.
func TestEveryPageOfTheConsoleIsReadable(t *testing.T) {
	url, _ := consoleServer(t, true)

	for path, want := range consolePages {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+console.Path+path, nil)
		if err != nil {
			t.Fatal(err)
		}

		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()

		status, body := fetch(t, http.DefaultClient, r)
		if status != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%s: %d, without %q:\n%.2000s", path, status, want, body)
		}

		if strings.Contains(body, "<script>alert") || strings.Contains(body, "<img") {
			t.Errorf("%s has the code of a stranger", path)
		}

		policy := answer.Header.Get("Content-Security-Policy")
		for _, rule := range []string{"default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'", "require-trusted-types-for 'script'"} {
			if !strings.Contains(policy, rule) {
				t.Errorf("%s: the policy %q lacks %s", path, policy, rule)
			}
		}

		if strings.Contains(policy, "unsafe") || answer.Header.Get("Cache-Control") != "no-store" || answer.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: headers %v", path, answer.Header)
		}

		if strings.Contains(body, " style=") || strings.Contains(body, " onclick=") {
			t.Errorf("%s has what its policy refuses", path)
		}
	}
}

// TestTheConsoleOnlyReads: no method but GET, no page that there is not, and nothing for strangers.
func TestTheConsoleOnlyReads(t *testing.T) {
	url, _ := consoleServer(t, true)
	closed, _ := consoleServerWith(t, false, server.ConsoleConfig{Console: "off"})

	for _, row := range []struct {
		method, url string
		header      http.Header
		status      int
	}{
		{http.MethodPost, url + console.Path + "/orders", http.Header{"Sec-Fetch-Site": {"same-origin"}}, http.StatusMethodNotAllowed},
		{http.MethodDelete, url + console.Path + "/orders/o-1", http.Header{"Sec-Fetch-Site": {"same-origin"}}, http.StatusMethodNotAllowed},
		{http.MethodPost, url + console.Path + "/orders", nil, http.StatusForbidden},
		{http.MethodGet, url + console.Path + "/nothing", nil, http.StatusNotFound},
		{http.MethodGet, url + console.Path + "/orders/none", nil, http.StatusNotFound},
		{http.MethodGet, url + console.Path + "/live/workflow", nil, http.StatusNotFound},
		{http.MethodGet, url + console.Path + "/orders", http.Header{"Sec-Fetch-Site": {"cross-site"}}, http.StatusForbidden},
		{http.MethodGet, closed + console.Path + "/orders", nil, http.StatusNotFound},
		{http.MethodGet, closed + "/", nil, http.StatusNotFound},
	} {
		r, err := http.NewRequestWithContext(t.Context(), row.method, row.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header = row.header

		if r.Header == nil {
			r.Header = http.Header{}
		}

		if status, body := fetch(t, http.DefaultClient, r); status != row.status {
			t.Errorf("%s %s: %d, want %d: %.300s", row.method, row.url, status, row.status, body)
		}
	}

	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/", nil)
	if err != nil {
		t.Fatal(err)
	}

	if status, body := fetch(t, http.DefaultClient, r); status != http.StatusOK || !strings.Contains(body, "Overview") {
		t.Errorf("GET / leads to %d %.200s", status, body)
	}
}

// TestTheScriptHasTheExtensionsOfThePages: htmx leaves an extension out whose name a page does not have, and then no page is followed.
func TestTheScriptHasTheExtensionsOfThePages(t *testing.T) {
	url, _ := consoleServer(t, true)
	get := func(path string) string {
		t.Helper()

		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, body := fetch(t, http.DefaultClient, r)

		return body
	}

	page := get(console.Path + "/orders/o-1")
	extensions := regexp.MustCompile(`"extensions":"([^"]+)"`).FindStringSubmatch(page)
	script := regexp.MustCompile(`<script src="([^"]+)"`).FindStringSubmatch(page)
	if extensions == nil || script == nil {
		t.Fatalf("%.1000s", page)
	}

	named := strings.Split(extensions[1], ", ")
	slices.Sort(named)

	var registered []string
	for _, m := range regexp.MustCompile(`registerExtension\("([^"]+)"`).FindAllStringSubmatch(get(script[1]), -1) {
		registered = append(registered, m[1])
	}
	slices.Sort(registered)

	if !slices.Equal(named, registered) {
		t.Errorf("the pages name %q, the script has %q", named, registered)
	}

	if !strings.Contains(page, `hx-sse:connect="/console/live/orders/o-1"`) {
		t.Error("the page of an order is not followed")
	}
}

// TestAPageFollowsItsOrder: a move is sent to who watches.
func TestAPageFollowsItsOrder(t *testing.T) {
	url, b := consoleServer(t, true)

	ctx, stop := context.WithTimeout(t.Context(), 5*time.Minute)
	defer stop()

	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url+console.Path+"/live/orders/o-1", nil)
	if err != nil {
		t.Fatal(err)
	}

	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()

	moved := false
	for lines := bufio.NewReader(answer.Body); ; {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("the stream ended: %v", err)
		}

		switch {
		case !moved && strings.Contains(line, `>ON_HOLD</span>`):
			moved = true

			if _, err := b.Orders.Apply(t.Context(), transitions.Request{OrderID: "o-1", Event: workflow.Release, TransitionID: 3}); err != nil {
				t.Fatal(err)
			}
		case moved && strings.Contains(line, `>PENDING</span>`):
			return
		}
	}
}
