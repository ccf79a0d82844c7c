package reconcile

import (
	"fmt"

	"ratchet/payments"
)

const done = string(payments.Succeeded)

// judge reports everything that the sides of a key disagree about.
func (r *run) judge(key string, s *sides) error {
	all := append(s.againstFile(key), s.againstLedger(key)...)
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

// againstFile compares the payment's step with the file's line. What neither side has
// done needs no line.
func (s *sides) againstFile(key string) (all []Mismatch) {
	if len(s.there) == 0 {
		if s.here != nil && s.here.state == done {
			all = append(all, Mismatch{Reason: MissingThere, Key: key, Here: s.here.String()})
		}
		return all
	}

	there := s.there[0]
	for _, again := range s.there[1:] {
		all = append(all, Mismatch{Reason: Duplicate, Key: key, Line: again.line, There: again.String()})
	}

	if s.here == nil {
		if there.state == done {
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
	differ(OtherState, s.here.state, there.state, there.line)

	return all
}

// againstLedger compares the payment's step with the transfer under its key.
func (s *sides) againstLedger(key string) []Mismatch {
	var said, moved string
	if s.here != nil && s.here.state == done {
		said = s.here.String()
	}

	if s.booked != nil {
		moved = s.booked.String()
	}

	if said == moved {
		return nil
	}

	const nothing = "nothing"
	if said == "" {
		said = nothing
	}

	if moved == "" {
		moved = nothing
	}

	return []Mismatch{{Reason: OtherLedger, Key: key, Here: "payment: " + said + "; ledger: " + moved}}
}

func (r record) String() string {
	return fmt.Sprintf("%s %d %s %s", r.kind, r.amount, r.currency, r.state)
}
