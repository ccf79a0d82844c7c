package deploy

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"ratchet/embedded/embeddedtest"
	"ratchet/server"
	"ratchet/streams"
)

var quietLog = log.New(io.Discard, "", 0)

// recordedBackend is an engine with a recorder in front of it, and a backend for each part that reaches the
// engine as a process of its own would.
type recordedBackend struct {
	*server.Backend // of the engine itself; its calls are not recorded

	t       *testing.T
	rec     *recorder
	cfg     server.Config
	program string
	vars    map[string]string
}

func newRecordedBackend(t *testing.T, edit func(*server.Config)) *recordedBackend {
	t.Helper()

	r := &recordedBackend{t: t, vars: map[string]string{}}
	r.cfg = server.Config{
		Data:          filepath.Join(t.TempDir(), "data"),
		OrderLists:    true,
		ExpireUnpaid:  time.Hour,
		ReturnWindow:  720 * time.Hour,
		RequestsQueue: prefix + "requests",
		CarrierDelay:  time.Millisecond,
		Notify:        "log",
		WebhookReach:  "loopback",
		AdminListen:   server.AdminOff,
		Bank:          server.Sandbox,
		Carrier:       server.Sandbox,
	}
	if edit != nil {
		edit(&r.cfg)
	}

	r.Backend = embed(t, r.cfg)
	if err := r.Init(t.Context()); err != nil {
		t.Fatal(err)
	}

	r.goRun("engine", r.Engine.Run)
	r.rec = serveEngine(t, r.Engine.Handler())

	return r
}

// embed returns a backend on an engine of its own.
func embed(t *testing.T, cfg server.Config) *server.Backend {
	t.Helper()

	b, err := server.Embed(cfg, embeddedtest.Quiet(), server.Events{})
	if err != nil {
		t.Fatal(err)
	}
	closeAtEnd(t, b)

	return b
}

// closeAtEnd closes the backend when the test ends.
func closeAtEnd(t *testing.T, b *server.Backend) {
	t.Helper()

	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
}

// goRun runs a component until the test ends.
func (r *recordedBackend) goRun(name string, run func(context.Context) error) {
	ctx, stop := context.WithCancel(context.Background())

	var group sync.WaitGroup
	group.Go(func() {
		if err := run(ctx); err != nil && ctx.Err() == nil {
			r.t.Errorf("%s: %v", name, err)
		}
	})
	r.t.Cleanup(func() {
		stop()
		group.Wait()
	})
}

// connect returns a backend whose calls are recorded as the part's calls.
func (r *recordedBackend) connect(part string, edit func(*server.Config)) *server.Backend {
	cfg := r.cfg
	cfg.EndpointURL = r.rec.endpoint(part)
	if edit != nil {
		edit(&cfg)
	}

	b, err := server.Connect(r.t.Context(), cfg, embeddedtest.Quiet(), server.Events{})
	if err != nil {
		r.t.Fatal(err)
	}
	closeAtEnd(r.t, b)

	return b
}

// startWorkers runs each part of a worker in a process of its own.
func (r *recordedBackend) startWorkers() {
	for _, part := range server.WorkerParts() {
		b := r.connect(string(part), nil)
		r.goRun(string(part), func(ctx context.Context) error { return b.Run(ctx, string(part), part) })
	}
	r.t.Cleanup(r.rec.hangUp) // before the workers are stopped: cleanups run in reverse order
}

// breaks is a handler that gives up on every record.
func breaks(*server.Backend) []streams.Handler {
	return []streams.Handler{{Name: "breaks", Handle: func(context.Context, streams.Record) error {
		return streams.Permanent(fmt.Errorf("planted"))
	}}}
}

// until waits until the condition holds.
func (r *recordedBackend) until(what string, holds func() bool) {
	r.t.Helper()

	began := time.Now()
	for again := time.NewTicker(10 * time.Millisecond); !holds(); <-again.C {
		if time.Since(began) > 3*time.Minute {
			r.t.Fatalf("%s: not within three minutes", what)
		}
	}
}

