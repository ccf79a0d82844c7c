package load

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"ratchet/server"
	"ratchet/streams/reactions"
	"ratchet/transitions"
	"ratchet/workflow"
)

// Meter counts verdicts and reactions while a plan is driven.
type Meter struct {
	verdicts [8]atomic.Int64
	settled  atomic.Int64

	mu      sync.Mutex
	latency []time.Duration
}

// Hooks connects the meter to a backend.
func (m *Meter) Hooks() server.Hooks {
	return server.Hooks{
		Decided: func(_ transitions.OrderID, _ workflow.Event, v transitions.Verdict) { m.verdicts[v].Add(1) },
		Reacted: m.reacted,
	}
}

// reacted notes how long after its transition an effect was done. Latencies are
// kept one by one: a plan is finite.
func (m *Meter) reacted(handler string, c transitions.Change) {
	if handler == reactions.JournalHandler {
		if c.New.State == workflow.Delivered || workflow.Order().Terminal(c.New.State) {
			m.settled.Add(1)
		}
		return
	}
	if handler != reactions.NotifyHandler && handler != reactions.ShippingHandler {
		return
	}
	took := time.Since(c.Transition.At)
	m.mu.Lock()
	m.latency = append(m.latency, took)
	m.mu.Unlock()
}

// Verdicts returns how often the verdict was given.
func (m *Meter) Verdicts(v transitions.Verdict) int64 { return m.verdicts[v].Load() }

// Settled returns how many orders were reported to have come to an end. A record
// that is handed over twice counts twice: for a progress bar, not for a check.
func (m *Meter) Settled() int64 { return m.settled.Load() }

// Latency returns the time from transition to effect that the share q (0 to 1) of
// all effects did not exceed. Transitions are stamped in milliseconds.
func (m *Meter) Latency(q float64) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.latency) == 0 {
		return 0
	}
	slices.Sort(m.latency)
	return m.latency[int(q*float64(len(m.latency)-1))]
}
