package reconcile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"ratchet/once/ledger"
	"ratchet/payments"
	"ratchet/workflow"
)

// many is lists of so many payments, each with a transfer.
type many int

func (n many) List(context.Context, workflow.State, string, int) (all []payments.Payment, _ string, _ error) {
	for i := range n {
		all = append(all, payments.Payment{
			NewPayment: payments.NewPayment{ID: fmt.Sprint("p-", i), Currency: "EUR"},
			Steps:      []payments.Step{{ID: "c", Kind: payments.Capturing, Amount: 1, Outcome: payments.Succeeded}},
		})
	}

	return all, "", nil
}

func (n many) Transfers(context.Context, string, int) (all []ledger.Posted, _ string, _ error) {
	for i := range n {
		posted := ledger.Posted{Transfer: ledger.Move(fmt.Sprint("p-", i, "/c#payment"), "a", "b", 1, "EUR")}
		posted.Reference = "payment capture"
		all = append(all, posted)
	}

	return all, "", nil
}

// closedRun is a run whose temporary file takes no more than its buffer.
func closedRun(t *testing.T) *run {
	t.Helper()

	lists := many(1000)

	r := &run{Config: Config{Payments: lists, Ledger: lists, partitions: 1}}
	if err := r.check(); err != nil {
		t.Fatal(err)
	}

	var err error
	if r.parts, err = newPartitions(t.TempDir(), 1); err != nil {
		t.Fatal(err)
	}

	if err := r.parts.files[0].Close(); err != nil {
		t.Fatal(err)
	}

	return r
}

// A temporary file that takes no more records is an error of the list that is being read.
func TestARecordThatCannotBeStoredEndsTheRun(t *testing.T) {
	file := "key,kind,amount,currency,state\n" + strings.Repeat("p/c,capture,1,EUR,succeeded\n", 1000)

	for name, step := range map[string]func(*run) error{
		"file":     func(r *run) error { return r.file(t.Context(), strings.NewReader(file)) },
		"payments": func(r *run) error { return r.payments(t.Context()) },
		"ledger":   func(r *run) error { return r.ledger(t.Context()) },
		"compare": func(r *run) error {
			if err := r.parts.add(fromFile, record{key: "p/c"}); err != nil {
				t.Fatal(err) // the buffer takes it
			}

			return r.compare(t.Context())
		},
		"compare nothing": func(r *run) error { return r.compare(t.Context()) },
	} {
		if err := step(closedRun(t)); !errors.Is(err, os.ErrClosed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A damaged temporary file is an error, and no difference.
func TestADamagedTemporaryFileIsAnError(t *testing.T) {
	p, err := newPartitions(t.TempDir(), 1)
	if err != nil {
		t.Fatal(err)
	}

	if _, err := p.files[0].WriteString("[\"t\",2,"); err != nil {
		t.Fatal(err)
	}

	if err := p.each(0, func(source, record) { t.Error("a record was read") }); err == nil {
		t.Error("no error")
	}

	if err := p.remove(); err != nil {
		t.Error(err)
	}
}
