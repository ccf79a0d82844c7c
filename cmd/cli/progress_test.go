package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"ratchet/cmd/cli/internal/commandtest"
	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/once/ledger"
	"ratchet/payments"
	"ratchet/server"
	"ratchet/transitions"
)

// longCommands are the commands that may run for more than a few seconds, each with arguments and
// with its progress over the data of the test.
var longCommands = map[string]struct{ args, progress string }{
	"actions bulk":          {"spring --prefix SPRING --count 3 --expires-at 2028-01-01T00:00:00Z", `1 of 3 codes`},
	"audit list":            {"", `reading acts`},
	"backup":                {"NEW", `\d\.\d MB copied`},
	"claims unsettled":      {"", `reading claims, 0 found`},
	"compact":               {"", `compacting`},
	"deadletters discard":   {"--all", `reading dead letters`},
	"deadletters redrive":   {"--all", `reading dead letters`},
	"deliveries list":       {"--all", `reading deliveries`},
	"deliveries resend":     {"--endpoint configured --since 24h", `making deliveries due`},
	"demo":                  {"--orders 2", `\d of 2 orders  applied \d+  replayed \d+  refused \d+`},
	"deploy plan":           {"", `\d orders? read`},
	"doctor":                {"", `checking what is set up`},
	"endpoints test":        {"configured", `waiting for the answer`},
	"executions redrive":    {"--all", `looking at executions`},
	"executions repair":     {"", `\d orders looked at`},
	"health":                {"--url http://127.0.0.1:1", `waiting until the process is ready`},
	"init":                  {"", `creating what is missing`},
	"inventory expire":      {"", `ending reservations`},
	"jobs start":            {"executions-redrive --reason test --here", `running the job`},
	"ledger verify":         {"", `checking the ledger`},
	"orders erase":          {"--customer c-1", `\d orders read, 0 done`},
	"orders renew":          {"--all --dry-run", `\d orders? read, \d renewed`},
	"orders adopt":          {"--all --dry-run", `\d items? read, \d imported, \d refused`},
	"orders import":         {"--table --dry-run", `\d items? read, \d imported, \d refused`},
	"orders list":           {"", `\d orders read`},
	"payments list":         {"", `reading payments`},
	"restored":              {"--earliest 2026-01-31T12:00:00Z --dry-run", `\d orders? read`},
	"payments parked":       {"", `reading callbacks`},
	"payments recover":      {"", `0 steps ended, 0 authorizations expired, 0 left`},
	"payments report":       {"", `reading operations`},
	"reconcile":             {"--file FILE", `comparing the file with the payments`},
	"replay":                {"--requests REQUESTS", `0 requests sent, for 0 orders`},
	"restore":               {"BACKUP --data NEW", `\d\.\d MB of \d\.\d MB restored`},
	"status":                {"", `asking what runs`},
	"streams lag":           {"--watch 1ms", `looking for signs of life`},
	"orders rebuild-lists":  {"--order-lists", `comparing the lists`},
	"orders rebuild-timers": {"--expire-unpaid 1h", `\d orders read`},
	"streams rebuild":       {"--dry-run", `\d orders read, \d+ changes? counted`},
	"streams replay":        {"--since 1h --dry-run", `reading the stream`},
	"streams status":        {"--watch 1ms", `looking for signs of life`},
	"tasks list":            {"", `0 tasks read, 0 found`},
	"verify":                {"", `1 order compared, 0 mismatched`},
	"workflow migrate":      {"--dry-run", `\d orders counted`},
	"workflow show":         {"--counts", `\d orders counted`},
}

// stopper is the standard error of a command: it stops the command once it has seen the text.
type stopper struct {
	want *regexp.Regexp
	stop func()

	mu   sync.Mutex
	text strings.Builder
	seen bool
}

func (s *stopper) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.text.Write(text)

	if s.want.Match(text) {
		s.seen = true
		s.stop()
	}

	return len(text), nil
}

func TestLongCommandsShowProgress(t *testing.T) {
	t.Setenv("RATCHET_JOURNAL", "transactional")

	dir := t.TempDir()
	s := commandtest.OrdersAt(t, func(ctx context.Context, b *server.Backend) error {
		for _, id := range []transitions.OrderID{"o-1", "o-2"} {
			order := transitions.NewOrder{ID: id, Total: transitions.Money{Amount: 1, Currency: "EUR"}, Customer: "c-1"}
			if _, err := b.Orders.Create(ctx, order); err != nil {
				return err
			}
		}

		accounts, err := payments.OpenOrderAccounts(ctx, b.Ledger, "EUR")
		if err != nil {
			return err
		}
		_, err = b.Ledger.Post(ctx, ledger.Move("t-1", accounts.Payer, accounts.Payee, 1, "EUR"))

		return err
	})
	data := s.Flags.Lookup("data").Value.String()

	files := strings.NewReplacer("NEW", filepath.Join(dir, "new"), "BACKUP", filepath.Join(dir, "backup"),
		"FILE", filepath.Join(dir, "report.csv"), "REQUESTS", filepath.Join(dir, "requests.jsonl"))
	for name, text := range map[string]string{"FILE": "key,kind,amount,currency,state\n", "REQUESTS": `{"orderId":"o-3","event":"place"}` + "\n"} {
		if err := os.WriteFile(files.Replace(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	if _, code := printed(t, s, "backup", files.Replace("BACKUP")); code != exit.OK {
		t.Fatalf("backup: exit status %d", code)
	}

	for _, c := range runnable(newRoot(server.Parts{})) {
		name := settings.CommandName(c)

		row, listed := longCommands[name]
		if _, long := c.Annotations[settings.LongAnnotation]; long != listed {
			t.Errorf("%s: shows progress: %t, is listed as long: %t", name, long, listed)
		}

		if !listed {
			continue
		}

		args := append(strings.Fields(name), strings.Fields(files.Replace(row.args))...)
		if ownData := strings.Contains(row.args, "--data"); !ownData && c.Flags().Lookup("data") != nil {
			args = append(args, "--data", data)
		}

		for _, quiet := range []bool{true, false} {
			ctx, stop := context.WithCancel(t.Context())
			errs := &stopper{want: regexp.MustCompile(`(?m)^` + row.progress + ` \(\d+s\)$`), stop: stop}

			s := settings.New(server.Parts{})
			s.ProgressEvery = time.Nanosecond
			root := newCommands(s)
			root.SetOut(&bytes.Buffer{})
			root.SetErr(errs)

			if quiet {
				// The command need not come to its end.
				errs.want = regexp.MustCompile(`(?m) \(\d+s\)$`)

				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, 500*time.Millisecond)
				defer cancel()

				root.SetArgs(append(args[:len(args):len(args)], "--quiet"))
			} else {
				root.SetArgs(args)
			}

			err := root.ExecuteContext(ctx)
			stop()

			if errs.seen == quiet {
				t.Errorf("%s: quiet: %t, error %v, standard error:\n%s", args, quiet, err, errs.text.String())
			}

			if err := os.RemoveAll(files.Replace("NEW")); err != nil {
				t.Fatal(err)
			}
		}
	}

	for name := range longCommands {
		if c, _, err := newRoot(server.Parts{}).Find(strings.Fields(name)); err != nil || settings.CommandName(c) != name {
			t.Errorf("longCommands has %s, which is no command", name)
		}
	}
}
