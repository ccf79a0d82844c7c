package reconcile_test

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"ratchet/embedded/embeddedtest"
	"ratchet/once/ledger"
	"ratchet/payments"
	"ratchet/payments/reconcile"
	"ratchet/payments/sandbox"
	"ratchet/tests/shop"
	"ratchet/workflow"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// seller takes payments on an engine of its own.
type seller struct {
	*payments.Payments
	ledger  *ledger.Ledger
	sandbox *sandbox.Bank
}

func newSeller(t testing.TB) *seller {
	t.Helper()

	kit := shop.Over(t, embeddedtest.Open(t).AWSConfig())
	s := &seller{ledger: kit.Ledger(), sandbox: kit.Bank()}
	s.Payments = kit.Payments(s.ledger, s.sandbox)
	kit.Accounts(s.ledger, ledger.NewAccount{ID: "clearing", Currency: "BRL", Overdraft: true}, ledger.NewAccount{ID: "shop", Currency: "BRL"})

	return s
}

const header = "key,kind,amount,currency,state\n"

// report is the processor's file.
func (s *seller) report(t testing.TB) []string {
	t.Helper()
	var lines []string

	err := s.sandbox.Report(t.Context(), func(key, kind string, amount int64, currency string) error {
		lines = append(lines, fmt.Sprintf("%s,%s,%d,%s,succeeded\n", key, kind, amount, currency))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(lines)

	return lines
}

// run reconciles a file and returns the mismatches as text.
func (s *seller) run(t testing.TB, file string, change func(*reconcile.Config)) ([]string, reconcile.Totals) {
	t.Helper()

	cfg := reconcile.Config{Payments: s, Ledger: s.ledger, Dir: t.TempDir()}
	if change != nil {
		change(&cfg)
	}
	var all []string

	totals, err := reconcile.Run(t.Context(), strings.NewReader(file), cfg, func(m reconcile.Mismatch) error {
		all = append(all, fmt.Sprintf("%s %s line %d: here %q, there %q", m.Reason, m.Key, m.Line, m.Here, m.There))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}

	if left, err := os.ReadDir(cfg.Dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	slices.Sort(all)

	return all, totals
}

// take authorizes and captures.
func (s *seller) take(t testing.TB, id string, amount int64) {
	t.Helper()

	if _, err := s.Authorize(t.Context(), payments.NewPayment{ID: id, OrderID: id, Payer: "clearing", Payee: "shop", Amount: amount, Currency: "BRL"}); err != nil {
		t.Fatal(err)
	}

	if _, err := s.Capture(t.Context(), id, payments.StepRequest{ID: "c", Amount: amount}); err != nil {
		t.Fatal(err)
	}
}

// charge takes the money at once.
func (s *seller) charge(t testing.TB, id string, amount int64) {
	t.Helper()

	if _, err := s.Charge(t.Context(), payments.NewPayment{ID: id, OrderID: id, Payer: "clearing", Payee: "shop", Amount: amount, Currency: "BRL"}); err != nil {
		t.Fatal(err)
	}
}

// TestPaymentsReconcile takes the payments of real orders and gives some back; the
// sandbox's report agrees, and each planted difference is found.
func TestPaymentsReconcile(t *testing.T) {
	file, err := os.Open("../../../shared/data/olist/payments.csv")
	if err != nil {
		t.Skip("the real orders are not here: ", err)
	}
	defer file.Close()

	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}

	s := newSeller(t)
	count := 0
	for _, row := range rows[1:] {
		value, err := strconv.ParseFloat(row[4], 64)
		if err != nil || value == 0 || count == 300 {
			continue
		}
		count++
		id := row[0] + "-" + row[1]
		amount := int64(math.Round(value * 100))

		if count%3 == 0 {
			s.charge(t, id, amount)
		} else {
			s.take(t, id, amount)
		}

		if count%10 == 0 {
			if _, err := s.Refund(t.Context(), id, payments.StepRequest{ID: "r", Amount: (amount + 1) / 2}); err != nil {
				t.Fatal(err)
			}
		}
	}

	lines := s.report(t)
	if got, totals := s.run(t, header+strings.Join(lines, ""), nil); len(got) != 0 || totals.Matched != 330 || totals.Lines != 330 || totals.Steps != 330 || totals.Transfers != 330 {
		t.Errorf("%v, %+v", got, totals)
	}
	key := func(i int) string { k, _, _ := strings.Cut(lines[i], ","); return k }
	var want []string
	plant := func(reason reconcile.Reason, i int) {
		want = append(want, fmt.Sprintf("%s %s", reason, key(i)))
	}
	plant(reconcile.MissingThere, 3)
	plant(reconcile.OtherAmount, 5)
	plant(reconcile.OtherCurrency, 7)
	plant(reconcile.OtherState, 9)
	plant(reconcile.Duplicate, 11)
	plant(reconcile.OtherKind, 13)
	amount, _ := strconv.Atoi(strings.Split(lines[5], ",")[2])
	lines[5] = strings.Replace(lines[5], fmt.Sprintf(",%d,", amount), fmt.Sprintf(",%d,", amount+1), 1)
	lines[7] = strings.Replace(lines[7], "BRL", "EUR", 1)
	lines[9] = strings.Replace(lines[9], "succeeded", "failed", 1)
	lines[13] = strings.NewReplacer(",capture,", ",chargeback,", ",charge,", ",chargeback,", ",refund,", ",chargeback,").Replace(lines[13])
	lines = append(lines, lines[11], "unknown/c,capture,1,BRL,succeeded\n", "unknown/f,capture,1,BRL,failed\n", "not a line\n")
	lines[3] = ""
	want = append(want, "missing-here unknown/c")
	bad := 0

	got, totals := s.run(t, header+strings.Join(lines, ""), func(c *reconcile.Config) { c.Events.BadLine = func(line int, err error) { bad = line } })
	for i, g := range got {
		got[i], _, _ = strings.Cut(g, " line ")
	}
	slices.Sort(want)

	if !slices.Equal(got, want) || totals.Mismatched != 7 || totals.BadLines != 1 || bad != len(lines) {
		t.Errorf("found %v\nwant  %v\n%+v, bad line %d", got, want, totals, bad)
	}
}

func TestDifferenceToTheLedgerIsReported(t *testing.T) {
	s := newSeller(t)
	s.take(t, "p", 100)
	// A transfer that looks like a payment's, and no payment made.
	stray := ledger.Move("q/c", "clearing", "shop", 5, "BRL")
	stray.Reference = "payment capture"

	owned, err := s.ledger.Owned("payment")
	if err != nil {
		t.Fatal(err)
	}

	if _, err := owned.Post(t.Context(), stray); err != nil {
		t.Fatal(err)
	}

	other := stray // a transfer of the plain ledger with the same reference
	other.ID = "other"
	if _, err := s.ledger.Post(t.Context(), other); err != nil {
		t.Fatal(err)
	}

	got, totals := s.run(t, header+strings.Join(s.report(t), ""), nil)
	if len(got) != 1 || !strings.HasPrefix(got[0], "ledger q/c") || totals.Transfers != 2 {
		t.Errorf("%v, %+v", got, totals)
	}
}

func TestUntilLeavesOutYoungerSteps(t *testing.T) {
	s := newSeller(t)
	s.take(t, "p", 100)

	for until, want := range map[time.Time]int{time.Now().Add(-time.Hour): 0, time.Now().Add(time.Hour): 1, {}: 1} {
		if got, _ := s.run(t, header, func(c *reconcile.Config) { c.Until = until }); len(got) != want {
			t.Errorf("until %s: %v", until, got)
		}
	}
}

// TestStepsOfUntilOrLater says what is compared of a step that ended at Until or later, or
// whose transfer is that young.
func TestStepsOfUntilOrLater(t *testing.T) {
	until := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	before, after := until.Add(-time.Millisecond), until // After begins at until itself

	for _, c := range []struct {
		name     string
		line     string
		step     payments.Outcome // "" for no step
		stepAt   time.Time
		transfer bool
		transAt  time.Time
		want     string
		matched  int
	}{
		{
			name: "a young step that the file has is not missing here",
			line: "p/c,capture,100,EUR,succeeded",
			step: payments.Succeeded, stepAt: after, transfer: true, transAt: after,
			matched: 1,
		},
		{
			name: "a young step that the file does not have is left out",
			step: payments.Succeeded, stepAt: after, transfer: true, transAt: after,
		},
		{
			name: "an old step that the file does not have is reported",
			step: payments.Succeeded, stepAt: before, transfer: true, transAt: before,
			want: "missing-there",
		},
		{
			name: "the amount of a young step is compared",
			line: "p/c,capture,99,EUR,succeeded",
			step: payments.Succeeded, stepAt: after, transfer: true, transAt: after,
			want: "amount",
		},
		{
			name: "the end of a young step is compared",
			line: "p/c,capture,100,EUR,succeeded",
			step: payments.Failed, stepAt: after,
			want: "state",
		},
		{
			name: "a young step may have ended in the file only",
			line: "p/c,capture,100,EUR,succeeded",
			step: payments.Pending, stepAt: after,
			matched: 1,
		},
		{
			name: "a young step may have ended here only",
			line: "p/c,capture,100,EUR,pending",
			step: payments.Succeeded, stepAt: after, transfer: true, transAt: after,
			matched: 1,
		},
		{
			name: "an old step that has ended in the file only is reported",
			line: "p/c,capture,100,EUR,succeeded",
			step: payments.Pending, stepAt: before,
			want: "state",
		},
		{
			name: "a line that no payment knows is reported",
			line: "p/c,capture,100,EUR,succeeded",
			want: "missing-here",
		},
		{
			name: "the step is a moment older than its transfer",
			line: "p/c,capture,100,EUR,succeeded",
			step: payments.Succeeded, stepAt: before, transfer: true, transAt: after,
			matched: 1,
		},
		{
			name: "the step is a moment younger than its transfer",
			line: "p/c,capture,100,EUR,succeeded",
			step: payments.Succeeded, stepAt: after, transfer: true, transAt: before,
			matched: 1,
		},
		{
			name: "a young transfer of a step that was pending when it was read",
			line: "p/c,capture,100,EUR,pending",
			step: payments.Pending, stepAt: before, transfer: true, transAt: after,
			matched: 1,
		},
		{
			name:     "an old transfer without a step is reported",
			transfer: true, transAt: before,
			want: "ledger",
		},
		{
			name: "an old step without a transfer is reported",
			line: "p/c,capture,100,EUR,succeeded",
			step: payments.Succeeded, stepAt: before,
			want: "ledger",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var lists fixed
			if c.step != "" {
				lists.payments = []payments.Payment{{
					NewPayment: payments.NewPayment{ID: "p", Currency: "EUR"},
					Steps:      []payments.Step{{ID: "c", Kind: payments.Capturing, Amount: 100, Outcome: c.step, At: c.stepAt}},
				}}
			}

			if c.transfer {
				posted := ledger.Posted{Transfer: ledger.Move("p/c#payment", "a", "b", 100, "EUR"), At: c.transAt}
				posted.Reference = "payment capture"
				lists.transfers = []ledger.Posted{posted}
			}

			var reasons []string
			cfg := reconcile.Config{Payments: lists, Ledger: lists, Until: until, Dir: t.TempDir()}.Partitioned(1)
			totals, err := reconcile.Run(t.Context(), strings.NewReader(header+c.line), cfg, func(m reconcile.Mismatch) error {
				reasons = append(reasons, string(m.Reason))
				return nil
			})

			if got := strings.Join(reasons, " "); err != nil || got != c.want || totals.Matched != c.matched {
				t.Errorf("found %q, want %q; %+v, %v", got, c.want, totals, err)
			}
		})
	}
}

func TestBadLinesAreReportedAndSkipped(t *testing.T) {
	s := newSeller(t)
	long := strings.Repeat("x", 200_000)
	file := "\ufeffstate,currency,note,amount,kind,key\r\n" +
		"succeeded,BRL,a note,100,capture,p/c\r\n" + // 2: good
		"\n" + // 3: empty
		"succeeded,BRL,x,0,capture,p/c\n" + // 4
		"succeeded,BRL,x,1.5,capture,p/c\n" + // 5
		"succeeded,brl,x,1,capture,p/c\n" + // 6
		"done,BRL,x,1,capture,p/c\n" + // 7
		"succeeded,BRL,x,1,sale,p/c\n" + // 8
		"succeeded,BRL,x,1,capture,p c\n" + // 9
		"succeeded,BRL\n" + // 10
		"succeeded,BRL,\"x,1,capture,p/c\n" + // 11: an open quote swallows no other line
		"succeeded,BRL," + long + ",1,capture,p/c\n" + // 12
		"succeeded,BRL,\"a, \"\"quoted\"\" note\",7,capture,q/c" // 13: good, no newline

	var bad []int
	got, totals := s.run(t, file, func(c *reconcile.Config) {
		c.Events.BadLine = func(line int, err error) {
			if strings.Contains(err.Error(), "xxx") {
				t.Error("the line's content is in the error")
			}
			bad = append(bad, line)
		}
	})
	if !slices.Equal(bad, []int{4, 5, 6, 7, 8, 9, 10, 11, 12}) || totals.Lines != 2 || len(got) != 2 {
		t.Errorf("bad lines %v, %+v, %v", bad, totals, got)
	}

	for name, file := range map[string]string{"empty": "", "no header": "p/c,capture,1,BRL,succeeded\n", "a column short": "key,kind,amount,currency\n"} {
		_, err := reconcile.Run(t.Context(), strings.NewReader(file), reconcile.Config{Payments: s, Ledger: s.ledger}, func(reconcile.Mismatch) error { return nil })
		if err == nil || !strings.Contains(err.Error(), "header") {
			t.Errorf("%s: %v", name, err)
		}
	}

	stop := errors.New("stop")
	if _, err := reconcile.Run(t.Context(), strings.NewReader(header+"p/c,capture,1,BRL,succeeded\n"), reconcile.Config{Payments: s, Ledger: s.ledger},
		func(reconcile.Mismatch) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}

	_, err := reconcile.Run(t.Context(), strings.NewReader(header), reconcile.Config{}, nil)
	for _, field := range []string{"Payments", "Ledger"} {
		if err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("want %s, got %v", field, err)
		}
	}
}

// fixed is lists that are just there.
type fixed struct {
	payments  []payments.Payment
	transfers []ledger.Posted
}

func (f fixed) List(context.Context, workflow.State, string, int) ([]payments.Payment, string, error) {
	return f.payments, "", nil
}

func (f fixed) Transfers(context.Context, string, int) ([]ledger.Posted, string, error) {
	return f.transfers, "", nil
}

// TestNumberOfPartitionsChangesNoResult reconciles random lists with one small file
// and with many.
func TestNumberOfPartitionsChangesNoResult(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var lists fixed
		var file strings.Builder
		file.WriteString(header)

		n := rapid.IntRange(0, 30).Draw(rt, "keys")
		agreed := 0
		for i := range n {
			id, amount := fmt.Sprint("p-", i), int64(1+i)
			here, there, booked := rapid.Bool().Draw(rt, "here"), rapid.Bool().Draw(rt, "there"), rapid.Bool().Draw(rt, "booked")
			if here {
				lists.payments = append(lists.payments, payments.Payment{NewPayment: payments.NewPayment{ID: id, Currency: "EUR"},
					Steps: []payments.Step{{ID: "c", Kind: payments.Capturing, Amount: amount, Outcome: payments.Succeeded}}})
			}

			if there {
				fmt.Fprintf(&file, "%s/c,capture,%d,EUR,succeeded\n", id, amount)
			}

			if booked {
				posted := ledger.Posted{Transfer: ledger.Move(id+"/c#payment", "a", "b", amount, "EUR")}
				posted.Reference = "payment capture"
				lists.transfers = append(lists.transfers, posted)
			}

			if here && there && booked {
				agreed++
			}
		}

		var results [2]string
		for i, partitions := range []int{1, 9} {
			var found []string

			totals, err := reconcile.Run(t.Context(), strings.NewReader(file.String()), reconcile.Config{Payments: lists, Ledger: lists}.Partitioned(partitions),
				func(m reconcile.Mismatch) error { found = append(found, fmt.Sprint(m)); return nil })
			if err != nil || totals.Matched != agreed {
				rt.Fatalf("%+v, %v; %d agree", totals, err, agreed)
			}
			slices.Sort(found)
			results[i] = fmt.Sprint(found, totals)
		}

		if results[0] != results[1] {
			rt.Fatalf("one small file: %s\nmany: %s", results[0], results[1])
		}
	})
}

func FuzzFile(f *testing.F) {
	f.Add(header + "p/c,capture,100,EUR,succeeded\n")
	f.Add("key,kind,amount,currency,state,\"x\ny\"\n\"\"\"")
	f.Add("\ufeffkey,key,kind,amount,currency,state\r\n,,,,,\n\"p/c\",a,capture,1,EUR,pending")
	f.Fuzz(func(t *testing.T, file string) {
		bad := 0
		totals, err := reconcile.Run(t.Context(), strings.NewReader(file), reconcile.Config{Payments: fixed{}, Ledger: fixed{}, Dir: t.TempDir(),
			Events: reconcile.Events{BadLine: func(line int, _ error) {
				if bad++; line < 2 {
					t.Errorf("bad line %d", line)
				}
			}}}.Partitioned(2), func(m reconcile.Mismatch) error {
			if m.Line < 2 || m.Key == "" {
				t.Errorf("%+v", m)
			}
			return nil
		})
		if err == nil && totals.BadLines != bad {
			t.Errorf("%+v, told %d", totals, bad)
		}
	})
}
