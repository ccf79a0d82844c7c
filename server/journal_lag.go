package server

import (
	"context"
	"time"

	"ratchet/operate/inspect"
	"ratchet/transitions"
)

// JournalLag says which transitions the journal of an order may lack, because the stream writes it.
type JournalLag struct {
	// Since excuses the transitions after this time.
	Since time.Time
	// Waits reports whether changes of the order wait in the journal's retry queue. Nil: none does.
	Waits func(context.Context, transitions.OrderID) (bool, error)
}

// lagOfClocks is by how much clocks may differ.
const lagOfClocks = time.Minute

// JournalLag returns the lag of the journal now: up to what the workers have handled, and a minute more for clocks that differ. Ask
// before the orders are read. With an error only the minute is excused, as for a journal that the transition itself writes.
func (b *Backend) JournalLag(ctx context.Context) (JournalLag, error) {
	lag := JournalLag{Since: time.Now().Add(-lagOfClocks)}
	if b.Config.Journal == transitions.JournalTransactional.String() {
		return lag, nil
	}
	lag.Waits = b.JournalWaits

	handled, err := b.handledTo(ctx)
	if since := handled.Add(-lagOfClocks); err == nil && since.Before(lag.Since) {
		lag.Since = since
	}

	return lag, err
}

// Mismatches returns what a check has found but for the lag of the journal, and of how many findings that is the cause.
func (l JournalLag) Mismatches(ctx context.Context, c inspect.Check) (mismatches []inspect.Finding, lagging int, err error) {
	for _, f := range c.Findings {
		lags, err := l.excuses(ctx, c.OrderID, f)
		if err != nil {
			return nil, 0, err
		}

		if lags {
			lagging++
		} else {
			mismatches = append(mismatches, f)
		}
	}

	return mismatches, lagging, nil
}

// excuses reports whether the finding is the lag of a journal, and no mismatch.
func (l JournalLag) excuses(ctx context.Context, id transitions.OrderID, f inspect.Finding) (bool, error) {
	switch {
	case f.Kind != inspect.FindingBehind:
		return false, nil
	case f.Since.After(l.Since):
		return true, nil
	case l.Waits == nil:
		return false, nil
	}

	return l.Waits(ctx, id)
}
