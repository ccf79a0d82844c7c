package reconcile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"ratchet/ledger"
	"ratchet/payments"
)

var (
	kinds  = []string{string(payments.Capturing), string(payments.Refunding), string(payments.ChargingBack)}
	states = []string{string(payments.Succeeded), string(payments.Failed), string(payments.Pending)}
)

// Reason says how the lists differ about a key. The texts are part of the output of
// `ratchet reconcile`; none is ever renamed.
type Reason string

// The reasons.
const (
	// MissingHere: the processor has done it, and no payment knows of it.
	MissingHere Reason = "missing-here"
	// MissingThere: a payment has it as done, and the file does not have it.
	MissingThere Reason = "missing-there"
	// The two sides have another kind, amount, currency or state.
	OtherKind     Reason = "kind"
	OtherAmount   Reason = "amount"
	OtherCurrency Reason = "currency"
	OtherState    Reason = "state"
	// Duplicate: the file has the key more than once.
	Duplicate Reason = "duplicate"
	// OtherLedger: the ledger has not moved what the payment says, or moved what no
	// payment says.
	OtherLedger Reason = "ledger"
)

// Mismatch is one difference.
type Mismatch struct {
	Reason Reason `json:"reason"`
	Key    string `json:"key"`
	// Line is the number of the file's line, 0 when the file has none.
	Line int `json:"line,omitempty"`
	// Here and There say what the sides have.
	Here  string `json:"here,omitempty"`
	There string `json:"there,omitempty"`
}

// Totals count what was compared.
type Totals struct {
	Lines     int `json:"lines"`
	BadLines  int `json:"badLines"`
	Steps     int `json:"steps"`
	Transfers int `json:"transfers"`
	// Matched counts the keys that everybody agrees about.
	Matched    int            `json:"matched"`
	Mismatched int            `json:"mismatched"`
	Reasons    map[Reason]int `json:"reasons,omitempty"`
}

type paymentLister interface {
	List(ctx context.Context, page payments.Page) ([]payments.Payment, string, error)
}

type transferLister interface {
	Transfers(ctx context.Context, after string, limit int) ([]ledger.Posted, string, error)
}

// Config of a [Run].
type Config struct {
	// Payments and Ledger are required.
	Payments paymentLister
	Ledger   transferLister
	// Until leaves out what ended here at that time or later: the file may not have it
	// yet. Zero leaves nothing out.
	Until time.Time
	// Dir takes the temporary files: about 120 bytes for each line of each list.
	// Default the system's.
	Dir string
	// Partitions is how many small files there are, 1 to 1,024: memory is that of the
	// largest. Default 256.
	Partitions int
	// Bad is told each line that cannot be read. Default nobody.
	Bad func(line int, err error)
	// Progress is told how far it has come: of which list, how many. Default nobody.
	Progress func(list string, n int)
}

// run is one comparison.
type run struct {
	Config
	parts  *partitions
	found  func(Mismatch) error
	totals Totals
}

// Run compares the processor's file with payments and ledger and calls found for each
// difference; its error ends the run.
func Run(ctx context.Context, file io.Reader, cfg Config, found func(Mismatch) error) (totals Totals, err error) {
	cfg.Partitions = cmp.Or(cfg.Partitions, 256)
	switch {
	case cfg.Payments == nil || cfg.Ledger == nil:
		return totals, errors.New("reconcile: Config.Payments and Ledger: must be set")
	case cfg.Partitions < 1 || cfg.Partitions > 1024:
		return totals, fmt.Errorf("reconcile: Config.Partitions %d: 1 to 1024", cfg.Partitions)
	}

	if cfg.Bad == nil {
		cfg.Bad = func(int, error) {}
	}

	if cfg.Progress == nil {
		cfg.Progress = func(string, int) {}
	}

	r := &run{Config: cfg, found: found, totals: Totals{Reasons: map[Reason]int{}}}
	if r.parts, err = newPartitions(cfg.Dir, cfg.Partitions); err != nil {
		return totals, fmt.Errorf("reconcile: %w", err)
	}
	defer func() { err = errors.Join(err, r.parts.remove()) }()

	for _, list := range []func(context.Context) error{func(ctx context.Context) error { return r.file(ctx, file) }, r.payments, r.ledger, r.compare} {
		if err := list(ctx); err != nil {
			return r.totals, fmt.Errorf("reconcile: %w", err)
		}
	}

	return r.totals, nil
}

