//go:build browser

package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"html/template"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"ratchet/server"
)

// patience is how long the browser has for all pages.
const patience = 2 * time.Minute

// target is a request that a page tries.
type target struct {
	Name, URL, Path, Target string // Target is an X-Amz-Target: the request is a POST then
}

// page tries each request in each way that a page can, and reports what it can read of the answers.
var page = template.Must(template.New("page").Parse(`<!doctype html><title>page</title><script>
const targets = {{.}}, found = [];
async function attempt(name, url, options) {
  try {
    const answer = await fetch(url, options);
    found.push({name, status: answer.status, type: answer.type, text: (await answer.text()).slice(0, 200)});
  } catch (e) { found.push({name, status: 0, type: "error", text: ""}); }
}
async function run() {
  for (const t of targets) {
    const post = t.Target ? {method: "POST", body: "{}", headers: {"X-Amz-Target": t.Target}} : {};
    await attempt(t.Name + ", another origin", t.URL + t.Path, post);
    await attempt(t.Name + ", another origin, opaque", t.URL + t.Path, {mode: "no-cors", method: t.Target ? "POST" : "GET", body: t.Target ? "{}" : undefined});
    await attempt(t.Name + ", its own name", t.Path, post);
  }
  await fetch("/report", {method: "POST", body: JSON.stringify(found)});
}
run();
</script>`))

// report is what the page has read.
type report struct {
	Name, Type, Text string
	Status           int
}

// TestAPageOfAnotherOriginGetsNothing: by fetch across origins, and by a name that resolves to this machine after the page
// was loaded (DNS rebinding): the front of the page passes everything else on to the listener, under the page's own name.
func TestAPageOfAnotherOriginGetsNothing(t *testing.T) {
	for _, one := range everyListener(t) {
		t.Run(one.Name, func(t *testing.T) {
			for _, r := range visit(t, one) {
				if r.Status == http.StatusOK || r.Text != "" && r.Status < http.StatusBadRequest {
					t.Errorf("%s: the page reads %d %q", r.Name, r.Status, r.Text)
				}
			}
		})
	}
}

// TestAPageReadsAnOpenListener: the attempts of the other test do reach a listener without a door.
func TestAPageReadsAnOpenListener(t *testing.T) {
	open := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("all of it")) }))
	defer open.Close()

	read := 0
	for _, r := range visit(t, target{"open", open.URL, "/", "DynamoDB_20120810.ListTables"}) {
		if r.Text == "all of it" {
			read++
		}
	}

	if read != 1 { // by its own name
		t.Errorf("the page has read %d answers", read)
	}
}

// visit shows a page to the browser, and returns what the page has read of a listener.
func visit(t *testing.T, one target) []report {
	t.Helper()

	shell, err := exec.LookPath("chromium-headless-shell")
	if err != nil {
		t.Fatalf("%v: make browser installs it", err)
	}

	reports := make(chan []report, 1)
	front := httptest.NewServer(newFront(t, one, reports))
	defer front.Close()

	at, err := url.Parse(front.URL)
	if err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()

	browser := exec.CommandContext(ctx, shell, "--no-sandbox", "--disable-gpu", "--user-data-dir="+t.TempDir(),
		"--host-resolver-rules=MAP evil.test 127.0.0.1", "--remote-debugging-port=0", "http://evil.test:"+at.Port()+"/page")
	browser.WaitDelay = 5 * time.Second

	if err := browser.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = browser.Wait() }() // it is killed, after the deferred cancel below
	defer cancel()

	select {
	case found := <-reports:
		if len(found) != 3 {
			t.Errorf("%d reports", len(found))
		}

		return found
	case <-ctx.Done():
		t.Fatal("the browser has not reported")
		return nil
	}
}

// newFront serves the page and takes its report, and passes everything else on to the listener, with the host that the
// browser names.
func newFront(t *testing.T, one target, reports chan<- []report) http.Handler {
	to, err := url.Parse(one.URL)
	if err != nil {
		t.Fatal(err)
	}

	mux := http.NewServeMux()
	mux.HandleFunc("GET /page", func(w http.ResponseWriter, _ *http.Request) { _ = page.Execute(w, []target{one}) })
	mux.HandleFunc("POST /report", func(_ http.ResponseWriter, r *http.Request) {
		var found []report
		if err := json.NewDecoder(r.Body).Decode(&found); err != nil {
			t.Error(err)
		}
		reports <- found
	})
	mux.Handle("/", &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.Host = r.In.Host
	}})

	return mux
}

// everyListener starts everything that a process serves.
func everyListener(t *testing.T) []target {
	ctx, stop := context.WithCancel(context.Background())

	b, err := server.Embed(server.Config{Data: filepath.Join(t.TempDir(), "data"), AdminListen: "127.0.0.1:0"}, slog.New(slog.DiscardHandler), server.Events{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()

		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})

	if err := b.Init(ctx); err != nil {
		t.Fatal(err)
	}

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

		return fmt.Sprint("http://", l.Addr())
	}

	admin, err := b.StartAdmin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = admin.Close() })

	return []target{
		{"metrics", admin.URL(), "/metrics", ""},
		{"profiles", admin.URL(), "/debug/pprof/cmdline", ""},
		{"the engine", listen(func(l net.Listener) error { return b.ServeEngine(ctx, l) }), "/", "DynamoDB_20120810.ListTables"},
		{"the API for everybody", listen(func(l net.Listener) error { return b.ServeAPI(ctx, l, true) }), "/v1/orders?limit=1", ""},
	}
}
