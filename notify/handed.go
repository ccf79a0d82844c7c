package notify

import (
	"sync"

	"ratchet/transitions"
)

// handed remembers for which orders nothing holds up the next notification, so that the order's
// deliveries need not be read. Accept reads them for two reasons: the notification may be stored already,
// and an earlier one may be PENDING. Neither can be if this worker itself has handed over everything up to
// the transition right before, and all of it was taken at its first attempt.
//
// The transitions have to follow each other: after a transition that another worker has handed over, the
// deliveries are read again. Only what was taken counts. For an ordered endpoint they are always read: what is sent
// again on request, by any process, comes before what follows it.
type handed struct {
	mu sync.Mutex
	// Two generations: when the newer one is full, it replaces the older one. So the memory has a bound, and
	// keeps the orders of the newest notifications.
	newer, older map[transitions.OrderID]settled
}

// maxHanded is how many orders a generation has.
const maxHanded = 4096

// settled says that all notifications of an order up to a transition were taken.
type settled struct {
	incarnation transitions.Incarnation
	transition  transitions.TransitionID
	// endpoint is the only one that this is known of, "" if it is known of all.
	endpoint string
}

// take forgets the order, and returns what was known of it when the notification follows right after that.
func (h *handed) take(n Notification) (known settled, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()

	known, ok = h.newer[n.OrderID]
	if !ok {
		known, ok = h.older[n.OrderID]
	}
	delete(h.newer, n.OrderID)
	delete(h.older, n.OrderID)

	follows := n.Previous > 0 && known.transition == n.Previous && known.incarnation == n.Incarnation

	// A replay and another group hand over again what was handed over before.
	return known, ok && follows && n.repeat() == ""
}

// note remembers that the notification and all before it were taken, by the endpoint or by all.
func (h *handed) note(n Notification, endpoint string) {
	if n.repeat() != "" {
		return
	}

	h.mu.Lock()
	defer h.mu.Unlock()

	if len(h.newer) >= maxHanded || h.newer == nil {
		h.newer, h.older = map[transitions.OrderID]settled{}, h.newer
	}
	h.newer[n.OrderID] = settled{n.Incarnation, n.TransitionID, endpoint}
}