func (r *run) file(ctx context.Context, file io.Reader) error {
	lines, err := open(file)
	if err != nil {
		return err
	}

	for {
		rec, err := lines.next()
		switch {
		case errors.Is(err, io.EOF):
			r.Progress("file", r.totals.Lines)
			return nil
		case errors.Is(err, errLine):
			r.totals.BadLines++
			r.Bad(rec.line, err)
			continue
		case err != nil:
			return err
		}

		if r.totals.Lines++; r.totals.Lines%10_000 == 0 {
			r.Progress("file", r.totals.Lines)

			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
		}

		if err := r.parts.add(theirs, rec); err != nil {
			return err
		}
	}
}

// young reports what the file need not have yet.
func (r *run) young(at time.Time) bool { return !r.Until.IsZero() && !at.Before(r.Until) }

func (r *run) payments(ctx context.Context) error {
	for after := ""; ; {
		page, next, err := r.Payments.List(ctx, payments.Page{After: after, Limit: 1000})
		if err != nil {
			return err
		}

		for _, p := range page {
			if err := r.steps(p); err != nil {
				return err
			}
		}
		r.Progress("payments", r.totals.Steps)

		if after = next; after == "" {
			return nil
		}
	}
}

func (r *run) steps(p payments.Payment) error {
	steps := p.Steps
	if p.Pending != nil {
		steps = append(steps, *p.Pending)
	}

	for _, s := range steps {
		if !slices.Contains(kinds, string(s.Kind)) || r.young(s.At) {
			continue
		}

		r.totals.Steps++
		if err := r.parts.add(ours, record{key: p.ID + "/" + s.ID, kind: string(s.Kind), amount: s.Amount, currency: p.Currency, state: string(s.Outcome)}); err != nil {
			return err
		}
	}

	return nil
}

func (r *run) ledger(ctx context.Context) error {
	for after := ""; ; {
		page, next, err := r.Ledger.Transfers(ctx, after, 1000)
		if err != nil {
			return err
		}

		for _, t := range page {
			key, made := strings.CutSuffix(t.ID, "#"+payments.LedgerOwner)
			if !made || r.young(t.At) {
				continue
			}
			r.totals.Transfers++

			rec := record{key: key, kind: strings.TrimPrefix(t.Reference, payments.TransferReference), currency: t.Currency, state: string(payments.Succeeded)}
			for _, leg := range t.Legs {
				rec.amount += max(leg.Amount, 0)
			}

			if err := r.parts.add(booked, rec); err != nil {
				return err
			}
		}
		r.Progress("ledger", r.totals.Transfers)

		if after = next; after == "" {
			return nil
		}
	}
}

// sides are what the lists have under one key.
type sides struct {
	there        []record
	here, booked *record
}

// compare joins the small files, one after the other.
func (r *run) compare(ctx context.Context) error {
	for i := range r.Partitions {
		keys := map[string]*sides{}

		err := r.parts.each(i, func(from source, rec record) {
			s := keys[rec.key]
			if s == nil {
				s = &sides{}
				keys[rec.key] = s
			}

			switch from {
			case theirs:
				s.there = append(s.there, rec)
			case ours:
				s.here = &rec
			default:
				s.booked = &rec
			}
		})
		if err != nil {
			return err
		}

		for _, key := range slices.Sorted(maps.Keys(keys)) {
			if err := r.judge(key, keys[key]); err != nil {
				return err
			}
		}
		r.Progress("compared", r.totals.Matched+r.totals.Mismatched)

		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}

	return nil
}
