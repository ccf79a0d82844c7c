package payments

import (
	"context"
	"errors"
	"fmt"
)

// Recovered is what one call of Recover has done.
type Recovered struct {
	// Finished counts the steps that were ended, whatever the processor said; Expired
	// the authorizations that were given up.
	Finished int `json:"finished"`
	Expired  int `json:"expired"`
	// Left are the payments that it could not help, and why.
	Left []Left `json:"left,omitempty"`
	// Next is where to go on; empty at the end.
	Next string `json:"next,omitempty"`
}

// Left is a payment whose step is still under way.
type Left struct {
	PaymentID string `json:"paymentId"`
	Reason    string `json:"reason"`
}

// Recover ends the steps that a worker has left in the middle and gives up what has
// expired. It looks at up to limit (1 to 1,000) of those that are due, after the place
// that the call before returned; its cost does not grow with the number of payments.
// Any number of sweeps may run at once, and beside the payments' own workers.
func (s *Payments) Recover(ctx context.Context, after string, limit int) (r Recovered, err error) {
	if limit < 1 || limit > 1000 {
		return r, fmt.Errorf("recover payments: %w: limit %d: 1 to 1000", ErrInvalid, limit)
	}

	place, err := parsePlace(after)
	if err != nil {
		return r, fmt.Errorf("recover payments: %w", err)
	}

	now := s.cfg.Now()
	for ; place.partition < len(partitions); place = (duePlace{partition: place.partition + 1}) {
		rows, err := s.due(ctx, place, now, limit)
		if err != nil {
			return r, fmt.Errorf("recover payments: %w", err)
		}

		for _, row := range rows {
			if err := s.recover(ctx, row, &r); err != nil {
				if ctx.Err() != nil {
					return r, err
				}
				r.Left = append(r.Left, Left{row.payment, err.Error()})
			}
			place.due = row.due
		}

		if limit -= len(rows); limit == 0 {
			r.Next = place.String()
			return r, nil
		}
	}

	return r, nil
}

// recover does what a row asks for. A row is written and removed with what it speaks
// of; one that is left over all the same is removed.
func (s *Payments) recover(ctx context.Context, row dueRow, r *Recovered) error {
	p, err := s.Get(ctx, row.payment)
	switch {
	case errors.Is(err, ErrUnknownPayment):
		return s.forget(ctx, row)
	case err != nil:
		return err
	case row.step == "" && p.Pending != nil: // its step comes first
		return nil
	case row.step == "" && p.Capturable > 0:
		if _, err := s.begin(ctx, p.ID, Ask{ID: string(Expiring)}, Expiring); err != nil {
			return err
		}
		r.Expired++

		return nil
	case row.step == "" || p.Pending == nil || p.Pending.ID != row.step:
		return s.forget(ctx, row)
	}

	_, err = s.finish(ctx, p, p.Pending.ID)
	if err == nil || ended(err) {
		r.Finished++
		return nil
	}

	return err
}

// ended reports that the step came to an end, if not to the wished one.
func ended(err error) bool {
	return errors.Is(err, ErrDeclined) || errors.Is(err, ErrVoided)
}
