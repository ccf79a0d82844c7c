package payments

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"ratchet/internal/due"
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
// authorizations, oldest first. It reads up to limit (1 to 1,000) due rows behind after, which is the Next of the
// previous call, or empty for the beginning. A payment that cannot be finished is due again after 15 s, and after
// up to 5 min if it keeps failing. Its cost does not grow with the number of payments. Any
// number of calls may run at once, also while other methods work on the same payments.
func (s *Payments) Recover(ctx context.Context, after string, limit int) (r Recovered, err error) {
	if err := checkLimit(limit); err != nil {
		return r, fmt.Errorf("recover payments: %w", err)
	}

	place, err := parseDuePlace(after)
	if err != nil {
		return r, fmt.Errorf("recover payments: %w", err)
	}

	for ; place.kind < len(dueKinds); place = (duePlace{kind: place.kind + 1}) {
		found, left, err := s.recoverKind(ctx, place, limit, &r)
		if err != nil {
			return r, fmt.Errorf("recover payments: %w", err)
		}

		switch {
		case found.Next != "":
			place.row = found.Next
			r.Next = place.String()

			return r, nil
		case left == 0 && place.kind+1 < len(dueKinds):
			r.Next = duePlace{kind: place.kind + 1}.String()

			return r, nil
		}
		limit = left
	}

	return r, nil
}

// recoverKind handles the due rows of a kind behind the place, up to the limit. It returns how many more
// rows the call may handle. A payment that cannot be finished is in r.Left and stops no other.
func (s *Payments) recoverKind(ctx context.Context, place duePlace, limit int, r *Recovered) (due.Swept, int, error) {
	sweep := due.Sweep{Kind: dueKinds[place.kind], Limit: limit, After: place.row, Consistent: true}
	var failed error

	swept, err := s.due.Sweep(ctx, sweep, func(ctx context.Context, row due.Row) (due.Answer, error) {
		limit--

		answer, err := s.recover(ctx, row, r)
		// The call was ended from outside. The payment did not cause that, so it is not in Left.
		if err != nil && ctx.Err() != nil {
			failed = err
			return due.Keep, nil
		}

		if err != nil {
			r.Left = append(r.Left, Left{PaymentID: row.Subject, Reason: err.Error()})
			return due.Retry(time.Time{}), nil
		}

		return answer, nil
	})

	return swept, limit, cmp.Or(failed, err)
}

// recover finishes the step or the expiry of a due row. If another call has ended the step, or
// nothing is left to release, the row goes.
func (s *Payments) recover(ctx context.Context, row due.Row, r *Recovered) (due.Answer, error) {
	p, err := s.Get(ctx, row.Subject)

	expiry := row.Kind == dueExpiry
	switch {
	case errors.Is(err, ErrUnknownPayment):
		return due.Remove, nil
	case err != nil:
		return due.Answer{}, err
	case expiry && p.Pending != nil: // the pending step comes first
		return due.Retry(time.Time{}), nil
	case expiry && p.Capturable > 0:
		_, err := s.do(ctx, p.ID, StepRequest{ID: string(expiring), swept: true}, expiring)
		switch {
		case errors.Is(err, errNotDue): // the clock has changed since the rows were read
			return due.Keep, nil
		case err != nil:
			return due.Answer{}, err
		}

		r.Expired++

		return done(row), nil
	case expiry || p.Pending == nil || p.Pending.ID != row.Detail:
		return due.Remove, nil
	}

	_, err = s.finish(ctx, p, p.Pending.ID)
	if err == nil || isRefusal(err) {
		r.Finished++
		return done(row), nil
	}

	return due.Answer{}, err
}

// done is the answer for a row whose step or payment has ended: the transaction that ended it has deleted the row,
// but not one that was postponed.
func done(row due.Row) due.Answer {
	if row.Attempts > 0 {
		return due.Remove
	}

	return due.Gone
}

// isRefusal reports whether err means that the step has ended without success.
func isRefusal(err error) bool {
	return errors.Is(err, ErrDeclined) || errors.Is(err, ErrVoided)
}
