package reconcile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"ratchet/once/ledger"
	"ratchet/payments"
	"ratchet/workflow"
)

var (
	kinds  = []string{string(payments.Charging), string(payments.Capturing), string(payments.Refunding), string(payments.ChargingBack)}
	states = []string{string(payments.Succeeded), string(payments.Failed), string(payments.Pending)}
)

// Reason says how the lists differ about a key. The texts are part of the output of
// `ratchet reconcile` and never change.
type Reason string

// The reasons.
const (
	// MissingHere means that the file has the step as succeeded, and no payment has it.
	MissingHere Reason = "missing-here"
	// PaidElsewhere is MissingHere for a step of an order that was paid elsewhere: see Config.Elsewhere. It is said, and is
	// no mismatch.
	PaidElsewhere Reason = "paid-elsewhere"
	// MissingThere means that a payment's step has succeeded, and the file does not have the step.
	MissingThere Reason = "missing-there"
	// The payment's step and the line of the file have different kinds, amounts, currencies or states.
	OtherKind     Reason = "kind"
	OtherAmount   Reason = "amount"
	OtherCurrency Reason = "currency"
	OtherState    Reason = "state"
	// Duplicate means that the file has the key more than once.
	Duplicate Reason = "duplicate"
	// OtherLedger means that the ledger's transfer differs from the payment's step, or that one of the
	// two is missing.
	OtherLedger Reason = "ledger"
)

// Mismatch is one difference.
type Mismatch struct {
	Reason Reason `json:"reason"`
	Key    string `json:"key"`
	// Line is the number of the line in the file, from 1. It is 0 if no line belongs to the mismatch.
	Line int `json:"line,omitempty"`
	// Here is the value in the payment, There the value in the file.
	Here  string `json:"here,omitempty"`
	There string `json:"there,omitempty"`
}

// Totals are the numbers of a run.
type Totals struct {
	Lines    int `json:"lines"`
	BadLines int `json:"badLines"`
	// Steps and Transfers do not count records of Until or later.
	Steps     int `json:"steps"`
	Transfers int `json:"transfers"`
	// Matched is the number of keys on which all lists agree.
	Matched    int `json:"matched"`
	Mismatched int `json:"mismatched"`
	// Elsewhere is the number of keys of payments that were made elsewhere.
	Elsewhere int            `json:"paidElsewhere,omitempty"`
	Reasons   map[Reason]int `json:"reasons,omitempty"`
}

// paymentLister has the method of payments.Payments that this package calls.
type paymentLister interface {
	List(ctx context.Context, state workflow.State, after string, limit int) ([]payments.Payment, string, error)
}

// transferLister has the method of ledger.Ledger that this package calls.
type transferLister interface {
	Transfers(ctx context.Context, after string, limit int) ([]ledger.Posted, string, error)
}

// Config configures [Run].
type Config struct {
	// Payments and Ledger are required.
	Payments paymentLister
	Ledger   transferLister
	// Until is the time up to which the file is complete. The file may not have steps of that time or
	// later yet. So a step or transfer of that time or later is never reported as missing; it is
	// compared with the lists that have its key. Zero means that the file is complete.
	Until time.Time
	// Dir is the directory for the temporary files, which take about 120 bytes for each
	// record. Default: the system's directory for temporary files.
	Dir string
	// Elsewhere reports whether a payment that is not here was made elsewhere, by the name before the step in its
	// key. Optional.
	Elsewhere func(ctx context.Context, payment string) (bool, error)
	// Events are optional.
	Events Events

	partitions int // temporary files; fewer in tests
}

// Events are called during a run.
type Events struct {
	// BadLine is called for each line of the file that cannot be read.
	BadLine func(line int, err error)
	// Progress is called now and then with a list ("file", "payments", "ledger",
	// "compared") and the number of its records so far.
	Progress func(list string, n int)
}

const (
	defaultPartitions = 256
	pageSize          = 1000 // payments or transfers that are read together
)

func (c *Config) check() error {
	c.partitions = cmp.Or(c.partitions, defaultPartitions)

	var faults []error
	if c.Payments == nil {
		faults = append(faults, errors.New("reconcile: Config.Payments: must be set"))
	}

	if c.Ledger == nil {
		faults = append(faults, errors.New("reconcile: Config.Ledger: must be set"))
	}

	if c.Events.BadLine == nil {
		c.Events.BadLine = func(int, error) {}
	}

	if c.Elsewhere == nil {
		c.Elsewhere = func(context.Context, string) (bool, error) { return false, nil }
	}

	if c.Events.Progress == nil {
		c.Events.Progress = func(string, int) {}
	}

	return errors.Join(faults...)
}

