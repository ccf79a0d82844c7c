package lanes

import (
	"container/list"
	"errors"
	"slices"
	"time"
)

const (
	// parkingPlaces is how many records of one handler a worker moves to the retry queue at the
	// same time because the handler is left behind. These steps need no place of the handler's
	// calls.
	parkingPlaces = 16

	// A handler that is left behind keeps Config.maxPending/surplusPart records of each shard in
	// memory. It has caught up when it had at most half as many for the whole of Config.holdBack.
	surplusPart = 4
)

// errLeftBehind is the error of a record that was moved to the retry queue because its
// handler is slower than the others.
var errLeftBehind = errors.New("the handler is slower than the others")

// handlerPace is how far one handler has come with the records of a shard. It is guarded by
// Scheduler.mu.
type handlerPace struct {
	pending int       // records that the handler was given and has not finished
	parking int       // the part of pending that is on its way to the retry queue as surplus
	given   bool      // the handler was given a record of the shard
	since   time.Time // since when behind should change; zero: it should stay
	behind  bool      // its surplus goes to the retry queue
	ready   list.List // of *lane: the handler's lanes of the shard that may run
}

// CheckPace decides which handlers are left behind. A handler is left behind when the shard's
// reader has waited for it over the whole of Config.holdBack, while another handler had little to
// do. The worker of the shard calls CheckPace every second or more often.
func (s *Shard) CheckPace(now time.Time) {
	waited := s.Window.readerWaited()
	_, unfinished := s.Window.Oldest()

	s.Scheduler.mu.Lock()
	defer s.Scheduler.mu.Unlock()

	if s.stopped {
		return
	}

	for h := range s.pace {
		p := &s.pace[h]

		change := waited && s.holdsOthersBack(h, unfinished)
		if p.behind {
			// Half of the limit, so that a handler near the limit does not switch back and forth.
			change = !waited && p.pending <= s.Scheduler.Cfg.MaxPending/surplusPart/2
		}

		switch {
		case !change:
			p.since = time.Time{}
		case p.since.IsZero():
			p.since = now
		case now.Sub(p.since) >= s.Scheduler.Cfg.HoldBack:
			s.setBehind(h, !p.behind)
			s.notePace(h)
		}
	}

	// hasSurplus also depends on the memory and on the shard's end. Their changes start no lanes,
	// so checkPace does.
	for h := range s.pace {
		s.Scheduler.startReady(h)
	}
}

// setBehind notes whether the handler is left behind. The caller holds scheduler.mu.
func (s *Shard) setBehind(handler int, behind bool) {
	p := &s.pace[handler]
	if p.since = (time.Time{}); p.behind == behind {
		return
	}
	p.behind = behind

	lanes := &s.Scheduler.handlers[handler]
	if behind {
		lanes.behind = append(lanes.behind, s)
	} else {
		lanes.behind = slices.DeleteFunc(lanes.behind, func(other *Shard) bool { return other == s })
	}
}

// notePace logs that the handler was left behind or has caught up. The caller holds
// scheduler.mu.
func (s *Shard) notePace(handler int) {
	log := s.Scheduler.Cfg.Log.With("handler", s.Scheduler.Cfg.Handlers[handler].Name, "shard", s.lease.Lease.Shard)

	if s.pace[handler].behind {
		log.Warn("the handler is slower than the others; its surplus waits in the retry queue")
	} else {
		log.Info("the handler has caught up with the others")
	}
}

// holdsOthersBack reports whether most of the shard's unfinished records wait for the handler,
// while another handler has few. The caller holds scheduler.mu.
func (s *Shard) holdsOthersBack(handler, unfinished int) bool {
	if 2*s.pace[handler].pending < unfinished {
		return false
	}

	for h := range s.pace {
		if p := &s.pace[h]; h != handler && p.given && 8*p.pending <= unfinished {
			return true
		}
	}

	return false
}

// hasSurplus reports whether a record of the handler should move to the retry queue. The handler
// must be left behind, and have more records than it may keep. If the shard's children wait for the
// records, or the memory is used up, it may keep none. The caller holds scheduler.mu.
func (s *Shard) hasSurplus(handler int) bool {
	p := &s.pace[handler]
	if !p.behind {
		return false
	}

	return p.pending-p.parking > s.Scheduler.Cfg.MaxPending/surplusPart || s.Window.ends.Load() || !s.Window.memory.hasRoom()
}

// nextToPark removes the first ready lane of a shard with a surplus of the handler, and takes a
// parking place for it. It returns nil if there is no such lane or no place. It is called for every
// step, so it looks only at the shards for which the handler is left behind: usually none. The
// caller holds mu.
func (s *Scheduler) nextToPark(handler int) *lane {
	lanes := &s.handlers[handler]
	if lanes.parking >= parkingPlaces {
		return nil
	}

	for _, shard := range lanes.behind {
		p := &shard.pace[handler]
		if p.ready.Len() == 0 || !shard.hasSurplus(handler) {
			continue
		}

		l, _ := p.ready.Front().Value.(*lane)
		s.dequeue(l)
		lanes.parking++
		l.start(true)
		p.parking++
		l.head.moveToQueue(errLeftBehind)

		return l
	}

	return nil
}

// moveToQueue makes the next step store the record in the retry queue, unless the record becomes a dead
// letter or is in the queue already.
func (d *delivery) moveToQueue(cause error) {
	if d.giveUp || d.park || d.queued != nil {
		return
	}

	d.park = true
	if d.nextTry = time.Now(); d.err == nil {
		d.err = cause
	}
}
