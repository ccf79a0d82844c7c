package timers

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"ratchet/internal/due"
	"ratchet/transitions"
)

// Swept is the result of a sweep.
type Swept struct {
	// Rows is how many due rows were handled.
	Rows int
	// More: other orders may be due, and most of those that this call has found could be handled.
	More bool
	// Made is how many transitions this call has made.
	Made int
	// Late is how long the oldest of them had been due, 0 if there was none.
	Late time.Duration
}

// Sweep makes the transitions that are due, oldest first, for at most limit orders. An order that cannot be
// moved stops no other: it is tried again later, and its error is in the returned error, which joins at most 10.
// Any number of callers may sweep at once: each transition is made once.
//
// It costs 0.5 read units for each of 16 shards, and for each due order the read of the order, the transition,
// and one write unit for its row.
func (t *Timers) Sweep(ctx context.Context, limit int) (Swept, error) {
	sweep := due.Sweep{Kind: kind, Limit: limit, Margin: margin, Parallel: parallel, Pace: t.pace}

	var made atomic.Int64

	found, err := t.rows.Sweep(ctx, sweep, func(ctx context.Context, row due.Row) (due.Answer, error) { return t.handle(ctx, row, &made) })
	if err != nil {
		err = fmt.Errorf("sweep the timers of orders: %w", err)
	}

	swept := Swept{Rows: found.Handled, More: found.More, Made: int(made.Load())}
	if !found.Oldest.IsZero() {
		swept.Late = t.clock.Since(found.Oldest)
	}

	return swept, err
}

// handle makes what is due of the order of a row, and says when the row is due again.
func (t *Timers) handle(ctx context.Context, row due.Row, made *atomic.Int64) (due.Answer, error) {
	id := transitions.OrderID(row.Subject)

	order, err := t.move(ctx, id, made)
	if err != nil {
		return due.Answer{}, fmt.Errorf("timer of order %s: %w", id, err)
	}

	if order == nil {
		return due.Remove, nil
	}

	var next time.Time
	waits := false
	now := t.now()

	for _, timer := range t.cfg.Orders.Timers(order) {
		switch {
		case !timer.At.After(now):
			waits = true // for a guard
		case next.IsZero():
			next = timer.At
		}
	}

	switch {
	case waits:
		return due.Retry(next), nil
	case next.IsZero():
		return due.Remove, nil
	}

	return due.MoveTo(next), nil
}

// mostAtOnce is how many transitions one sweep makes of one order. What is due beyond that is due in the next sweep.
const mostAtOnce = 10

var errOvertaken = errors.New("others keep moving the order")

// move makes the transitions of the order that are due. It returns the order after them, nil if there is none.
func (t *Timers) move(ctx context.Context, id transitions.OrderID, made *atomic.Int64) (*transitions.Order, error) {
	for range mostAtOnce {
		order, found, err := t.cfg.Orders.Get(ctx, id)
		if err != nil || !found {
			return nil, err
		}

		timer, isDue := t.firstDue(order)
		if !isDue {
			return order, nil
		}

		result, err := t.cfg.Orders.ApplyTimer(ctx, order, timer)
		if err != nil {
			return nil, err
		}

		if result.Verdict == transitions.Applied {
			made.Add(1)
			t.cfg.Applied(timer, t.clock.Since(timer.At))
		}

		// Most orders have nothing more to wait for, which their state alone tells.
		if after := result.Order; after == nil || len(t.cfg.Orders.Definition().Timed(after.State)) == 0 {
			return nil, nil
		}
	}

	return nil, errOvertaken
}

// firstDue returns the first timer of the order that is due and whose guards hold.
func (t *Timers) firstDue(order *transitions.Order) (transitions.Timer, bool) {
	now := t.now()

	for _, timer := range t.cfg.Orders.Timers(order) {
		if !timer.At.After(now) && timer.Unmet == "" {
			return timer, true
		}
	}

	return transitions.Timer{}, false
}

// now is the moment up to which timers are due.
func (t *Timers) now() time.Time { return t.clock.Now().Add(-margin) }
