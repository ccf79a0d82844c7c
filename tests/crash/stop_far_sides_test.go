package crash

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"ratchet/notify/webhooks"
	"ratchet/payments"
	"ratchet/tests/program"
)

const (
	// slowBankURL is where the bank of the program "slowbank" is, and bankIsDeaf says that it does not end with the
	// context of its caller.
	slowBankURL, bankIsDeaf = "TEST_SLOW_BANK_URL", "TEST_SLOW_BANK_DEAF"
	// workerGrace is how long a worker may take to stop: its tasks run on for 30 s, and their handlers have 10 s
	// more to end. The rest is for a machine that is busy with other tests.
	workerGrace = 90 * time.Second
	// forced is the exit status of a stop that gave tasks back unfinished (docs/reference/cli.md).
	forced = 5
)

// slowBank asks a bank over HTTP and waits for its answer.
type slowBank struct{}

func (slowBank) ask(ctx context.Context) error {
	if os.Getenv(bankIsDeaf) != "" {
		ctx = context.WithoutCancel(ctx)
	}

	r, err := http.NewRequestWithContext(ctx, http.MethodPost, os.Getenv(slowBankURL), http.NoBody)
	if err != nil {
		return err
	}

	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}

	return answer.Body.Close()
}

func (b slowBank) Authorize(ctx context.Context, _ payments.Request) (string, error) {
	return "a", b.ask(ctx)
}
func (b slowBank) Sale(ctx context.Context, _ payments.Request) (string, error) {
	return "s", b.ask(ctx)
}
func (b slowBank) Capture(ctx context.Context, _ payments.Request) (string, error) {
	return "c", b.ask(ctx)
}
func (b slowBank) Refund(ctx context.Context, _ payments.Request) (string, error) {
	return "r", b.ask(ctx)
}
func (b slowBank) Void(ctx context.Context, _ string) error { return b.ask(ctx) }
func (b slowBank) Lookup(ctx context.Context, _ string) (payments.Operation, error) {
	return payments.Operation{}, b.ask(ctx)
}

// silent is a far side that takes every request and answers none until the test ends. It says which paths were asked.
type silent struct {
	*httptest.Server
	asked chan string
}

func newSilent(t *testing.T) *silent {
	t.Helper()

	s, ended := &silent{asked: make(chan string, 1000)}, make(chan struct{})
	s.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)

		select {
		case s.asked <- r.URL.Path:
		default: // enough is known
		}

		select {
		case <-ended:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(func() {
		close(ended)
		s.Close()
	})

	return s
}

// wait waits until each of the paths was asked.
func (s *silent) wait(t *testing.T, paths ...string) {
	t.Helper()

	for left := paths; len(left) > 0; {
		select {
		case path := <-s.asked:
			left = slices.DeleteFunc(slices.Clone(left), func(one string) bool { return one == path })
		case <-time.After(time.Minute):
			t.Fatalf("not asked for: %v", left)
		}
	}
}

// TestAStopDoesNotWaitForAFarSide: a process whose bank, carrier, receivers or collector take each request and answer none
// ends within its grace. Its status says whether a task was given back unfinished: another worker takes it.
func TestAStopDoesNotWaitForAFarSide(t *testing.T) {
	t.Parallel()

	for _, row := range []struct {
		about, bin string
		env        func(far string) []string
		asked      []string
		status     []int
	}{
		{"a bank", "slowbank", func(far string) []string { return []string{slowBankURL + "=" + far + "/bank"} }, []string{"/bank"}, []int{forced}},
		{"a bank whose client does not listen", "slowbank", func(far string) []string {
			return []string{slowBankURL + "=" + far + "/bank", bankIsDeaf + "=1"}
		}, []string{"/bank"}, []int{forced}},
		{"a collector and a receiver", "ratchet", func(far string) []string {
			return []string{"RATCHET_OTLP_ENDPOINT=" + far + "/otlp", "RATCHET_NOTIFY=" + far + "/hook", "RATCHET_WEBHOOK_SECRET=" + webhooks.NewSecret().Reveal(), "RATCHET_BANK=sandbox", "RATCHET_CARRIER=sandbox"}
		}, []string{"/otlp/v1/traces", "/otlp/v1/logs", "/hook"}, []int{0}},
	} {
		t.Run(row.about, func(t *testing.T) {
			t.Parallel()

			far, dir := newSilent(t), t.TempDir()
			running := program.Process{
				Bin: program.Self(t, row.bin), Dir: dir, Name: "dev", Env: row.env(far.URL),
				Args: []string{"dev", "--json", "--data", filepath.Join(dir, "data"), "--listen", "127.0.0.1:0", "--api-listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"},
			}.Start(t)

			var at banner
			if line := running.FirstLine(t); json.Unmarshal([]byte(line), &at) != nil || at.API == "" {
				t.Fatalf("the first line: %s", line)
			}

			b := busy{t, at, make(chan string, 100)}
			b.do(http.MethodPut, "/v1/inventory/mug", `{"available":10}`)
			b.do(http.MethodPut, "/v1/orders/o-1", `{"items":[{"sku":"mug","quantity":2,"price":1250}],"total":{"amount":2500,"currency":"EUR"}}`)
			far.wait(t, row.asked...)

			began := time.Now()
			status := running.Terminate(t)

			took := time.Since(began)
			t.Logf("it ended with status %d within %v", status, took.Round(time.Millisecond))

			if took > workerGrace || !slices.Contains(row.status, status) {
				t.Errorf("it ended with status %d after %v", status, took)
			}

			if log, err := os.ReadFile(running.Log()); err != nil || bytes.Contains(log, []byte("panic")) {
				t.Errorf("the log: %v", err)
			}
		})
	}
}
