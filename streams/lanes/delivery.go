package lanes

import (
	"context"
	"errors"
	"time"

	"ratchet/streams"
	"ratchet/streams/calls"
	"ratchet/streams/retryqueue"
	"ratchet/streams/store"
)

// delivery is one record on its way to one handler. Only the lane that it is the
// head of uses it.
type delivery struct {
	laneKey
	record     *pendingRecord
	turn       uint64       // the lanes of a handler begin in the order of their first turns
	waitsSince time.Time    // by the service's clock: from when on it could have been begun
	attempts   int          // calls that count
	waits      int          // calls that ended in NotYet
	since      time.Time    // when a call that counts first failed
	stuckSince time.Time    // when a step first left the record unfinished
	nextTry    time.Time    // while park is set
	err        error        // of the last attempt
	park       bool         // the next step stores it in the retry queue
	unsureAt   string       // the key in the retry queue under which a write of its row may still arrive
	giveUp     bool         // the next step stores it as a dead letter
	storeErr   int          // failed calls of these stores
	queued     func(*Shard) // a step for an item of the retry queue, in place of a record
	next       *delivery
}

const (
	// notYetMax is the longest pause after NotYet, however often it was returned; ParkedNotYetMax
	// is the longest pause in the retry queue.
	notYetMax       = time.Second
	ParkedNotYetMax = time.Minute

	// StoreTimeout is how long storing one dead letter, or one record in the retry
	// queue, may take.
	StoreTimeout = 10 * time.Second
)

// errHandlerFails is the error of a record for which no call was made, because the handler fails
// for every item.
var errHandlerFails = errors.New("the handler fails for every item")

// errPaused is the error of a record for which no call was made, because the handler is paused.
var errPaused = errors.New("the handler is paused")

// runStep does the next thing for the lane's first record: it calls the handler, or
// stores the record in the retry queue or as a dead letter.
func (s *Scheduler) runStep(l *lane) {
	d, h := l.head, &s.Cfg.Handlers[l.handler]

	if s.Paused[l.handler].Load() {
		d.moveToQueue(errPaused)
	}

	done, pause := true, time.Duration(0)

	switch {
	case d.queued != nil:
		d.queued(l.shard)
	case d.giveUp:
		done, pause = s.storeDeadLetter(l.shard, h, d)
	// Without waiting items the item's hash is not needed.
	case d.park || (s.Waiting.Len() > 0 && s.Waiting.Has(l.waitingItem())):
		done, pause = s.park(l, h, d)
	default:
		done, pause = s.try(l, h, d)
	}
	s.finishStep(l, d, done, pause)
}

func (s *Scheduler) try(l *lane, h *streams.Handler, d *delivery) (done bool, pause time.Duration) {
	if suspect := l.shard.Suspect.Load(); suspect != nil {
		// All other records of the shard wait for this one. If its call fails, the record goes to
		// the retry queue at once.
		if d.stuckSince.IsZero() {
			d.stuckSince = time.Now().Add(-s.Cfg.ParkAfter)
		}

		if suspect.triesAlone(d.record.SequenceNumber) {
			return s.tryAlone(l, h, d, suspect)
		}
	}

	s.Cfg.Calls.Enter()
	defer s.Cfg.Calls.Leave()

	return s.tryHandler(l, h, d)
}

// tryHandler calls the handler unless its circuit is open, and decides what follows.
func (s *Scheduler) tryHandler(l *lane, h *streams.Handler, d *delivery) (done bool, pause time.Duration) {
	// Before each call: a Rebuild may queue a newer version while this record is retried.
	repaired, err := s.isRepaired(l.shard, h, d.record.Record)
	switch {
	case err != nil:
		return false, s.queueFault(h, d, "GetItem", err)
	case repaired:
		return true, 0
	}
	now := time.Now()

	if wait := s.Circuits[l.handler].Admit(now); wait > 0 {
		return false, s.pauseOrPark(d, now, wait, errHandlerFails)
	}

	// Counted before the call, because the handler gets the number. pauseAfter takes it back for a
	// call that does not count.
	d.attempts++

	r := d.recordFor(h, l.shard)
	r.Late = calls.IsLate(r, s.Cfg.Clock, s.Cfg.LateAfter)
	err = s.CallHandler(l.shard, h, r)
	s.NoteResult(l.shard, l.handler, l.key, err)

	return err == nil, s.pauseAfter(l.shard, h, d, err)
}

