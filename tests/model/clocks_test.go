package model

import (
	"errors"
	"time"

	"ratchet/payments"
)

// skews are how far the machines' clocks are off at first, and how far they may be set off later. The
// service's answers have the right time.
var skews = []time.Duration{-5 * time.Hour, 0, 7 * time.Hour}

// mostOff is the largest error of a clock that was set after it has heard the service.
const mostOff = 12 * time.Hour

// set sets the machine's clock. What it has heard until then is wrong.
func (m *machine) set(skew time.Duration) {
	m.skew.Store(int64(skew))
	m.era.Add(1)
}

func (m *machine) now() time.Time { return m.clock.Now().Add(time.Duration(m.skew.Load())) }

// ears are what one client of a machine has heard.
type ears struct{ era int64 }

// open reports whether the client has heard the service's time since the machine's clock was set.
func (e *ears) open(m *machine) bool { return e.era == m.era.Load() }

// listen notes the answer of a call that has begun in that era.
func (e *ears) listen(m *machine, began int64, err error) {
	if err == nil && began == m.era.Load() {
		e.era = began
	}
}

// setClock sets the clock of a machine, backward or forward by hours.
func setClock(p *program) {
	m := p.machine()
	skew := skews[p.roll(len(skews))]
	p.note("a clock is set from %v to %v", time.Duration(m.skew.Load()), skew)
	m.set(skew)
	p.hear(m)
}

// hear makes parts of a machine whose clock was set read something. Claims and orders hear the service
// themselves. The other parts promise nothing about their first call after that.
func (p *program) hear(m *machine) {
	if m.heard == m.era.Load() {
		return
	}
	m.heard = m.era.Load()

	ctx := p.t.Context()
	_, _, err := m.actions.Get(ctx, p.actions.all[0].id)
	_, _, err1 := m.ledger.Account(ctx, p.money.world().id)
	_, _, err2 := m.stock.Level(ctx, p.stock.levels[0].SKU)

	_, err3 := m.payments.Get(ctx, "none")
	if errors.Is(err3, payments.ErrUnknownPayment) {
		err3 = nil
	}

	if err := errors.Join(err, err1, err2, err3); err != nil {
		p.fail("read after the clock was set: %v", err)
	}
}

// setting adds to the fault that the machine's clock is set before one of its requests, now and then.
func (p *program) setting(f fuse) fuse {
	if p.chance(6) {
		p.counts.add("a clock was set in a call")
		f.sets, f.skew = 1+p.roll(4), skews[p.roll(len(skews))]
	}

	return f
}

// passTime moves the time. Now and then TTL deletes some of the expired items.
func passTime(p *program) {
	d := []time.Duration{time.Second, 10 * time.Second, time.Minute, 7 * time.Minute, 20 * time.Minute, 30 * time.Hour}[p.roll(6)]
	// The reader of the stream comes before the records end.
	if d > trimmed && p.chance(p.habits.reads) {
		readStream(p)
	}
	p.store.clock.Advance(d)
	p.note("time %v", d)

	if p.chance(p.habits.deletes) {
		p.claims.deleteExpired(p)
		p.actions.deleteExpired(p)
	}
}

// passBy moves the time past a moment that is so close that the service's clock and the answers' whole
// seconds do not agree on it.
func (p *program) passBy(moment time.Time) {
	if d := moment.Sub(p.store.clock.Now()); d.Abs() <= 5*time.Second {
		p.store.clock.Advance(12 * time.Second)
	}
}

// habits are how often, in percent, something comes that no caller may rely on: some programs never see it, and
// some always.
type habits struct {
	sweeps  int // when it is a sweep's turn
	deletes int // TTL, when time passes
	reads   int // the reader of the stream, before a record ends
}

func (p *program) begin() {
	often := func() int { return []int{0, 50, 100}[p.roll(3)] }
	p.habits = habits{sweeps: often(), deletes: often(), reads: often()}
}

// sweeping reports whether a sweep comes.
func (p *program) sweeping() bool {
	if p.chance(p.habits.sweeps) {
		return true
	}
	p.note("no sweep comes")

	return false
}
