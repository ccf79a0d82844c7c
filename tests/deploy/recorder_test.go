package deploy

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
)

// recorder keeps the permissions that each part needed.
type recorder struct {
	t      *testing.T
	engine *url.URL
	// hangUp ends the long polls, for which a worker that stops would wait.
	hangUp func()

	mu     sync.Mutex
	needed map[string]map[permission]bool // by part
}

// serveEngine serves an engine's handler and returns a recorder in front of it.
func serveEngine(t *testing.T, engine http.Handler) *recorder {
	t.Helper()

	running, hangUp := context.WithCancel(context.Background())

	at, err := url.Parse(listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(running, cancel)()

		engine.ServeHTTP(w, r.WithContext(ctx))
	})))
	if err != nil {
		t.Fatal(err)
	}

	return &recorder{t: t, engine: at, hangUp: hangUp, needed: map[string]map[permission]bool{}}
}

// listen serves a handler until the test ends and returns its URL.
func listen(t *testing.T, handler http.Handler) string {
	t.Helper()

	server := httptest.NewServer(handler)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})

	return server.URL
}

// endpoint returns the URL of a proxy that records the calls of a part.
func (r *recorder) endpoint(part string) string {
	proxy := &httputil.ReverseProxy{
		Rewrite:      func(p *httputil.ProxyRequest) { p.SetURL(r.engine); p.Out.Host = r.engine.Host },
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
		ErrorLog:     quietLog,
	}

	return listen(r.t, http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		text, err := io.ReadAll(request.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}

		r.record(part, request.Header.Get("X-Amz-Target"), text)
		request.Body = io.NopCloser(bytes.NewReader(text))
		proxy.ServeHTTP(w, request)
	}))
}

func (r *recorder) record(part, target string, text []byte) {
	needed, err := permissionsOf(target, text)
	if err != nil {
		r.t.Errorf("%s: %v", part, err)
		return
	}

	r.mu.Lock()
	defer r.mu.Unlock()

	for _, p := range needed {
		of := part
		// The sandboxes are not for a real shop. Their tables have a policy of their own.
		if strings.HasPrefix(p.resource, "table/sandbox-") {
			of = "sandbox"
		}

		if r.needed[of] == nil {
			r.needed[of] = map[permission]bool{}
		}
		r.needed[of][p] = true
	}
}

// lines returns what a part needed, sorted.
func (r *recorder) lines(part string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()

	var lines []string
	for p := range r.needed[part] {
		lines = append(lines, p.String())
	}
	slices.Sort(lines)

	return lines
}
