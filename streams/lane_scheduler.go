package streams

import (
	"context"
	"errors"
	"sync"
	"time"

	"ratchet/internal/worker"
)

// laneScheduler runs the handlers of all shards that this worker holds.
//
// A lane is the queue of one item's records for one handler. It exists only while
// it has records, and runs one record at a time. Up to limit lanes run at once,
// each step on a goroutine of the scheduler; goroutines are started on demand and
// end when no lane is ready.
type laneScheduler struct {
	cfg         *Config
	deadLetters *deadLetterTable
	log         worker.LogThrottle
	limit       int // Config.Concurrency

	mu         sync.Mutex
	readyFirst *lane // FIFO of the lanes that may run, linked by lane.nextReady
	readyLast  *lane
	running    int // goroutines
	goroutines sync.WaitGroup
}

// laneKey identifies a lane within a shard.
type laneKey struct {
	handler int // index in Config.Handlers
	key     string
}

// lane is guarded by laneScheduler.mu.
type lane struct {
	laneKey
	shard     *shardLanes
	head      *delivery // the record that runs or runs next
	tail      *delivery
	running   bool
	timer     *time.Timer // while the head waits for its next attempt
	nextReady *lane
}

// delivery is one record on its way to one handler. Only the lane that it is the
// head of uses it.
type delivery struct {
	record   *pendingRecord
	attempts int   // calls that count
	waits    int   // calls that ended in NotYet
	err      error // of the last attempt
	giveUp   bool  // the next step stores it as a dead letter
	storeErr int   // how often that failed
	next     *delivery
}

// notYetMax is the longest pause after NotYet, however often it was returned.
const notYetMax = time.Second

// deadLetterTimeout is how long storing one dead letter may take.
const deadLetterTimeout = 10 * time.Second

// enqueue makes a lane ready and makes sure that a goroutine runs it. The caller
// holds mu.
func (s *laneScheduler) enqueue(l *lane) {
	l.nextReady = nil
	if s.readyFirst == nil {
		s.readyFirst = l
	} else {
		s.readyLast.nextReady = l
	}
	s.readyLast = l

	if s.running < s.limit {
		s.running++
		s.goroutines.Go(s.runReadyLanes)
	}
}

// runReadyLanes runs one step of each ready lane in turn, until none is ready.
func (s *laneScheduler) runReadyLanes() {
	for {
		l := s.nextLane()
		if l == nil {
			return
		}
		s.runStep(l)
	}
}

// nextLane removes the first ready lane from the queue. If none is ready, it gives
// up the goroutine's place and returns nil.
func (s *laneScheduler) nextLane() *lane {
	s.mu.Lock()
	defer s.mu.Unlock()

	for s.readyFirst != nil {
		l := s.readyFirst
		s.readyFirst = l.nextReady
		l.nextReady = nil

		// The shard may have been stopped while the lane was in the queue. It then
		// has removed the lane already.
		if l.shard.ended(l) {
			continue
		}

		l.running = true
		l.shard.newestBegun = max(l.shard.newestBegun, l.head.record.slot)

		return l
	}
	s.running--

	return nil
}

// runStep does the next thing for the lane's first record: it calls the handler, or
// stores the dead letter.
func (s *laneScheduler) runStep(l *lane) {
	d, h := l.head, &s.cfg.Handlers[l.handler]

	if d.giveUp {
		err := s.storeDeadLetter(l.shard, h, d)
		s.finishStep(l, d, err == nil, s.cfg.Retry.backoff().Delay(d.storeErr))

		return
	}

	err := s.callHandler(l.shard, h, d)
	s.finishStep(l, d, err == nil, s.pauseAfter(l.shard, h, d, err))
}

// callHandler calls the handler once for the record.
func (s *laneScheduler) callHandler(shard *shardLanes, h *Handler, d *delivery) error {
	began := time.Now()

	// Another worker may take the lease soon: begin nothing. The shard's worker
	// notices the same and cancels the calls that run.
	if !shard.lease.valid(began) {
		return ErrLeaseLost
	}
	d.attempts++

	r := d.recordFor(h, shard)
	err := h.call(shard.work, r)
	s.cfg.Events.handled(Handled{Record: r, Took: time.Since(began), Err: err})

	return err
}

// recordFor returns the record as the handler gets it.
func (d *delivery) recordFor(h *Handler, shard *shardLanes) Record {
	r := d.record.Record
	r.Handler = h.Name
	r.Attempt = d.attempts
	r.Epoch = shard.lease.epoch.Load()

	return r
}

// pauseAfter decides what follows a call that ended in err: it returns the pause
// before the next step and sets d.giveUp if that step stores the dead letter.
func (s *laneScheduler) pauseAfter(shard *shardLanes, h *Handler, d *delivery, err error) time.Duration {
	switch {
	case err == nil:
		return 0

	case shard.work.Err() != nil || errors.Is(err, ErrLeaseLost):
		// A stop or a lost lease ended the call. It does not count: the next holder
		// of the lease repeats it.
		return s.cfg.Retry.Base

	case isNotYet(err):
		d.attempts--
		d.waits++
		return min(s.cfg.Retry.backoff().Delay(d.waits), notYetMax)
	}

	d.err = err
	d.giveUp = IsPermanent(err) || (h.Attempts > 0 && d.attempts >= h.Attempts)
	if d.giveUp {
		return 0
	}

	return s.cfg.Retry.backoff().Delay(d.attempts)
}

// storeDeadLetter stores the record as a dead letter. The record is not finished
// until that has worked, so no checkpoint passes a record that is stored nowhere.
func (s *laneScheduler) storeDeadLetter(shard *shardLanes, h *Handler, d *delivery) error {
	ctx, cancel := context.WithTimeout(shard.work, deadLetterTimeout)
	defer cancel()

	r := d.recordFor(h, shard)
	if err := s.deadLetters.store(ctx, r, d.err); err != nil {
		d.storeErr++
		s.cfg.Events.fault("PutItem", r.ShardID, err)

		if s.log.Allow() {
			s.cfg.Log.Error("storing a dead letter failed; retrying", "handler", h.Name, "shard", r.ShardID, "err", err)
		}

		return err
	}

	s.cfg.Log.Warn("record became a dead letter", "handler", h.Name, "shard", r.ShardID,
		"sequence", r.SequenceNumber, "attempts", d.attempts)
	s.cfg.Events.deadLetter(r, d.attempts, d.err)

	return nil
}

// finishStep ends a step. If the record is done, the lane continues with its next
// record or ends; otherwise it runs again after the pause.
func (s *laneScheduler) finishStep(l *lane, d *delivery, done bool, pause time.Duration) {
	// The window has a lock of its own, and may move the checkpoint and wake the reader.
	if done {
		l.shard.window.finish(d.record)
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	l.running = false
	if done {
		l.head = d.next
	}

	switch {
	case l.head == nil || l.shard.ended(l):
		l.shard.remove(l)
	case done || pause == 0:
		// To the end of the queue, so that a long lane does not hold up the others.
		s.enqueue(l)
	default:
		l.timer = time.AfterFunc(pause, func() { s.resume(l) })
	}
}

// resume makes a lane ready again after its pause.
func (s *laneScheduler) resume(l *lane) {
	s.mu.Lock()
	defer s.mu.Unlock()

	l.timer = nil
	if !l.shard.ended(l) {
		s.enqueue(l)
	}
}
