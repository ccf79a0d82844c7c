package lanes

import (
	"container/heap"
	"container/list"
	"time"
)

// readyLanes are the lanes of one handler that may run, in the order of the turns of their first records. So the second
// record of an item does not wait as long again as the first one has waited.
type readyLanes struct {
	inOrder list.List // of *lane: most become ready in the order of their turns
	earlier laneHeap  // lanes with an earlier turn than the last lane of inOrder had when they were added
}

// add adds a lane.
func (r *readyLanes) add(l *lane) {
	if last := laneAt(r.inOrder.Back()); last == nil || last.head.turn < l.head.turn {
		l.inOrder = r.inOrder.PushBack(l)
		return
	}
	heap.Push(&r.earlier, l)
}

// first returns the lane that has the next turn, nil if there is none.
func (r *readyLanes) first() *lane {
	first := laneAt(r.inOrder.Front())
	if len(r.earlier) > 0 && (first == nil || r.earlier[0].head.turn < first.head.turn) {
		return r.earlier[0]
	}

	return first
}

// remove removes a lane.
func (r *readyLanes) remove(l *lane) {
	if l.inOrder != nil {
		r.inOrder.Remove(l.inOrder)
		l.inOrder = nil

		return
	}
	heap.Remove(&r.earlier, l.at)
}

// laneAt returns the lane at a place of a list, nil if the list is empty.
func laneAt(place *list.Element) *lane {
	if place == nil {
		return nil
	}
	l, _ := place.Value.(*lane)

	return l
}

// laneHeap is a heap of lanes by the turns of their first records.
type laneHeap []*lane

// Len returns how many lanes there are.
func (r laneHeap) Len() int { return len(r) }

// Less orders the lanes by their first records.
func (r laneHeap) Less(i, j int) bool { return r[i].head.turn < r[j].head.turn }

// Swap swaps two lanes.
func (r laneHeap) Swap(i, j int) {
	r[i], r[j] = r[j], r[i]
	r[i].at, r[j].at = i, j
}

// Push appends a lane.
func (r *laneHeap) Push(x any) {
	l, _ := x.(*lane)
	l.at = len(*r)
	*r = append(*r, l)
}

// Pop removes the last lane.
func (r *laneHeap) Pop() any {
	last := len(*r) - 1
	l := (*r)[last]
	(*r)[last] = nil // frees the lane
	*r = (*r)[:last]

	return l
}

// enqueue makes a lane ready, and starts a goroutine for it if the handler has a place. The caller
// holds mu.
func (s *Scheduler) enqueue(l *lane) {
	s.handlers[l.handler].ready.add(l)
	l.ofShard = l.shard.pace[l.handler].ready.PushBack(l)
	s.startReady(l.handler)
}

// enqueueAgain makes a lane ready whose first record a step has left unfinished: behind those that wait already, so that
// records that fail do not hold up the others. The caller holds mu.
func (s *Scheduler) enqueueAgain(l *lane) {
	s.takeTurn(l.head, time.Time{})
	s.enqueue(l)
}

// dequeue makes a lane not ready. The caller holds mu.
func (s *Scheduler) dequeue(l *lane) {
	s.handlers[l.handler].ready.remove(l)
	l.shard.pace[l.handler].ready.Remove(l.ofShard)
}

// firstReady returns the lane that has the next turn of the handler, nil if none is ready. It removes lanes whose shards
// were stopped while they were ready; removeEnded has removed them from their shards. The caller holds mu.
func (s *Scheduler) firstReady(handler int) *lane {
	for {
		l := s.handlers[handler].ready.first()
		if l == nil || !l.shard.ended(l) {
			return l
		}
		s.dequeue(l)
	}
}

// takeTurn puts a delivery at the end of those that wait for a place. It waits since the time of the service's clock, and
// from now on if that is zero. The caller holds mu.
func (s *Scheduler) takeTurn(d *delivery, waitsSince time.Time) {
	// An attempt after the first one, or a step for the retry queue, is due now, and not every endpoint says when a record
	// was created.
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
