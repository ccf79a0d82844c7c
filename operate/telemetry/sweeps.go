package telemetry

import (
	"sync/atomic"
	"time"
)

var sweepMetrics = []Metric{
	{"ratchet_sweeps_total", Counter, []string{"sweep", "result"}, "Sweeps of what is due; sweep is reservations, payments, reports, timers or scheduled; result is ok or error"},
	{"ratchet_timers_late_seconds", Gauge, nil, "How long the oldest transition or scheduled request that was due at the newest sweep had been due; 0 if none was"},
	{"ratchet_timers_applied_total", Counter, nil, "Transitions that time has made, and scheduled requests that were applied"},
	{"ratchet_reservations_expired_total", Counter, nil, "Reservations of stock that were due when a sweep looked"},
}

type sweepInstruments struct {
	swept, expired, moved counter
	// late is how late the newest sweeps of timers and of scheduled requests were, in milliseconds; negative before the first one.
	late map[string]*atomic.Int64
}

func newSweepInstruments(m *meter) sweepInstruments {
	in := sweepInstruments{
		late:    map[string]*atomic.Int64{"timers": {}, "scheduled": {}},
		swept:   m.counter(sweepMetrics, "ratchet_sweeps_total"),
		expired: m.counter(sweepMetrics, "ratchet_reservations_expired_total"),
	}
	in.moved = m.counter(sweepMetrics, "ratchet_timers_applied_total")
	in.expired.zero()
	in.moved.zero()

	for _, late := range in.late {
		late.Store(-1)
	}

	m.gauge(sweepMetrics, "ratchet_timers_late_seconds", func(observe func(float64, ...string)) {
		// A process that does not sweep them has no value.
		if late := max(in.late["timers"].Load(), in.late["scheduled"].Load()); late >= 0 {
			observe((time.Duration(late) * time.Millisecond).Seconds())
		}
	})

	for _, sweep := range []string{"reservations", "payments", "reports", "timers", "scheduled"} {
		in.swept.zeroFor(sweep, "ok", "error")
	}

	return in
}

// Swept counts a sweep.
func (t *Telemetry) Swept(sweep string, err error) { t.sweeps.swept.inc(sweep, outcome(err)) }

// Found notes what a sweep of reservations, timers or scheduled requests has ended, also before an error, and how late
// the oldest was that a sweep of the latter two has found due.
func (t *Telemetry) Found(sweep string, count int, late time.Duration) {
	if sweep == "reservations" {
		t.sweeps.expired.plus(float64(count))
		return
	}

	t.sweeps.moved.plus(float64(count))
	t.sweeps.late[sweep].Store(max(0, late.Milliseconds()))
}
