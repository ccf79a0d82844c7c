package telemetry

import (
	"maps"
	"sync"
	"time"
)

var fleetMetrics = []Metric{
	{"ratchet_processes", Gauge, []string{"state"}, "Processes of Ratchet by their rows, as this one sees them; state is ready, not_ready, missing (it gives no sign of life and has not ended) or failed"},
	{"ratchet_stuck_orders", Gauge, []string{"kind"}, "Orders that need a person, by the newest count of a worker; kind is failed, ended, missing, overdue, lost_parcel, unreadable or unknown_version"},
	{"ratchet_stuck_orders_age_seconds", Gauge, nil, "Time since that count began"},
}

// fleetInstruments show the counts over all processes that the tables have.
type fleetInstruments struct {
	mu        sync.Mutex
	processes map[string]int // nil while it is unknown
	stuck     map[string]int // nil before the first count
	countedAt time.Time
}

func (f *fleetInstruments) register(m *meter) {
	m.gauge(fleetMetrics, "ratchet_processes", func(observe func(float64, ...string)) {
		f.show(func() map[string]int { return f.processes }, observe)
	})
	m.gauge(fleetMetrics, "ratchet_stuck_orders", func(observe func(float64, ...string)) {
		f.show(func() map[string]int { return f.stuck }, observe)
	})
	m.gauge(fleetMetrics, "ratchet_stuck_orders_age_seconds", func(observe func(float64, ...string)) {
		f.mu.Lock()
		defer f.mu.Unlock()

		// Before the first count there is no age.
		if !f.countedAt.IsZero() {
			observe(time.Since(f.countedAt).Seconds())
		}
	})
}

// show observes each of the counts.
func (f *fleetInstruments) show(counts func() map[string]int, observe func(float64, ...string)) {
	f.mu.Lock()
	// A copy, because observe runs outside the lock.
	shown := maps.Clone(counts())
	f.mu.Unlock()

	for label, count := range shown {
		observe(float64(count), label)
	}
}

// ObserveProcesses sets how many processes are in each state. nil means that it is unknown.
func (t *Telemetry) ObserveProcesses(states map[string]int) {
	t.fleet.mu.Lock()
	defer t.fleet.mu.Unlock()

	t.fleet.processes = maps.Clone(states)
}

// ObserveStuck sets how many orders need a person, by kind, and when the count began.
func (t *Telemetry) ObserveStuck(kinds map[string]int, at time.Time) {
	t.fleet.mu.Lock()
	defer t.fleet.mu.Unlock()

	t.fleet.stuck, t.fleet.countedAt = maps.Clone(kinds), at
}
