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

// Meter counts verdicts and measures reactions while a plan runs.
type Meter struct {
	verdicts [8]atomic.Int64

	mu      sync.Mutex
	latency []time.Duration
	// endedOrders are the orders that have ended. running are the admitted orders that have not ended.
	endedOrders, running map[transitions.OrderID]bool
	// ended is closed when an order ends. That wakes the goroutines that wait in admit.
	ended chan struct{}
}

// admit returns a function that waits until fewer than limit orders run and then adds the
// order to them.
func (m *Meter) admit(limit int) func(context.Context, transitions.OrderID) error {
	return func(ctx context.Context, id transitions.OrderID) error {
		for {
			m.mu.Lock()
			if m.running == nil {
				m.running, m.ended = map[transitions.OrderID]bool{}, make(chan struct{})
			}

			// The second start of an order counts no second time.
			if m.running[id] || m.endedOrders[id] || len(m.running) < limit {
				if !m.endedOrders[id] {
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

// noteEnded removes an order that has ended from the running ones.
func (m *Meter) noteEnded(id transitions.OrderID) {
	m.mu.Lock()
	defer m.mu.Unlock()

	if m.endedOrders == nil {
		m.endedOrders = map[transitions.OrderID]bool{}
	}

	// The journal's handler may report an end twice.
	m.endedOrders[id] = true
	if m.running[id] {
		delete(m.running, id)
		close(m.ended)
		m.ended = make(chan struct{})
	}
}

// Events returns the events for the backend. Open the backend with them.
func (m *Meter) Events() server.Events {
	return server.Events{
		Decided: func(_ transitions.OrderID, _ workflow.Event, v transitions.Verdict) { m.verdicts[v].Add(1) },
		Reacted: m.reacted,
	}
}

// reacted records the latency from a transition to its effect, and the end of an order. It keeps every
// latency, which is bounded by the size of the plan.
func (m *Meter) reacted(handler string, c transitions.Change) {
	if handler == reactions.JournalHandler {
		if c.New.State == workflow.Delivered || workflow.Order().Terminal(c.New.State) {
			m.noteEnded(c.New.ID)
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

// forgetLatencies forgets the reactions so far, which were to what the plan found and not to its own orders.
func (m *Meter) forgetLatencies() {
	m.mu.Lock()
	defer m.mu.Unlock()

	m.latency = nil
}

// Verdicts returns the number of requests with the verdict.
func (m *Meter) Verdicts(v transitions.Verdict) int64 { return m.verdicts[v].Load() }

// Ended returns the number of orders that have ended.
func (m *Meter) Ended() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.endedOrders)
}

// Latency returns the quantile q (0 to 1) of the time from a transition to its effect, or 0 if there
// was no effect. It is accurate to a millisecond, like the time of a transition.
func (m *Meter) Latency(q float64) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()

	if len(m.latency) == 0 {
		return 0
	}
	// Sorted in place, because the order of the samples has no meaning.
	slices.Sort(m.latency)

	return m.latency[int(q*float64(len(m.latency)-1))]
}
