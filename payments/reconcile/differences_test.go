package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"ratchet/once/ledger"
	"ratchet/payments"
	"ratchet/payments/reconcile"
	"ratchet/workflow"
)

// taken is a payment that has captured 100 EUR, with the transfer of it.
func taken(id string, at time.Time) fixed {
	posted := ledger.Posted{Transfer: ledger.Move(id+"/c#payment", "a", "b", 100, "EUR"), At: at}
	posted.Reference = "payment capture"

	return fixed{
		payments: []payments.Payment{{
			NewPayment: payments.NewPayment{ID: id, Currency: "EUR"},
			Steps:      []payments.Step{{ID: "c", Kind: payments.Capturing, Amount: 100, Outcome: payments.Succeeded, At: at}},
		}},
		transfers: []ledger.Posted{posted},
	}
}

// with returns both lists as one.
func (f fixed) with(g fixed) fixed {
	return fixed{append(slices.Clone(f.payments), g.payments...), append(slices.Clone(f.transfers), g.transfers...)}
}

// Each difference has its reason, and the totals count them.
func TestEachDifferenceHasItsReason(t *testing.T) {
	good := "p/c,capture,100,EUR,succeeded\n"
	for name, row := range map[string]struct {
		file string
		want []string
	}{
		"none":             {good, nil},
		"kind":             {"p/c,charge,100,EUR,succeeded\n", []string{"kind 2 capture charge"}},
		"amount":           {"p/c,capture,101,EUR,succeeded\n", []string{"amount 2 100 101"}},
		"currency":         {"p/c,capture,100,USD,succeeded\n", []string{"currency 2 EUR USD"}},
		"state":            {"p/c,capture,100,EUR,failed\n", []string{"state 2 succeeded failed"}},
		"all of them":      {"p/c,refund,1,USD,pending\n", []string{"kind 2 capture refund", "amount 2 100 1", "currency 2 EUR USD", "state 2 succeeded pending"}},
		"twice":            {good + good, []string{"duplicate 3  capture 100 EUR succeeded"}},
		"missing there":    {"", []string{"missing-there 0 capture 100 EUR succeeded "}},
		"missing here":     {good + "q/c,capture,5,EUR,succeeded\n", []string{"missing-here 3  capture 5 EUR succeeded"}},
		"failed elsewhere": {good + "q/c,capture,5,EUR,failed\n", nil},
	} {
		lists := taken("p", time.Time{})
		var found []string
		totals, err := reconcile.Run(t.Context(), strings.NewReader(header+row.file), reconcile.Config{Payments: lists, Ledger: lists, Dir: t.TempDir()},
			func(m reconcile.Mismatch) error {
				found = append(found, fmt.Sprint(m.Reason, " ", m.Line, " ", m.Here, " ", m.There))
				return nil
			})

		reasons := 0
		for _, n := range totals.Reasons {
			reasons += n
		}
		lines, mismatched := strings.Count(row.file, "\n"), min(len(row.want), 1)

		if err != nil || !slices.Equal(found, row.want) || reasons != len(row.want) || totals.Mismatched != mismatched ||
			totals.Lines != lines || totals.Steps != 1 || totals.Transfers != 1 {
			t.Errorf("%s: %q, want %q; %+v, %v", name, found, row.want, totals, err)
		}
	}
}

// TestAPaymentElsewhereIsNoMismatch: a step of the file about an order that was paid elsewhere is said, and no mismatch. A
// duplicate of it is one.
func TestAPaymentElsewhereIsNoMismatch(t *testing.T) {
	lists := taken("p", time.Time{})
	good := "p/c,capture,100,EUR,succeeded\n"

	for file, want := range map[string][]reconcile.Reason{
		"o-1/charge,charge,5,EUR,succeeded\n":                                    {reconcile.PaidElsewhere},
		"o-2/charge,charge,5,EUR,succeeded\n":                                    {reconcile.MissingHere},
		"o-1/charge,charge,5,EUR,succeeded\no-1/charge,charge,5,EUR,succeeded\n": {reconcile.Duplicate, reconcile.MissingHere},
	} {
		var found []reconcile.Reason

		cfg := reconcile.Config{Payments: lists, Ledger: lists, Dir: t.TempDir(), Elsewhere: func(_ context.Context, payment string) (bool, error) {
			return payment == "o-1", nil
		}}

		totals, err := reconcile.Run(t.Context(), strings.NewReader(header+good+file), cfg, func(m reconcile.Mismatch) error {
			found = append(found, m.Reason)
			return nil
		})

		elsewhere := 0
		if slices.Contains(want, reconcile.PaidElsewhere) {
			elsewhere = 1
		}

		if err != nil || !slices.Equal(found, want) || totals.Elsewhere != elsewhere || totals.Mismatched != 1-elsewhere || totals.Matched != 1 {
			t.Errorf("%q: %v, want %v; %+v, %v", file, found, want, totals, err)
		}
	}
}

