package crash

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ratchet/embedded/embeddedtest"
	"ratchet/once/ledger"
	"ratchet/payments"
	"ratchet/payments/reconcile"
	"ratchet/server"
	"ratchet/tests/program"
)

// until repeats fn until it succeeds or the ledger refuses it for good, every 20 ms.
func until(ctx context.Context, fn func() error) error {
	for {
		err := fn()
		var refusal *ledger.RefusedError
		if err == nil || errors.As(err, &refusal) || ctx.Err() != nil {
			return err
		}

		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// openAccounts connects to a running `ratchet dev` and opens the accounts of the tests below.
func openAccounts(t *testing.T, listen string) *server.Backend {
	t.Helper()

	b, err := server.Connect(t.Context(), server.Config{
		EndpointURL:    "http://" + listen,
		TimeoutPercent: 10,
	}, embeddedtest.Quiet(), server.Events{})
	if err != nil {
		t.Fatal(err)
	}

	for _, n := range []ledger.NewAccount{
		{ID: "clearing", Currency: "EUR", Side: ledger.Debit, Overdraft: true, Shards: 4},
		{ID: "shop", Currency: "EUR", Shards: 4},
		{ID: "a", Currency: "EUR"},
		{ID: "b", Currency: "EUR"},
	} {
		if _, _, err := b.Ledger.CreateAccount(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}

	return b
}

// checkMoney verifies the ledger and reconciles the payments with the processor's own report.
func checkMoney(t *testing.T, b *server.Backend) {
	t.Helper()

	proof, err := b.Ledger.Verify(t.Context(), func(f ledger.Finding) error { t.Errorf("%+v", f); return nil }, nil)
	if err != nil || proof.Sums["EUR"] != 0 {
		t.Errorf("%+v, %v", proof, err)
	}

	var file strings.Builder
	file.WriteString("key,kind,amount,currency,state\n")

	if err := b.Bank.Report(t.Context(), func(key, kind string, amount int64, currency string) error {
		fmt.Fprintf(&file, "%s,%s,%d,%s,succeeded\n", key, kind, amount, currency)
		return nil
	}); err != nil {
		t.Fatal(err)
	}

	totals, err := reconcile.Run(t.Context(), strings.NewReader(file.String()), reconcile.Config{
		Payments: b.Payments,
		Ledger:   b.Ledger,
		Dir:      t.TempDir(),
	},
		func(m reconcile.Mismatch) error { t.Errorf("%+v", m); return nil })
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v; %+v", proof, totals)
}

// TestKillNineInTheMiddleOfTransfers kills `ratchet dev` three times under transfers and
// payments. Afterwards every acknowledged transfer is there, and all sums are right.
func TestKillNineInTheMiddleOfTransfers(t *testing.T) {
	t.Parallel()

	const callers, each = 8, 30

	bin, dir, listen := program.Self(t, "ratchet"), t.TempDir(), program.FreeAddress(t)
	running := start(t, bin, dir, listen)
	b := openAccounts(t, listen)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()

	if _, err := b.Ledger.Post(ctx, ledger.Move("fund", "clearing", "a", 100_000, "EUR")); err != nil {
		t.Fatal(err)
	}

	var done atomic.Int32
	var acknowledged sync.Map
	var group sync.WaitGroup
	for c := range callers {
		group.Go(func() {
			for i := range each {
				id := fmt.Sprint(c, "-", i)
				err := until(ctx, func() error {
					posted, err := b.Ledger.Post(ctx, ledger.Move(id, "a", "b", 10, "EUR"))
					if err == nil {
						acknowledged.Store(id, posted.Postings[0].Sequence)
					}

					return err
				})
				if err == nil {
					err = until(ctx, func() error {
						_, err := b.Payments.Authorize(ctx, payments.NewPayment{
							ID:       id,
							OrderID:  id,
							Payer:    "clearing",
							Payee:    "shop",
							Amount:   100,
							Currency: "EUR",
						})

						return err
					})
				}

				if err == nil {
					err = until(ctx, func() error {
						_, err := b.Payments.Capture(ctx, id, payments.StepRequest{ID: "c", Amount: 100})
						return err
					})
				}

				if err == nil && i%3 == 0 {
					err = until(ctx, func() error {
						_, err := b.Payments.Refund(ctx, id, payments.StepRequest{ID: "r", Amount: 60})
						return err
					})
				}

				if err != nil {
					t.Errorf("%s: %v", id, err)
				}
				done.Add(1)
			}
		})
	}

	for quarter := int32(1); quarter <= 3; quarter++ {
		for done.Load() < quarter*callers*each/4 && ctx.Err() == nil {
			pause(ctx, 2*time.Millisecond)
		}
		running.Kill(t)
		running = start(t, bin, dir, listen)
	}
	group.Wait()

	acknowledged.Range(func(id, sequence any) bool {
		posted, found, err := b.Ledger.Transfer(ctx, id.(string))
		if err != nil || !found || posted.Postings[0].Sequence != sequence.(int64) {
			t.Errorf("transfer %s was acknowledged: %+v, %v, %v", id, posted, found, err)
		}

		return true
	})

	const all, refunds = callers * each, callers * each / 3
	for id, want := range map[string]int64{"a": 100_000 - 10*all, "b": 10 * all, "shop": 100*all - 60*refunds} {
		if a, _, err := b.Ledger.Account(ctx, id); err != nil || a.Balance != want || a.Held != 0 {
			t.Errorf("account %s: %+v, %v; want %d", id, a, err, want)
		}
	}
	checkMoney(t, b)
	running.Stop(t)
}

// TestKillNineInTheMiddleOfAPayment makes each step of a payment in a process of its own. Two
// processes are killed at a random moment; a third one makes the step without being killed.
func TestKillNineInTheMiddleOfAPayment(t *testing.T) {
	t.Parallel()

	count := 4 * *flagLoad
	bin, dir, listen := program.Self(t, "ratchet"), t.TempDir(), program.FreeAddress(t)
	running := start(t, bin, dir, listen)
	b := openAccounts(t, listen)

	// The kill comes at a random moment of a command's time, so the time is measured with
	// every command that is not killed.
	took := 50 * time.Millisecond

	command := func(kill bool, args ...string) {
		cmd := exec.CommandContext(t.Context(), bin, append(args, "--data", filepath.Join(dir, "data"), "--timeout-percent", "10")...)
		var out strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &out
		began := time.Now()

		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}

		if kill {
			pause(t.Context(), rand.N(took))
			_ = cmd.Process.Kill()
		}

		err := cmd.Wait()
		if !kill {
			took = max(took/2, time.Since(began))

			if err != nil {
				t.Errorf("%v: %v\n%s", args, err, out.String())
			}
		}
	}

	killed := 0
	for i := range count {
		id := fmt.Sprint("p-", i)
		for _, step := range [][]string{
			{"payments", "authorize", id, "--order", id, "--payer", "clearing", "--payee", "shop", "--amount", "100"},
			{"payments", "capture", id, "c", "--amount", "100"},
			{"payments", "refund", id, "r", "--amount", "40"},
		} {
			for range 2 {
				command(true, step...)
				killed++
			}
			command(false, step...)
		}

		if p, err := b.Payments.Get(t.Context(), id); err != nil || p.State != "PARTIALLY_REFUNDED" || p.Captured != 100 || p.Refunded != 40 || p.Pending != nil {
			t.Errorf("%+v, %v", p, err)
		}
	}
	t.Logf("%d processes were killed", killed)

	if a, _, err := b.Ledger.Account(t.Context(), "shop"); err != nil || a.Balance != int64(60*count) || a.Held != 0 {
		t.Errorf("%+v, %v", a, err)
	}
	checkMoney(t, b)
	running.Stop(t)
}
