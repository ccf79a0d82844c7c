package reconcile

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"ratchet/payments"
)

const (
	succeeded = string(payments.Succeeded)
	pending   = string(payments.Pending)
)

// sides are the records of one key.
type sides struct {
	there  []record // of the file
	here   *record  // of the payment, nil for none
	ledger *record  // of the ledger, nil for none
}

// compare joins the partitions, one after the other.
func (r *run) compare(ctx context.Context) error {
	for i := range r.partitions {
		keys := map[string]*sides{}

		err := r.parts.each(i, func(from source, rec record) {
			s := keys[rec.key]
			if s == nil {
				s = &sides{}
				keys[rec.key] = s
			}

			switch from {
			// Only the file can have a key twice: steps and transfers are unique by their ids.
			case fromFile:
				s.there = append(s.there, rec)
			case fromPayments:
				s.here = &rec
			default:
				s.ledger = &rec
			}
		})
		if err != nil {
			return err
		}

		for _, key := range slices.Sorted(maps.Keys(keys)) {
			if err := r.compareKey(ctx, key, keys[key]); err != nil {
				return err
			}
		}

		// Once per partition, like the check of ctx: often enough to stop a run over a large file.
		r.Events.Progress("compared", r.totals.Matched+r.totals.Mismatched)

		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}

	return nil
}

// compareKey reports every difference between the records of a key.
func (r *run) compareKey(ctx context.Context, key string, s *sides) error {
	if s.tooYoung() {
		return nil
	}

	all := append(s.againstFile(key), s.againstLedger(key)...)

	elsewhere, err := r.isElsewhere(ctx, key, all)
	if err != nil {
		return err
	}

	if elsewhere {
		r.totals.Elsewhere++
		all[0].Reason = PaidElsewhere

		return r.found(all[0])
	}

	for _, m := range all {
		r.totals.Reasons[m.Reason]++
		if err := r.found(m); err != nil {
			return err
		}
	}

	if len(all) > 0 {
		r.totals.Mismatched++
	} else {
		r.totals.Matched++
	}

	return nil
}

// isElsewhere reports whether all that was found is a step of a payment that was made elsewhere.
func (r *run) isElsewhere(ctx context.Context, key string, all []Mismatch) (bool, error) {
	if len(all) != 1 || all[0].Reason != MissingHere {
		return false, nil
	}
	payment, _, _ := strings.Cut(key, "/")

	return r.Elsewhere(ctx, payment)
}

// tooYoung reports whether there is nothing to compare yet: the file has no line with the key, and
// the payment's and ledger's records of it are young.
func (s *sides) tooYoung() bool {
	return len(s.there) == 0 && (s.here == nil || s.here.young) && (s.ledger == nil || s.ledger.young)
}

// againstFile compares the payment's step with the line of the file. Only a step that succeeded in
// one list must be in the other.
func (s *sides) againstFile(key string) (all []Mismatch) {
	if len(s.there) == 0 {
		if s.here != nil && s.here.state == succeeded && !s.here.young {
			all = append(all, Mismatch{Reason: MissingThere, Key: key, Here: s.here.String()})
		}

		return all
	}

	// The first line is compared. Each further line with the key is reported as a duplicate.
	there := s.there[0]
	for _, repeat := range s.there[1:] {
		all = append(all, Mismatch{Reason: Duplicate, Key: key, Line: repeat.line, There: repeat.String()})
	}

	if s.here == nil {
		if there.state == succeeded {
			all = append(all, Mismatch{Reason: MissingHere, Key: key, Line: there.line, There: there.String()})
		}

		return all
	}

	differ := func(reason Reason, here, there string, line int) {
		if here != there {
			all = append(all, Mismatch{Reason: reason, Key: key, Line: line, Here: here, There: there})
		}
	}
	differ(OtherKind, s.here.kind, there.kind, there.line)
	differ(OtherAmount, fmt.Sprint(s.here.amount), fmt.Sprint(there.amount), there.line)
	differ(OtherCurrency, s.here.currency, there.currency, there.line)

	// A young step may have ended in one list and still be pending in the other.
	if !s.here.young || s.here.state != pending && there.state != pending {
		differ(OtherState, s.here.state, there.state, there.line)
	}

	return all
}

// againstLedger compares the payment's step with the transfer under its key. Only a step
// that succeeded has a transfer.
func (s *sides) againstLedger(key string) []Mismatch {
	const nothing = "nothing"

	step, transfer := nothing, nothing
	if s.here != nil && s.here.state == succeeded {
		step = s.here.String()
	}

	if s.ledger != nil {
		transfer = s.ledger.String()
	}

	// The lists are read one after the other, so one of them may lack a young record.
	young := s.here != nil && s.here.young || s.ledger != nil && s.ledger.young
	if step == transfer || young && (step == nothing || transfer == nothing) {
		return nil
	}

	return []Mismatch{{Reason: OtherLedger, Key: key, Here: "payment: " + step + "; ledger: " + transfer}}
}

func (r record) String() string {
	return fmt.Sprintf("%s %d %s %s", r.kind, r.amount, r.currency, r.state)
}