// CallHandler calls the handler once for the record.
func (s *Scheduler) CallHandler(shard *Shard, h *streams.Handler, r streams.Record) error {
	began := time.Now()

	// Another worker may take the lease soon, so no call begins. The shard's worker sees this, too,
	// and cancels the running calls.
	if !shard.lease.Valid(began) {
		return streams.ErrLeaseLost
	}

	err := calls.Do(shard.Work, s.Cfg.Clock, h, r)
	s.Cfg.Events.Handled(streams.Handled{Record: r, Took: time.Since(began), Err: err})

	if errors.Is(err, streams.ErrSkipped) && shard.Work.Err() == nil {
		s.Cfg.Log.Info("a record needs no handling any more", "handler", r.Handler, "item", store.ItemKey(r), "err", err)
		return nil
	}

	return err
}

// Interrupted reports whether a stop or a lost lease ended the call. Such a call does
// not count: the next holder of the lease repeats it.
func Interrupted(shard *Shard, err error) bool {
	return err != nil && (shard.Work.Err() != nil || errors.Is(err, streams.ErrLeaseLost))
}

// NoteResult tells the handler's circuit how a call for the item ended.
func (s *Scheduler) NoteResult(shard *Shard, handler int, item string, err error) {
	c, name := s.Circuits[handler], s.Cfg.Handlers[handler].Name

	switch {
	case Interrupted(shard, err), streams.IsNotYet(err):
		c.undecided(time.Now())
	case err == nil, streams.IsPermanent(err):
		if c.succeeded() {
			s.Cfg.Log.Info("the handler has recovered", "handler", name)
			s.queues.TryAll(handler)
		}
	case c.failedFor(item, time.Now()):
		s.Cfg.Log.Warn("the handler fails for every item; its records wait", "handler", name, "err", err)
	}
}

// recordFor returns the record as the handler gets it.
func (d *delivery) recordFor(h *streams.Handler, shard *Shard) streams.Record {
	r := d.record.Record
	r.Handler = h.Name
	r.Attempt = d.attempts
	r.Epoch = shard.lease.Epoch.Load()

	return r
}

// pauseAfter decides what follows a call that returned err. It returns the pause before the next
// step. It sets d.giveUp or d.park if the next step stores the record and does not call the
// handler.
func (s *Scheduler) pauseAfter(shard *Shard, h *streams.Handler, d *delivery, err error) time.Duration {
	now := time.Now()

	switch {
	case err == nil:
		return 0

	case Interrupted(shard, err):
		d.attempts--
		return h.Retry.Base

	case streams.IsNotYet(err):
		d.attempts--
		d.waits++

		return s.pauseOrPark(d, now, min(calls.Backoff(h.Retry).Delay(d.waits), notYetMax), err)
	}

	if d.since.IsZero() {
		d.since = now
	}
	d.err = err

	pause := calls.Pause(h.Retry, d.attempts, err)
	d.giveUp = streams.IsPermanent(err) || calls.Exhausted(h.Retry, d.attempts, d.since, now.Add(pause))

	if d.giveUp {
		return 0
	}
	pauseOrZero := s.pauseOrPark(d, now, pause, err)
	s.NoteRetry(d.recordFor(h, shard), err, now.Add(pause), d.park)

	return pauseOrZero
}

// pauseOrPark returns the pause. If the record has been stuck for Config.parkAfter at the end of
// the pause, pauseOrPark sets d.park and returns 0.
func (s *Scheduler) pauseOrPark(d *delivery, now time.Time, pause time.Duration, err error) time.Duration {
	if d.stuckSince.IsZero() {
		d.stuckSince = now
	}

	if now.Add(pause).Sub(d.stuckSince) < s.Cfg.ParkAfter {
		return pause
	}
	d.park, d.nextTry, d.err = true, now.Add(pause), err

	return 0
}

