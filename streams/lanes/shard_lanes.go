package lanes

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"ratchet/streams"
	"ratchet/streams/calls"
	"ratchet/streams/holders"
	"ratchet/streams/store"
)

// Shard is the lanes of one shard while this worker holds it.
type Shard struct {
	Scheduler *Scheduler
	Work      context.Context // parent of the handlers' contexts
	lease     *holders.Held
	Window    *Window
	Suspect   atomic.Pointer[Suspect] // nil: the shard is not suspect

	// Guarded by scheduler.mu.
	open        map[laneKey]*lane
	pace        []handlerPace // by handler
	newestBegun uint64        // slot of the newest record that a handler was called with
	stopped     bool          // begin no record that is newer than newestBegun
	dropped     bool          // begin no record at all
	idle        chan struct{} // closed when stopped and no lane is left
}

// NewShard returns the lanes of a shard, without records.
func (s *Scheduler) NewShard(work context.Context, lease *holders.Held, window *Window) *Shard {
	return &Shard{
		Scheduler: s,
		Work:      work,
		lease:     lease,
		Window:    window,
		open:      map[laneKey]*lane{},
		pace:      make([]handlerPace, len(s.Cfg.Handlers)),
		idle:      make(chan struct{}),
	}
}

// WithinLease returns a context for calls to DynamoDB. It ends with the work, or before another
// worker may take the lease.
func (s *Shard) WithinLease() (context.Context, context.CancelFunc) {
	return context.WithDeadline(s.Work, s.lease.StopBy())
}

// submitted is how many records are handed to the lanes at once. It is small, so that handlers
// begin with the first records of a page before the filters have run for the last ones.
const submitted = 64

// Submit hands the records of one page, in order, to the handlers that accept them.
func (s *Shard) Submit(records []streams.Record) {
	handlers := s.Scheduler.Cfg.Handlers
	for part := range slices.Chunk(records, submitted) {
		pending := make([]*pendingRecord, len(part))
		deliveries := make([]*delivery, 0, len(part)*len(handlers))

		for i, record := range part {
			pending[i] = &pendingRecord{Record: record}
			key := store.ItemKey(record)

			// Filters are the user's code, so they run without the lock. A record whose filter
			// failed goes through the lane as well, so that its dead letter does not overtake
			// the item's earlier records.
			for h := range handlers {
				accepted, err := calls.Accept(&handlers[h], record)
				if !accepted {
					continue
				}
				pending[i].unfinished++
				deliveries = append(deliveries, &delivery{laneKey: laneKey{h, key}, record: pending[i], err: err, giveUp: err != nil})
			}
		}

		// The window must know the records before a handler can finish them.
		s.Window.add(pending)
		s.push(deliveries...)
	}
}

// StartQueued starts a lane of its own for an item of the retry queue, which runs the step.
func (s *Shard) StartQueued(handler int, key string, step func(*Shard)) {
	s.push(&delivery{laneKey: laneKey{handler, key}, record: &pendingRecord{}, queued: step})
}

// push appends deliveries to their lanes.
func (s *Shard) push(deliveries ...*delivery) {
	s.Scheduler.mu.Lock()
	defer s.Scheduler.mu.Unlock()

	if s.stopped {
		return
	}

	for _, d := range deliveries {
		s.Scheduler.takeTurn(d, d.record.CreatedAt)
		s.pace[d.handler].pending++
		s.pace[d.handler].given = true

		// Without order, each record has a lane of its own.
		if s.Scheduler.Cfg.Handlers[d.handler].Unordered {
			d.key += "\x00" + d.record.SequenceNumber
		}

		if l := s.open[d.laneKey]; l != nil {
			l.tail.next, l.tail = d, d
			continue
		}

		l := &lane{laneKey: d.laneKey, shard: s, head: d, tail: d}
		s.open[d.laneKey] = l
		s.Scheduler.enqueue(l)
	}
}

// waitingItem is the lane's item as the retry queue knows it.
func (l *lane) waitingItem() Item { return Item{l.handler, store.HashOf(l.key)} }

// ended reports whether the lane's first record must not be begun any more. The
// caller holds scheduler.mu.
func (s *Shard) ended(l *lane) bool {
	return s.dropped || (s.stopped && l.head.record.slot > s.newestBegun)
}

// remove removes a lane that has nothing left to do. The caller holds scheduler.mu.
func (s *Shard) remove(l *lane) {
	delete(s.open, l.laneKey)

	if s.stopped && len(s.open) == 0 {
		close(s.idle)
	}
}

// Stop makes the lanes begin no record that is newer than newestBegun. It returns a channel that is
// closed when the older records are finished. They must be finished, because the checkpoint cannot
// pass the oldest unfinished record: the next holder would repeat all records after it.
func (s *Shard) Stop() <-chan struct{} {
	s.Scheduler.mu.Lock()
	defer s.Scheduler.mu.Unlock()

	if !s.stopped {
		s.stopped = true
		for h := range s.pace {
			s.setBehind(h, false)
		}
		s.removeEnded()
	}

	return s.idle
}

// drop makes the lanes begin no record at all. It comes after stop, whose channel is then closed
// when the running calls have ended.
func (s *Shard) drop() {
	s.Scheduler.mu.Lock()
	defer s.Scheduler.mu.Unlock()

	// Without open lanes, idle is closed already.
	if !s.dropped && len(s.open) > 0 {
		s.dropped = true
		s.removeEnded()
	}
}

// Drain waits until no handler runs. Records that are older than newestBegun are still handled, for
// up to timeout. After that, or when work has ended, the contexts of the running calls end, and
// Drain waits only for these calls.
func (s *Shard) Drain(timeout time.Duration, cancelWork context.CancelCauseFunc) {
	idle := s.Stop()

	timer := time.NewTimer(timeout)
	defer timer.Stop()

	select {
	case <-idle:
		return
	case <-s.Work.Done():
	case <-timer.C:
		cancelWork(streams.ErrStopped)
	}

	s.drop()
	<-idle
}

// removeEnded removes the lanes that have ended and do not run. A running lane
// removes itself at the end of its step. The caller holds scheduler.mu.
func (s *Shard) removeEnded() {
	for _, l := range s.open {
		if l.running || !s.ended(l) {
			continue
		}

		if l.timer != nil {
			l.timer.Stop()
		}
		delete(s.open, l.laneKey)
	}

	if len(s.open) == 0 {
		close(s.idle)
	}
}