// A young step and its transfer may be in one of the lists only. If both are there, they must agree.
func TestAYoungStepAgreesWithItsTransfer(t *testing.T) {
	until := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	const line = "p/c,capture,100,EUR,succeeded\n"

	step, transfer, other := taken("p", until), taken("p", until), taken("p", until)
	step.transfers, transfer.payments = nil, nil
	other.transfers[0].Legs[0].Amount, other.transfers[0].Legs[1].Amount = 99, -99

	for name, row := range map[string]struct {
		lists fixed
		file  string
		want  []reconcile.Reason
	}{
		"the ledger's list lacks it":   {step, line, nil},
		"the payments lack it":         {transfer, "", nil},
		"neither lacks it":             {taken("p", until), line, nil},
		"they differ":                  {other, line, []reconcile.Reason{reconcile.OtherLedger}},
		"an old one differs":           {other.with(taken("q", until.Add(-time.Second))), line, []reconcile.Reason{reconcile.OtherLedger, reconcile.MissingThere}},
		"the file has a young failure": {fixed{}, "p/c,capture,100,EUR,failed\n", nil},
	} {
		var found []reconcile.Reason

		totals, err := reconcile.Run(t.Context(), strings.NewReader(header+row.file),
			reconcile.Config{Payments: row.lists, Ledger: row.lists, Until: until, Dir: t.TempDir()}.Partitioned(1),
			func(m reconcile.Mismatch) error {
				found = append(found, m.Reason)
				return nil
			})
		old := 0
		if len(row.lists.payments) == 2 {
			old = 1
		}

		if err != nil || !slices.Equal(found, row.want) || totals.Steps != old || totals.Transfers != old {
			t.Errorf("%s: %v, want %v; %+v, %v", name, found, row.want, totals, err)
		}
	}
}

// The progress of each list is reported, every 10,000 lines of the file and at its end.
func TestProgressIsTold(t *testing.T) {
	const lines = 10_001
	var file strings.Builder
	file.WriteString(header)

	for i := range lines {
		fmt.Fprintf(&file, "f-%d/c,capture,1,EUR,failed\n", i)
	}
	lists := taken("p", time.Time{}).with(taken("q", time.Time{}))
	run := func(ctx context.Context, progress func(string, int)) (reconcile.Totals, error) {
		cfg := reconcile.Config{Payments: lists, Ledger: lists, Dir: t.TempDir(), Events: reconcile.Events{Progress: progress}}.Partitioned(1)
		return reconcile.Run(ctx, strings.NewReader(file.String()), cfg, func(reconcile.Mismatch) error { return nil })
	}

	var told []string
	totals, err := run(t.Context(), func(list string, n int) { told = append(told, fmt.Sprint(list, " ", n)) })
	want := []string{"file 10000", "file 10001", "payments 2", "ledger 2", "compared 10003"}

	if err != nil || totals.Lines != lines || totals.Matched != lines || totals.Mismatched != 2 || !slices.Equal(told, want) {
		t.Errorf("%v, want %v; %+v, %v", told, want, totals, err)
	}

	// A run that is stopped ends at the next progress.
	for _, at := range []string{"file", "compared"} {
		ctx, cancel := context.WithCancel(t.Context())

		totals, err = run(ctx, func(list string, _ int) {
			if list == at {
				cancel()
			}
		})
		if !errors.Is(err, context.Canceled) || at == "file" && totals.Lines != lines-1 {
			t.Errorf("stopped at %s: %+v, %v", at, totals, err)
		}
		cancel()
	}
}

