package payments

import (
	"context"
	"errors"
	"fmt"
)

// Recovered is the result of one call of Recover.
type Recovered struct {
	// Finished is the number of steps that ended, with any outcome.
	Finished int `json:"finished"`
	// Expired is the number of authorizations that were released.
	Expired int `json:"expired"`
	// Left has the payments whose step or expiry could not be finished.
	Left []Left `json:"left,omitempty"`
	// Next is the value of after for the next call, empty at the end.
	Next string `json:"next,omitempty"`
}

// Left is a payment that Recover could not finish.
type Left struct {
	PaymentID string `json:"paymentId"`
	Reason    string `json:"reason"`
}

// Recover finishes the steps that have been pending for longer than 30 s and releases expired
// authorizations. It reads up to limit (1 to 1,000) due rows behind after, which is the Next of the
// previous call, or empty for the beginning. Its cost does not grow with the number of payments. Any
// number of calls may run at once, also while other methods work on the same payments.
func (s *Payments) Recover(ctx context.Context, after string, limit int) (r Recovered, err error) {
	if err := checkLimit(limit); err != nil {
		return r, fmt.Errorf("recover payments: %w", err)
	}

	place, err := parseDuePlace(after)
	if err != nil {
		return r, fmt.Errorf("recover payments: %w", err)
	}

	now := s.cfg.Now()
	for ; place.partition < len(duePartitions); place = (duePlace{partition: place.partition + 1}) {
		rows, err := s.dueRows(ctx, place, now, limit)
		if err != nil {
			return r, fmt.Errorf("recover payments: %w", err)
		}

		for _, row := range rows {
			if err := s.recover(ctx, row, &r); err != nil {
				// The call was ended from outside. The payment did not cause that, so it is not in Left.
				if ctx.Err() != nil {
					return r, err
				}

				r.Left = append(r.Left, Left{PaymentID: row.payment, Reason: err.Error()})
			}

			// Go on behind a failed row, too: one payment must not stop the recovery of the others.
			place.due = row.due
		}

		if limit -= len(rows); limit == 0 {
			r.Next = place.String()
			return r, nil
		}
	}

	return r, nil
}

// recover finishes the step or the expiry of a due row. If another call has ended the step, or
// nothing is left to release, it deletes the row.
func (s *Payments) recover(ctx context.Context, row dueRow, r *Recovered) error {
	p, err := s.Get(ctx, row.payment)

	expiry := row.step == ""
	switch {
	case errors.Is(err, ErrUnknownPayment):
		return s.deleteDueRow(ctx, row)
	case err != nil:
		return err
	case expiry && p.Pending != nil: // the pending step comes first
		return nil
	case expiry && p.Capturable > 0:
		if _, err := s.do(ctx, p.ID, StepRequest{ID: string(expiring)}, expiring); err != nil {
			return err
		}

		r.Expired++

		return nil
	case expiry || p.Pending == nil || p.Pending.ID != row.step:
		return s.deleteDueRow(ctx, row)
	}

	_, err = s.finish(ctx, p, p.Pending.ID)
	if err == nil || isRefusal(err) {
		r.Finished++
		return nil
	}

	return err
}

// isRefusal reports whether err means that the step has ended without success.
func isRefusal(err error) bool {
	return errors.Is(err, ErrDeclined) || errors.Is(err, ErrVoided)
}
