package inventory

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ratchet/internal/due"
)

// dueKind is the kind of the rows of reservations that expire. The transaction that makes a reservation writes
// its row.
const dueKind = "reservations"

func dueRow(order string, at time.Time) due.Row {
	return due.Row{Kind: dueKind, At: at, Subject: order}
}

// ExpireDue returns the pieces of at most limit reservations that have expired, and the
// number of reservations that it dealt with. Fewer than limit means that no more are due.
// A reservation that cannot be ended does not block the others: it is postponed by
// a minute, and its error is in the returned error, which joins at most 10. Any number
// of callers may sweep at once and race with commits and releases.
//
// It costs 0.5 read units for each of 16 shards, and for each due reservation 1 read unit, 2 write units for its
// row, and the transaction that ends it if it has not ended otherwise.
func (s *Stock) ExpireDue(ctx context.Context, limit int) (count int, err error) {
	// By another caller's clock, a reservation may run a margin longer.
	swept, err := s.due.Sweep(ctx, due.Sweep{Kind: dueKind, Limit: limit, Margin: margin}, s.expire)
	if err != nil {
		err = fmt.Errorf("find expired reservations: %w", err)
	}

	return swept.Handled, err
}

// expire ends the reservation of a due row and deletes the row, in one transaction. If the reservation has
// ended otherwise, or the order has made a new one, only the row is deleted: the row's key
// contains the exact time, so a newer reservation has another row.
func (s *Stock) expire(ctx context.Context, row due.Row) (due.Answer, error) {
	e := expiry(margin)
	e.due = &row
	err := s.end(ctx, row.Subject, e, nil)

	var running runningError
	switch {
	case err == nil:
		return due.Gone, nil
	// The clock has changed since the rows were read: the row is not due yet.
	case errors.As(err, &running) && !running.until.IsZero() && running.until.UnixMilli() <= row.At.UnixMilli():
		return due.Keep, nil
	// A closed order reserves nothing any more, and an end moves only forward: the row is not needed again.
	case errors.Is(err, ErrClosed):
		return due.Remove, nil
	}

	return due.Answer{}, fmt.Errorf("expire the reservation of order %s: %w", row.Subject, err)
}

// sweepLimit is how many reservations Run expires with one reading of the clock.
const sweepLimit = 1000

// Run sweeps every minute until ctx ends, and then returns nil. It calls
// Events.Swept after each sweep. A later sweep tries again to end a reservation that could
// not be ended.
func (s *Stock) Run(ctx context.Context) error {
	ticker := time.NewTicker(s.cfg.every)
	defer ticker.Stop()

	for {
		count, err := s.ExpireDue(ctx, sweepLimit)
		if ctx.Err() != nil {
			return nil
		}
		s.cfg.Events.Swept(count, err)

		if count == sweepLimit {
			continue // more are due
		}

		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}
