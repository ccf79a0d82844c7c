package system

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"ratchet/embedded/embeddedtest"
)

// patience is how long an observation is waited for.
const patience = 5 * time.Minute

// process is a child.
type process struct {
	cmd   *exec.Cmd
	first string // line of its output
	log   *bytes.Buffer
}

// startProcess starts this binary in a role, and waits for the first line of its output.
func startProcess(t *testing.T, role string, env []string, args ...string) *process {
	t.Helper()

	p := &process{cmd: exec.Command(os.Args[0], args...), log: &bytes.Buffer{}}
	p.cmd.Env = append(append(cleanEnv(), envRole+"="+role), env...)
	p.cmd.Stderr = p.log // read only after the end of the process
	p.cmd.Dir = t.TempDir()

	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}

	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()

		if t.Failed() {
			t.Logf("%s %v:\n%s", role, args, p.log)
		}
	})

	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		t.Fatalf("%s %v has printed nothing", role, args)
	}
	p.first = lines.Text()

	return p
}

// api returns where the HTTP API is, as the first line says.
func (p *process) api(t *testing.T) string {
	t.Helper()

	var banner struct{ API string }
	if err := json.Unmarshal([]byte(p.first), &banner); err != nil {
		t.Fatal(err)
	}

	return banner.API
}

// stop ends the process as an operator does.
func (p *process) stop(t *testing.T) {
	t.Helper()

	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}

	if err := p.cmd.Wait(); err != nil {
		t.Errorf("%v: %v", p.cmd.Args[1:], err)
	}
}

// run runs a command of Ratchet to its end.
func run(t *testing.T, env []string, args ...string) {
	t.Helper()

	c := exec.CommandContext(t.Context(), os.Args[0], args...)
	c.Env = append(append(cleanEnv(), envRole+"=ratchet"), env...)
	c.Dir = t.TempDir()

	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
}

// cleanEnv is the environment without settings of Ratchet and OpenTelemetry.
func cleanEnv() (env []string) {
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "OTEL_") && !strings.HasPrefix(v, "RATCHET_") && !strings.HasPrefix(v, "AWS_") {
			env = append(env, v)
		}
	}

	return env
}

// serveEngine serves an engine and initializes a Ratchet on it.
func serveEngine(t *testing.T) (url string) {
	t.Helper()

	engine := httptest.NewServer(embeddedtest.Open(t).Handler())
	t.Cleanup(engine.Close)
	run(t, nil, "init", "--endpoint-url", engine.URL)

	return engine.URL
}

// ask sends a request to the HTTP API and checks the status of the answer.
func ask(t *testing.T, method, url, body string, want int, header ...string) {
	t.Helper()

	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Ratchet-Reason", "test")

	for i := 0; i+1 < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}

	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	t.Cleanup(http.DefaultClient.CloseIdleConnections)

	if text, _ := io.ReadAll(answer.Body); answer.StatusCode != want {
		t.Fatalf("%s %s: %d, want %d: %s", method, url, answer.StatusCode, want, text)
	}
}

func get(t *testing.T, url string) []byte {
	t.Helper()

	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}

	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	t.Cleanup(http.DefaultClient.CloseIdleConnections)

	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}

	return body
}

// countConnections listens where an exporter may connect to. Each connection is closed at once.
func countConnections(t *testing.T) (dialed func() int64, url string) {
	t.Helper()

	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	var n atomic.Int64
	var group sync.WaitGroup
	group.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			n.Add(1)
			_ = conn.Close()
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		group.Wait()
	})

	return n.Load, "http://" + listener.Addr().String()
}

// eventually looks until check returns true, or until the patience ends: what follows says then what
// is missing.
func eventually(t *testing.T, check func() bool) {
	t.Helper()

	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()

	for end := time.Now().Add(patience); !check(); <-look.C {
		if time.Now().After(end) {
			t.Errorf("waited %s in vain", patience)
			return
		}
	}
}

// endpoint gets webhooks. It refuses the first message about an order.
type endpoint struct {
	url string

	mu      sync.Mutex
	refuses string              // the order
	refused bool                // its first message was
	parents map[string][]string // the traceparents of messages, by order and state
}

func startEndpoint(t *testing.T, refuses string) *endpoint {
	t.Helper()

	e := &endpoint{refuses: refuses, parents: map[string][]string{}}
	s := httptest.NewServer(http.HandlerFunc(e.take))
	t.Cleanup(s.Close)
	e.url = s.URL

	return e
}

func (e *endpoint) take(w http.ResponseWriter, r *http.Request) {
	var message struct {
		Data struct{ OrderID, State string }
	}

	if err := json.NewDecoder(r.Body).Decode(&message); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}

	e.mu.Lock()
	defer e.mu.Unlock()

	about := message.Data.OrderID + " " + message.Data.State
	e.parents[about] = append(e.parents[about], r.Header.Get("Traceparent"))

	if message.Data.OrderID == e.refuses && !e.refused {
		e.refused = true
		w.WriteHeader(http.StatusInternalServerError)
	}
}

// got returns the traceparents of the messages about a state of an order.
func (e *endpoint) got(about string) []string {
	e.mu.Lock()
	defer e.mu.Unlock()

	return append([]string(nil), e.parents[about]...)
}
