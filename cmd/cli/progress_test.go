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
	"testing/synctest"
	"time"

	"github.com/spf13/cobra"

	"ratchet/once/ledger"
	"ratchet/payments"
	"ratchet/server"
	"ratchet/transitions"
)

// TestProgressIsALineEveryTwoSeconds: it goes on while the command counts nothing. A command of
// less than two seconds shows none, and with --quiet no command does.
func TestProgressIsALineEveryTwoSeconds(t *testing.T) {
	for _, row := range []struct {
		name  string
		quiet bool
		takes time.Duration
		want  string
	}{
		{name: "a long command", takes: 7 * time.Second, want: "1 order read (2s)\n1 order read (4s)\n1 order read (6s)\n"},
		{name: "a short command", takes: 1900 * time.Millisecond},
		{name: "a quiet command", takes: 7 * time.Second, quiet: true},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &settings{quiet: row.quiet}

				var errs bytes.Buffer
				c := s.long(&cobra.Command{Use: "read", RunE: func(*cobra.Command, []string) error {
					s.progress.print("%d order read", 1)
					time.Sleep(row.takes)

					return nil
				}}, "reading")
				c.SetErr(&errs)
				c.SetArgs(nil)

				if err := c.Execute(); err != nil {
					t.Fatal(err)
				}

				if errs.String() != row.want {
					t.Errorf("%q, want %q", errs.String(), row.want)
				}
			})
		})
	}
}

// TestProgressOnATerminalIsOneLine: it is removed before the command prints and at the end, and
// never put behind an unfinished line of the command.
func TestProgressOnATerminalIsOneLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var screen bytes.Buffer

		file, err := os.Open(os.DevNull) // without a width, so that no line is cut off
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()

		p := &progress{out: &screen, terminal: file, every: progressInterval, begun: time.Now(), shown: time.Now()}
		out := p.over(&screen)

		done, ended := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(ended)
			p.run(done)
		}()

		p.print("one")
		time.Sleep(2100 * time.Millisecond)
		p.print("two")
		time.Sleep(200 * time.Millisecond)

		if _, err := out.Write([]byte("found\n")); err != nil {
			t.Fatal(err)
		}

		time.Sleep(2050 * time.Millisecond)

		if _, err := out.Write([]byte("half ")); err != nil {
			t.Fatal(err)
		}

		time.Sleep(5 * time.Second)

		if _, err := out.Write([]byte("line\n")); err != nil {
			t.Fatal(err)
		}
		close(done)
		<-ended

		const clear = "\r\x1b[K"
		if have, want := screen.String(), "one (2s)"+clear+"two (2s)"+clear+"found\ntwo (4s)"+clear+"half line\n"; have != want {
			t.Errorf("%q, want %q", have, want)
		}
	})
}

// TestProgressGoesOnBesideAnUnfinishedLineOfAFile: buffered output and backups rarely end with a line
// feed, and a file or a pipe is not on the terminal.
func TestProgressGoesOnBesideAnUnfinishedLineOfAFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		terminal, err := os.Open(os.DevNull)
		if err != nil {
			t.Fatal(err)
		}
		defer terminal.Close()

		file, err := os.Create(filepath.Join(t.TempDir(), "codes"))
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()

		var screen bytes.Buffer
		p := &progress{out: &screen, terminal: terminal, every: progressInterval, begun: time.Now(), shown: time.Now()}

		if _, err := p.over(file).Write([]byte("half a li")); err != nil {
			t.Fatal(err)
		}

		p.print("1 of 9 codes")
		time.Sleep(progressInterval)
		p.show()

		if have, want := screen.String(), "1 of 9 codes (2s)"; have != want {
			t.Errorf("%q, want %q", have, want)
		}
	})
}

// TestNothingIsShownAfterHide: the command hides its progress while the progress makes its text.
func TestNothingIsShownAfterHide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var screen bytes.Buffer
		p := &progress{out: &screen, every: progressInterval, begun: time.Now(), shown: time.Now()}

		p.follow(func() string {
			p.hide()
			return "asking what runs"
		})
		time.Sleep(progressInterval)
		p.show()

		if screen.Len() > 0 {
			t.Errorf("%q", screen.String())
		}
	})
}

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
	"deliveries redeliver":  {"--endpoint configured --since 24h", `making deliveries due`},
	"demo":                  {"--orders 2", `\d of 2 orders  applied \d+  replayed \d+  refused \d+`},
	"deploy plan":           {"", `\d orders? read`},
	"doctor":                {"", `checking what is set up`},
	"endpoints test":        {"configured", `waiting for the answer`},
	"executions redrive":    {"--all", `\d orders looked at`},
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
	"orders rebuild-lists":  {"--order-lists", `\d orders compared`},
	"orders rebuild-timers": {"--expire-unpaid 1h", `\d orders read`},
	"streams rebuild":       {"--dry-run", `\d orders read, \d+ changes? queued`},
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
	s := ordersAt(t, func(ctx context.Context, b *server.Backend) error {
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
	data := s.flags.Lookup("data").Value.String()

	files := strings.NewReplacer("NEW", filepath.Join(dir, "new"), "BACKUP", filepath.Join(dir, "backup"),
		"FILE", filepath.Join(dir, "report.csv"), "REQUESTS", filepath.Join(dir, "requests.jsonl"))
	for name, text := range map[string]string{"FILE": "key,kind,amount,currency,state\n", "REQUESTS": `{"orderId":"o-3","event":"place"}` + "\n"} {
		if err := os.WriteFile(files.Replace(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	if _, code := printed(t, s, "backup", files.Replace("BACKUP")); code != exitOK {
		t.Fatalf("backup: exit status %d", code)
	}

	for _, c := range runnable(newRoot(server.Parts{})) {
		name := commandName(c)

		row, listed := longCommands[name]
		if _, long := c.Annotations[longAnnotation]; long != listed {
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

			root := newCommands(&settings{progressEvery: time.Nanosecond})
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
		if c, _, err := newRoot(server.Parts{}).Find(strings.Fields(name)); err != nil || commandName(c) != name {
			t.Errorf("longCommands has %s, which is no command", name)
		}
	}
}
