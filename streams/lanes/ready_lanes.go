package lanes

import (
	"container/heap"
	"time"
)

// readyLanes are the lanes of one handler that may run, as a heap: the lane whose first record came first is the
// first one. So the second record of an item does not wait as long again as the first one has waited.
type readyLanes []*lane

// Len returns how many lanes there are.
func (r readyLanes) Len() int { return len(r) }

// Less orders the lanes by their first records.
func (r readyLanes) Less(i, j int) bool { return r[i].head.turn < r[j].head.turn }

// Swap swaps two lanes.
func (r readyLanes) Swap(i, j int) {
	r[i], r[j] = r[j], r[i]
	r[i].at, r[j].at = i, j
}

// Push appends a lane.
func (r *readyLanes) Push(x any) {
	l, _ := x.(*lane)
	l.at = len(*r)
	*r = append(*r, l)
}

// Pop removes the last lane.
func (r *readyLanes) Pop() any {
	last := len(*r) - 1
	l := (*r)[last]
	(*r)[last] = nil // frees the lane
	*r = (*r)[:last]

	return l
}

// enqueue makes a lane ready, and starts a goroutine for it if the handler has a place. The caller
// holds mu.
func (s *Scheduler) enqueue(l *lane) {
	heap.Push(&s.handlers[l.handler].ready, l)
	l.ofShard = l.shard.pace[l.handler].ready.PushBack(l)
	s.startReady(l.handler)
}

// dequeue makes a lane not ready. The caller holds mu.
func (s *Scheduler) dequeue(l *lane) {
	heap.Remove(&s.handlers[l.handler].ready, l.at)
	l.shard.pace[l.handler].ready.Remove(l.ofShard)
}

// firstReady returns the lane that has the next turn of the handler, nil if none is ready. It removes lanes whose shards
// were stopped while they were ready; removeEnded has removed them from their shards. The caller holds mu.
func (s *Scheduler) firstReady(handler int) *lane {
	for lanes := &s.handlers[handler]; len(lanes.ready) > 0; {
		l := lanes.ready[0]
		if !l.shard.ended(l) {
			return l
		}
		s.dequeue(l)
	}

	return nil
}

// takeTurn puts a delivery at the end of those that wait for a place. It waits since the time of the service's clock, and
// from now on if that is zero. The caller holds mu.
func (s *Scheduler) takeTurn(d *delivery, waitsSince time.Time) {
	// A step for the retry queue has no record, and not every endpoint says when a record was created.
	if waitsSince.IsZero() {
		waitsSince = s.Cfg.Clock.Now()
	}

	s.turns++
	d.turn, d.waitsSince = s.turns, waitsSince
}

// Waits returns how long the record has waited that has the next turn of the handler: since it was created, or since
// it became due for another attempt. It is 0 if none waits for a place. Records whose calls run, and those that pause
// until their next attempt, do not count, however long that takes.
func (s *Scheduler) Waits(handler int) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()

	l := s.firstReady(handler)
	if l == nil {
		return 0
	}

	return max(s.Cfg.Clock.Since(l.head.waitsSince), 0)
}
