package telemetry

import (
	"sync/atomic"
	"time"
)

var sweepMetrics = []Metric{
	{"ratchet_sweeps_total", Counter, []string{"sweep", "result"}, "Sweeps of what is due; sweep is reservations, payments, reports or timers; result is ok or error"},
	{"ratchet_timers_late_seconds", Gauge, nil, "How long the oldest transition that was due at the newest sweep had been due; 0 if none was"},
	{"ratchet_timers_applied_total", Counter, nil, "Transitions that time has made"},
	{"ratchet_reservations_expired_total", Counter, nil, "Reservations of stock that were due when a sweep looked"},
}

type sweepInstruments struct {
	swept, expired, moved counter
	late                  *atomic.Int64 // of the newest sweep of timers, in milliseconds; negative before the first one
}

func newSweepInstruments(m *meter) sweepInstruments {
	in := sweepInstruments{
		late:    &atomic.Int64{},
		swept:   m.counter(sweepMetrics, "ratchet_sweeps_total"),
		expired: m.counter(sweepMetrics, "ratchet_reservations_expired_total"),
	}
	in.moved = m.counter(sweepMetrics, "ratchet_timers_applied_total")
	in.expired.zero()
	in.moved.zero()
	in.late.Store(-1)

	m.gauge(sweepMetrics, "ratchet_timers_late_seconds", func(observe func(float64, ...string)) {
		// A process that does not sweep them has no value.
		if late := in.late.Load(); late >= 0 {
			observe((time.Duration(late) * time.Millisecond).Seconds())
		}
	})

	for _, sweep := range []string{"reservations", "payments", "reports", "timers"} {
		in.swept.zeroFor(sweep, "ok", "error")
	}

	return in
}

// Swept counts a sweep.
func (t *Telemetry) Swept(sweep string, err error) { t.sweeps.swept.inc(sweep, outcome(err)) }

// ReservationsSwept counts a sweep of reservations. It is a hook of [inventory.Events].
func (t *Telemetry) ReservationsSwept(count int, err error) {
	// Reservations that a sweep expired before its error count, too.
	t.Swept("reservations", err)
	t.sweeps.expired.plus(float64(count))
}

// TimersSwept notes how late the oldest transition was that a sweep has found due, and how many it has made.
func (t *Telemetry) TimersSwept(late time.Duration, made int) {
	t.sweeps.late.Store(max(0, late.Milliseconds()))
	t.sweeps.moved.plus(float64(made))
}