// NoteRetry logs and reports a failed call that will be repeated.
func (s *Scheduler) NoteRetry(r streams.Record, err error, next time.Time, parked bool) {
	log, what := s.Cfg.Log.Debug, "handling a record failed; retrying"
	if parked {
		log, what = s.Cfg.Log.Warn, "handling a record failed; it waits in the retry queue"
	}
	log(what, "handler", r.Handler, "item", store.ItemKey(r), "attempt", r.Attempt, "err", err, "nextTry", next)
	s.Cfg.Events.Retrying(streams.Retrying{Record: r, Err: err, NextTry: next, Parked: parked})
}

// park stores the record in the retry queue, where older records of its item may wait. If none does any
// more and the record has not failed, the next step calls the handler.
func (s *Scheduler) park(l *lane, h *streams.Handler, d *delivery) (done bool, pause time.Duration) {
	shard, item := l.shard, l.waitingItem()

	// Another worker may take the lease soon. Only the holder of the lease adds records of the
	// shard.
	if !shard.lease.Valid(time.Now()) {
		return false, h.Retry.Base
	}

	ctx, cancel := shard.WithinLease()
	defer cancel()

	if !d.park {
		version, _ := s.Waiting.Version(item)

		_, waits, err := s.Cfg.Retries.First(ctx, h.Name, item.Hash)
		switch {
		case err != nil:
			return false, s.queueFault(h, d, "Query", err)
		case !waits:
			s.Waiting.RemoveIf(item, version)
			return false, 0
		}
	}

	source := d.unsureAt
	if source == "" && s.Waiting.Has(item) {
		var err error
		if source, err = s.Cfg.Retries.Place(ctx, h.Name, item.Hash); err != nil {
			return false, s.queueFault(h, d, "Query", err)
		}
	}

	// Added before the row exists and again afterwards: a load of the waiting items in between may
	// not have seen the row.
	s.Waiting.Add(item)

	unsureAt, err := s.Cfg.Retries.Park(ctx, item.Hash, d.recordFor(h, shard), retryqueue.Row{
		Attempts: d.attempts,
		Since:    d.since,
		NextTry:  d.nextTry,
		LastErr:  store.ErrorText(d.err),
		Source:   source,
		Unsure:   d.unsureAt != "",
	})
	s.Waiting.Add(item)

	if err != nil {
		// The handler must not be called for a record whose row may still arrive.
		d.unsureAt, d.park = unsureAt, d.park || unsureAt != ""
		return false, s.queueFault(h, d, "PutItem", err)
	}
	s.queues.Note(item, d.nextTry)

	return true, 0
}

// queueFault notes a failed call to the retry queue and returns the pause before the next one.
func (s *Scheduler) queueFault(h *streams.Handler, d *delivery, op string, err error) time.Duration {
	return s.storeFault(h, d, op, "a call to the retry queue failed; retrying", err)
}

// storeFault notes a failed call to a store and returns the pause before the next one.
func (s *Scheduler) storeFault(h *streams.Handler, d *delivery, op, what string, err error) time.Duration {
	d.storeErr++
	s.Cfg.Events.Fault(op, d.record.ShardID, err)

	if s.log.Allow() {
		s.Cfg.Log.Error(what, "handler", h.Name, "shard", d.record.ShardID, "err", err)
	}

	return calls.Backoff(h.Retry).Delay(d.storeErr)
}

// storeDeadLetter stores the record as a dead letter. The record is finished only when this write
// has succeeded. So every record before a checkpoint is handled or stored.
func (s *Scheduler) storeDeadLetter(shard *Shard, h *streams.Handler, d *delivery) (done bool, pause time.Duration) {
	ctx, cancel := context.WithTimeout(shard.Work, StoreTimeout)
	defer cancel()

	r := d.recordFor(h, shard)
	if err := s.Cfg.DeadLetters.Store(ctx, r, d.err, shard.lease.Check()); err != nil {
		return false, s.storeFault(h, d, "TransactWriteItems", "storing a dead letter failed; retrying", err)
	}
	s.NoteDeadLetter(r, d.err)

	return true, 0
}

// NoteDeadLetter notes that a record became a dead letter.
func (s *Scheduler) NoteDeadLetter(r streams.Record, err error) {
	s.Cfg.Log.Warn("record became a dead letter", "handler", r.Handler, "item", store.ItemKey(r), "shard", r.ShardID,
		"sequence", r.SequenceNumber, "attempts", r.Attempt, "err", err)
	s.Cfg.Events.DeadLetter(r, r.Attempt, err)
}
