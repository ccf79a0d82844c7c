package scenario

import (
	"context"
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

	mu      sync.Mutex
	latency []time.Duration
	// settled are the orders that have come to an end, running those admitted before.
	settled, running map[transitions.OrderID]bool
	// ended wakes who waits for a place among the running.
	ended chan struct{}
}

// admit lets an order in when fewer than limit are running, and waits until then.
func (m *Meter) admit(limit int) func(context.Context, transitions.OrderID) error {
	return func(ctx context.Context, id transitions.OrderID) error {
		for {
			m.mu.Lock()
			if m.running == nil {
				m.running, m.ended = map[transitions.OrderID]bool{}, make(chan struct{})
			}

			if m.running[id] || m.settled[id] || len(m.running) < limit {
				if !m.settled[id] {
					m.running[id] = true
				}
				m.mu.Unlock()

				return nil
			}
			ended := m.ended
			m.mu.Unlock()

			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-ended:
			}
		}
	}
}

// settle notes that an order has come to an end.
func (m *Meter) settle(id transitions.OrderID) {
	m.mu.Lock()
	defer m.mu.Unlock()

	if m.settled == nil {
		m.settled = map[transitions.OrderID]bool{}
	}

	m.settled[id] = true
	if m.running[id] {
		delete(m.running, id)
		close(m.ended)
		m.ended = make(chan struct{})
	}
}

// Hooks connects the meter to a backend.
func (m *Meter) Events() server.Events {
	return server.Events{
		Decided: func(_ transitions.OrderID, _ workflow.Event, v transitions.Verdict) { m.verdicts[v].Add(1) },
		Reacted: m.reacted,
	}
}

// reacted notes how long after its transition an effect was done. Latencies are
// kept one by one: a plan is finite.
func (m *Meter) reacted(handler string, c transitions.Change) {
	if handler == reactions.JournalHandler {
		if c.New.State == workflow.Delivered || workflow.Order().Terminal(c.New.State) {
			m.settle(c.New.ID)
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

// Settled returns how many orders were reported to have come to an end.
func (m *Meter) Settled() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.settled)
}

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