// run is one call of Run.
type run struct {
	Config
	parts  *partitions
	found  func(Mismatch) error
	totals Totals
}

// Run compares the processor's file with payments and ledger. It calls found for each
// difference; an error of found ends the run.
func Run(ctx context.Context, file io.Reader, cfg Config, found func(Mismatch) error) (totals Totals, err error) {
	if err := cfg.check(); err != nil {
		return totals, err
	}

	r := &run{Config: cfg, found: found, totals: Totals{Reasons: map[Reason]int{}}}
	if r.parts, err = newPartitions(cfg.Dir, cfg.partitions); err != nil {
		return totals, fmt.Errorf("reconcile: %w", err)
	}
	// Removed after errors, too: the files name payments.
	defer func() { err = errors.Join(err, r.parts.remove()) }()

	readFile := func(ctx context.Context) error { return r.file(ctx, file) }
	for _, step := range []func(context.Context) error{readFile, r.payments, r.ledger, r.compare} {
		if err := step(ctx); err != nil {
			return r.totals, fmt.Errorf("reconcile: %w", err)
		}
	}

	return r.totals, nil
}

// file reads the processor's file.
func (r *run) file(ctx context.Context, file io.Reader) error {
	lines, err := openFile(file)
	if err != nil {
		return err
	}

	for {
		rec, err := lines.next()
		switch {
		case errors.Is(err, io.EOF):
			r.Events.Progress("file", r.totals.Lines)
			return nil
		// A bad line does not end the run: the other lines still show differences.
		case errors.Is(err, errLine):
			r.totals.BadLines++
			r.Events.BadLine(rec.line, err)
			continue
		case err != nil:
			return err
		}

		const linesPerProgress = 10_000
		if r.totals.Lines++; r.totals.Lines%linesPerProgress == 0 {
			r.Events.Progress("file", r.totals.Lines)

			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
		}

		if err := r.parts.add(fromFile, rec); err != nil {
			return err
		}
	}
}

// tooYoung reports whether the time is Until or later: the file may not have the record yet.
func (r *run) tooYoung(at time.Time) bool { return !r.Until.IsZero() && !at.Before(r.Until) }

// payments reads the steps of all payments.
func (r *run) payments(ctx context.Context) error {
	for after := ""; ; {
		page, next, err := r.Payments.List(ctx, "", after, pageSize)
		if err != nil {
			return err
		}

		for _, p := range page {
			if err := r.steps(p); err != nil {
				return err
			}
		}

		r.Events.Progress("payments", r.totals.Steps)

		if after = next; after == "" {
			return nil
		}
	}
}

// steps adds the steps of one payment that move money.
func (r *run) steps(p payments.Payment) error {
	steps := p.Steps
	if p.Pending != nil {
		// The processor may have ended a step that is still pending here.
		steps = append(steps, *p.Pending)
	}

	for _, s := range steps {
		if !slices.Contains(kinds, string(s.Kind)) {
			continue
		}

		young := r.tooYoung(s.At)
		if !young {
			r.totals.Steps++
		}

		rec := record{
			key:      p.ID + "/" + s.ID,
			kind:     string(s.Kind),
			amount:   s.Amount,
			currency: p.Currency,
			state:    string(s.Outcome),
			young:    young,
		}
		if err := r.parts.add(fromPayments, rec); err != nil {
			return err
		}
	}

	return nil
}

// ledger reads the transfers of payments.
func (r *run) ledger(ctx context.Context) error {
	for after := ""; ; {
		page, next, err := r.Ledger.Transfers(ctx, after, pageSize)
		if err != nil {
			return err
		}

		for _, t := range page {
			key, kind, ok := payments.ParseTransfer(t.Transfer)
			if !ok {
				continue
			}

			young := r.tooYoung(t.At)
			if !young {
				r.totals.Transfers++
			}

			// The credits of a transfer add up to its amount.
			rec := record{key: key, kind: string(kind), currency: t.Currency, state: succeeded, young: young}
			for _, leg := range t.Legs {
				rec.amount += max(leg.Amount, 0)
			}

			if err := r.parts.add(fromLedger, rec); err != nil {
				return err
			}
		}

		r.Events.Progress("ledger", r.totals.Transfers)

		if after = next; after == "" {
			return nil
		}
	}
}
