package model

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ratchet/once/inventory"
	"ratchet/once/txn"
)

// stock is the model of two SKUs and some orders that reserve them.
type stock struct {
	levels       []*inventory.Level
	reservations []*reservation
	added        int // additions in transactions with a claim
}

type reservation struct {
	order string
	// lines are the lines of Reserve; extra are pieces of the first SKU that were added.
	lines  []inventory.Line
	extra  int64
	based  bool             // Reserve was called
	status inventory.Status // "" for none
	ends   time.Time
}

func (s *stock) begin(p *program) {
	for i := range 2 {
		l := &inventory.Level{SKU: p.id("sku", i), Available: 10}
		s.levels = append(s.levels, l)

		if err := p.call("set stock", func(ctx context.Context, m *machine) error { return m.stock.Set(ctx, l.SKU, l.Available) }); err != nil {
			p.fail("set %s: %v", l.SKU, err)
		}
	}
}

// some chooses a reservation, which may be a new one.
func (s *stock) some(p *program) *reservation {
	if len(s.reservations) == 0 || p.chance(20) {
		r := &reservation{order: p.id("reservation", len(s.reservations))}
		for _, l := range s.levels {
			r.lines = append(r.lines, inventory.Line{SKU: l.SKU, Quantity: 1 + p.dice.Int64N(3)})
		}
		s.reservations = append(s.reservations, r)
	}
	r := s.reservations[p.roll(len(s.reservations))]
	p.passBy(r.ends)

	return r
}

func (r *reservation) expired(now time.Time) bool {
	return r.status == inventory.Reserved && !r.ends.IsZero() && now.After(r.ends)
}

// pieces are how many pieces of the SKU the reservation holds.
func (r *reservation) pieces(i int) (n int64) {
	if r.based {
		n = r.lines[i].Quantity
	}

	if i == 0 {
		n += r.extra
	}

	return n
}

// giveBack returns the pieces of a reservation that has expired.
func (s *stock) giveBack(r *reservation) {
	for i, l := range s.levels {
		l.Reserved -= r.pieces(i)
		l.Available += r.pieces(i)
	}
	r.status, r.based, r.extra, r.ends = inventory.Expired, false, 0, time.Time{}
}

func reserve(p *program) {
	s, r := &p.stock, p.stock.some(p)
	now := p.store.clock.Now()
	until := time.Time{}
	if p.chance(60) {
		until = now.Add(10 * time.Minute).Truncate(time.Millisecond)
	}

	err := p.call("reserve", func(ctx context.Context, m *machine) error { return m.stock.ReserveUntil(ctx, r.order, r.lines, until) })

	// Reserving ends an expired reservation first.
	if r.expired(now) {
		s.giveBack(r)
	}

	want := s.judge(r, until)
	if !errors.Is(err, want) {
		p.fail("reserve %+v until %s: %v, want %v", r, until, err, want)
	}

	if want != nil {
		return
	}

	if r.status != inventory.Reserved || !r.based {
		for i, l := range s.levels {
			l.Available -= r.lines[i].Quantity
			l.Reserved += r.lines[i].Quantity
		}
	}
	r.status, r.based, r.ends = inventory.Reserved, true, until
}

// judge returns what a call of Reserve must return for a reservation that has not expired.
func (s *stock) judge(r *reservation, until time.Time) error {
	switch {
	case r.status == inventory.Committed, r.status == inventory.Released:
		return inventory.ErrClosed
	case r.status == inventory.Reserved && r.based:
		if r.ends.IsZero() && !until.IsZero() || !until.IsZero() && until.Before(r.ends) {
			return inventory.ErrConflict
		}

		return nil
	case r.status == inventory.Reserved && !until.IsZero():
		return inventory.ErrConflict // lines that were added have no end, and must not get one
	}

	for i, l := range s.levels {
		if l.Available < r.lines[i].Quantity {
			return inventory.ErrOutOfStock
		}
	}

	return nil
}

func commitReservation(p *program) { p.stock.end(p, p.stock.some(p), inventory.Committed) }

func releaseReservation(p *program) { p.stock.end(p, p.stock.some(p), inventory.Released) }

func (s *stock) end(p *program, r *reservation, to inventory.Status) {
	now := p.store.clock.Now()
	err := p.call("end reservation", func(ctx context.Context, m *machine) error {
		if to == inventory.Committed {
			return m.stock.Commit(ctx, r.order)
		}
		return m.stock.Release(ctx, r.order)
	})

	want := error(nil)
	switch {
	case r.status == to:
	case to == inventory.Committed && (r.status == inventory.Expired || r.expired(now)):
		want = inventory.ErrExpired
	case r.status == inventory.Reserved:
		for i, l := range s.levels {
			l.Reserved -= r.pieces(i)
			if to == inventory.Committed {
				l.Committed += r.pieces(i)
			} else {
				l.Available += r.pieces(i)
			}
		}
		r.status = to
	case to == inventory.Released && (r.status == "" || r.status == inventory.Expired):
		r.status = to
	default:
		want = inventory.ErrClosed
	}

	if !errors.Is(err, want) {
		p.fail("%s of %+v: %v, want %v", to, r, err, want)
	}
}

// sweepReservations ends what has expired, of all programs of the slot.
func sweepReservations(p *program) {
	s := &p.stock
	if !p.sweeping() {
		return
	}

	for _, r := range s.reservations {
		p.passBy(r.ends)
	}

	for range 100 {
		var n int

		err := p.call("sweep", func(ctx context.Context, m *machine) (err error) {
			n, err = m.stock.ExpireDue(ctx, 100)
			return err
		})
		if err != nil {
			p.fail("sweep: %v", err)
		}

		if n == 0 {
			break
		}
	}

	for _, r := range s.reservations {
		if r.expired(p.store.clock.Now()) {
			s.giveBack(r)
		}
	}
}

// addToReservation adds a piece under a claim, in one transaction, and sends the transaction again.
func addToReservation(p *program) {
	s, r := &p.stock, p.stock.some(p)
	key, line := p.id("addition", s.added), []inventory.Line{{SKU: s.levels[0].SKU, Quantity: 1}}
	s.added++

	var want error
	switch now := p.store.clock.Now(); {
	case r.status == inventory.Expired, r.expired(now):
		want = inventory.ErrExpired
	case r.status == inventory.Committed, r.status == inventory.Released:
		want = inventory.ErrClosed
	case s.levels[0].Available < 1:
		want = inventory.ErrOutOfStock
	}

	for range 2 {
		err := p.call("add in transaction", func(ctx context.Context, m *machine) error {
			parts, err := m.stock.AddIn(r.order, line)
			if err != nil {
				return err
			}
			_, _, err = m.claims.DoInTransaction(ctx, key, []byte("payload"), nil, func(t *txn.Transaction) { parts(t) })

			return err
		})
		if !errors.Is(err, want) {
			p.fail("add to %+v with %s: %v, want %v", r, levels(s), err, want)
		}
	}

	if want == nil {
		s.levels[0].Available--
		s.levels[0].Reserved++
		r.extra++
		r.status = inventory.Reserved
	}
}

func levels(s *stock) string { return fmt.Sprintf("%+v %+v", *s.levels[0], *s.levels[1]) }

func compareStock(p *program) {
	s := &p.stock
	for _, l := range s.levels {
		got, _, err := p.store.machines[1].stock.Level(p.t.Context(), l.SKU)
		if err != nil || got != *l {
			p.fail("stock %+v, %v; want %+v", got, err, *l)
		}
	}
}