// A line that cannot be used is reported with its number and the rule that it breaks.
func TestABadLineNamesTheRule(t *testing.T) {
	long := strings.Repeat("x", 64<<10)
	for line, want := range map[string]string{
		"not a line":                                             "1 columns, at least 5",
		",capture,1,EUR,succeeded":                               "key: paymentId/stepId",
		"p/c,capture,1,EUR":                                      "4 columns, at least 5",
		"p/c,capture,1000000000000,EUR,succeeded":                "",
		"p/c,capture,1000000000001,EUR,succeeded":                "amount: minor units, 1 to ",
		long + ",capture,1,EUR,succeeded":                        "more than 65536 bytes",
		"p/c,capture,1,EUR,succeeded" + long:                     "more than 65536 bytes",
		"\"p/c,capture,1,EUR,succeeded":                          "quotes: ",
		strings.Repeat("k", 128) + ",refund,1,EUR,failed":        "",
		strings.Repeat("k", 125) + "/return,refund,1,EUR,failed": "", // a returned capture
		strings.Repeat("k", 129) + ",refund,1,EUR,failed":        "key: paymentId/stepId",
	} {
		line = strings.Replace(line, "1000000000000", fmt.Sprint(int64(ledger.MaxAmount)), 1)
		line = strings.Replace(line, "1000000000001", fmt.Sprint(int64(ledger.MaxAmount)+1), 1)

		for _, end := range []string{"", "\n", "\r\n", "\nr/c,capture,1,EUR,failed\n"} {
			var bad []string
			cfg := reconcile.Config{Payments: fixed{}, Ledger: fixed{}, Dir: t.TempDir(), Events: reconcile.Events{
				BadLine: func(line int, err error) { bad = append(bad, fmt.Sprint(line, " ", err)) }}}.Partitioned(1)

			totals, err := reconcile.Run(t.Context(), strings.NewReader(header+line+end), cfg, func(reconcile.Mismatch) error { return nil })
			isBad := want != ""

			if err != nil || (len(bad) == 1) != isBad || (totals.BadLines == 1) != isBad || isBad && (!strings.HasPrefix(bad[0], "2 bad line: ") || !strings.Contains(bad[0], want)) {
				t.Errorf("%.60q: %q, want %q; %+v, %v", line+end, bad, want, totals, err)
			}
		}
	}
}

var errDisk = errors.New("the disk is gone")

// A file that cannot be read to its end is an error, and so is a list.
func TestWhatCannotBeReadEndsTheRun(t *testing.T) {
	for name, file := range map[string]string{"the header": "key,", "a line": header + "p/c,", "a long line": header + strings.Repeat("x", 70_000)} {
		totals, err := reconcile.Run(t.Context(), io.MultiReader(strings.NewReader(file), iotest.ErrReader(errDisk)),
			reconcile.Config{Payments: fixed{}, Ledger: fixed{}, Dir: t.TempDir()}, func(reconcile.Mismatch) error { return nil })
		if !errors.Is(err, errDisk) || totals.BadLines != 0 { // what is cut off is no bad line
			t.Errorf("%s: %+v, %v", name, totals, err)
		}
	}

	for name, cfg := range map[string]reconcile.Config{"payments": {Payments: gone{}, Ledger: fixed{}}, "ledger": {Payments: fixed{}, Ledger: gone{}}} {
		if _, err := reconcile.Run(t.Context(), strings.NewReader(header), cfg, func(reconcile.Mismatch) error { return nil }); !errors.Is(err, errDisk) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// gone is lists that cannot be read.
type gone struct{}

func (gone) List(context.Context, workflow.State, string, int) ([]payments.Payment, string, error) {
	return nil, "", errDisk
}

func (gone) Transfers(context.Context, string, int) ([]ledger.Posted, string, error) {
	return nil, "", errDisk
}

// The temporary files that cannot be made are an error, and nothing is left of the others.
func TestTemporaryFilesThatCannotBeMadeAreAnError(t *testing.T) {
	dir := t.TempDir()
	run := func(partitions int, dir string) error {
		_, err := reconcile.Run(t.Context(), strings.NewReader(header), reconcile.Config{Payments: fixed{}, Ledger: fixed{}, Dir: dir}.Partitioned(partitions),
			func(reconcile.Mismatch) error { return nil })

		return err
	}

	if err := run(1, dir+"/missing"); !errors.Is(err, os.ErrNotExist) || !strings.HasPrefix(err.Error(), "reconcile: ") {
		t.Errorf("no directory: %v", err)
	}

	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}

	few := limit
	few.Cur = 50
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &few); err != nil {
		t.Fatal(err)
	}

	err := run(100, dir)

	if again := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); again != nil {
		t.Fatal(again)
	}

	if !errors.Is(err, syscall.EMFILE) {
		t.Errorf("100 files where 50 may be open: %v", err)
	}

	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