// script returns the lines of a file that say something.
func script(t *testing.T, name string) []string {
	t.Helper()

	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}

	var lines []string
	for scanner := bufio.NewScanner(bytes.NewReader(text)); scanner.Scan(); {
		if line := strings.TrimSpace(scanner.Text()); line != "" && line[0] != '#' {
			lines = append(lines, line)
		}
	}

	return lines
}

// expand replaces $NAME.
func (r *recordedBackend) expand(text string) string {
	return os.Expand(text, func(name string) string { return r.vars[name] })
}

// call sends a line of testdata/api.txt. The answer is not judged: another test does that
// (tests/system).
func (r *recordedBackend) call(base string, number int, line string) {
	first, rest, _ := strings.Cut(line, " ")
	if first == "until" {
		text, request, _ := strings.Cut(rest, " ")
		r.until(line, func() bool {
			_, answer := r.send(base, number, request)
			return strings.Contains(string(answer), text)
		})

		return
	}

	name, member, keeps := strings.Cut(first, "=")
	if keeps {
		line = rest
	}

	status, answer := r.send(base, number, line)
	if status == http.StatusNotFound && !strings.Contains(string(answer), "_not_found") || status >= 500 ||
		status == http.StatusUnprocessableEntity || status == http.StatusBadRequest {
		r.t.Errorf("%s: %d %s", line, status, answer)
	}

	if keeps {
		r.vars[name] = find(answer, member)
	}
}

// send sends a request and returns the status and body of the answer.
func (r *recordedBackend) send(base string, number int, line string) (status int, answer []byte) {
	method, rest, _ := strings.Cut(r.expand(line), " ")
	path, text, _ := strings.Cut(rest, " ")

	request, err := http.NewRequestWithContext(r.t.Context(), method, base+path, strings.NewReader(text))
	if err != nil {
		r.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+r.vars["TOKEN"])
	request.Header.Set("Ratchet-Reason", "test")
	request.Header.Set("Idempotency-Key", fmt.Sprintf("line-%d", number))

	response, err := http.DefaultClient.Do(request)
	if err != nil {
		r.t.Fatalf("%s: %v", line, err)
	}
	defer response.Body.Close()

	answer, err = io.ReadAll(response.Body)
	if err != nil {
		r.t.Fatalf("%s: %v", line, err)
	}

	return response.StatusCode, answer
}

// find returns a member of a JSON text, wherever it is.
func find(text []byte, member string) string {
	_, rest, _ := strings.Cut(string(text), `"`+member+`":`)

	var value any
	if err := json.NewDecoder(strings.NewReader(rest)).Decode(&value); err != nil {
		return ""
	}

	return fmt.Sprint(value)
}

// run runs a command against the part's endpoint, and returns the command's output and exit status.
func (r *recordedBackend) run(endpoint string, args ...string) (string, int) {
	ctx, cancel := context.WithTimeout(r.t.Context(), 3*time.Minute)
	defer cancel()

	cmd := exec.CommandContext(ctx, r.program, args...)
	cmd.Dir = r.t.TempDir()
	cmd.Env = append(os.Environ(), asProgram+"=yes", "RATCHET_ENDPOINT_URL="+endpoint, "RATCHET_ORDER_LISTS=true", "RATCHET_EXPIRE_UNPAID=1h", "RATCHET_ACTION_KEYS="+r.vars["ACTION_KEYS"],
		"RATCHET_WEBHOOK_REACH=loopback", "RATCHET_BANK=sandbox", "RATCHET_CARRIER=sandbox", "RATCHET_LOG_LEVEL=error", "RATCHET_REQUESTS_QUEUE="+r.cfg.RequestsQueue)
	out, err := cmd.CombinedOutput()

	code := cmd.ProcessState.ExitCode()
	if code != 0 && code != 1 && code != 3 && code != 4 {
		r.t.Errorf("ratchet %s: %v\n%s", strings.Join(args, " "), err, out)
	}

	return string(out), code
}
