package streams

import (
	"context"
	"errors"
	"time"
)

// newerFormatPause is the pause before a row of a newer format is read again. A newer worker
// delivers it when it has the lease.
const newerFormatPause = time.Minute

// Run makes one try for the oldest record of the item: it reads the record, calls the
// handler and stores the result.
func (i *queuedItem) Run(shard *shardLanes) {
	ctx, cancel := shard.withinLease()
	defer cancel()

	next, err := i.try(ctx, shard)
	if err != nil {
		i.queue.noteFault(shard.work, "RetryQueue", err)
		next = time.Now().Add(readBackoff.Delay(1))

		if errors.Is(err, errNewerFormat) {
			next = time.Now().Add(newerFormatPause)
		}
	}

	if next.IsZero() {
		i.queue.forget(i)
	} else {
		i.queue.again(i, next)
	}
}

// try returns when the next try is due, zero if the item has no row any more.
func (i *queuedItem) try(ctx context.Context, shard *shardLanes) (time.Time, error) {
	q, table := i.queue, i.queue.queues.table
	waiting := q.queues.scheduler.waiting
	known := waitingItem{q.handler, i.hash}

	// While another call is tried alone, nothing is read for this one.
	if q.suspect.Load() && q.queues.scheduler.calls.isAlone() {
		return time.Now().Add(alonePause), nil
	}
	// Read before the row: if the item is added again afterwards, removeIf keeps it.
	version, _ := waiting.version(known)

	row, ok, err := table.get(ctx, q.h.Name, i.hash)
	if err != nil {
		return time.Time{}, err
	}

	if !ok {
		waiting.removeIf(known, version)
		return time.Time{}, nil
	}

	row.holder = i.queue.lease.epoch.Load()

	// The row must not become empty while records wait in rows of their own: an empty row means
	// that the item does not wait.
	if row.more > 0 && len(row.records) < refillBelow {
		refilled, err := table.refill(ctx, q.h.Name, row)

		switch {
		case errors.Is(err, errRowsGone):
			return i.declareLost(ctx, row)
		case err != nil:
			return time.Time{}, err
		case refilled:
			i.refused = 0
			return time.Now(), nil
		case len(row.records) <= 1:
			i.refused++
			return time.Now().Add(readBackoff.Delay(i.refused)), nil
		}
	}

	row, done, err := i.deliver(ctx, shard, row)
	if err != nil || !done {
		return row.nextTry, err
	}

	// The call may have taken long, so the context begins again, as in handle.
	ctx, cancel := shard.withinLease()
	defer cancel()

	left, err := table.pop(ctx, q.h.Name, row)
	if err != nil {
		return time.Time{}, err
	}

	if left.empty() {
		waiting.removeIf(known, version)
		return time.Time{}, nil
	}

	return time.Now(), nil
}

// declareLost declares a gap for the records that the row counts in rows of their own: these rows
// were deleted. Under GapHalt no record of the item is delivered any more, and Run ends. Otherwise
// the records in the row itself are delivered. If the process ends before the row is changed, the
// gap is declared again.
func (i *queuedItem) declareLost(ctx context.Context, row retryRow) (time.Time, error) {
	q, cfg := i.queue, i.queue.queues.cfg

	gap := Gap{Reason: GapQueue, Stream: cfg.StreamARN, Handler: q.h.Name, Item: itemKey(Record{Keys: row.keys}), Until: cfg.clock.Now()}
	if len(row.records) > 0 {
		gap.From = row.records[len(row.records)-1].sequence
	}
	declareGap(cfg.Log, cfg.Events, gap)

	if cfg.OnGap == GapHalt {
		q.queues.halt(&GapError{Gap: gap})
		return time.Now().Add(time.Hour), nil
	}

	return time.Now(), q.queues.table.forgetMore(ctx, q.h.Name, row)
}

// declareMissing declares a gap for the row's first record, whose parts are gone: someone has deleted
// them, or no worker has run for partsLife.
func (i *queuedItem) declareMissing(ctx context.Context, row retryRow, cause error) (_ retryRow, done bool, err error) {
	q, cfg := i.queue, i.queue.queues.cfg

	// The next holder of the shard's lease may have adopted the record meanwhile, with parts of its own.
	now, ok, err := q.queues.table.get(ctx, q.h.Name, i.hash)
	if err != nil || !ok || now.length() == 0 || now.first() != row.first() {
		return row, false, errors.Join(cause, err)
	}

	gap := Gap{
		Reason: GapQueue, Stream: cfg.StreamARN, Handler: q.h.Name, Item: itemKey(Record{Keys: row.keys}),
		From: row.first().sequence, Until: cfg.clock.Now(),
	}
	declareGap(cfg.Log, cfg.Events, gap)

	if cfg.OnGap == GapHalt {
		q.queues.halt(&GapError{Gap: gap})
		row.nextTry = time.Now().Add(time.Hour)

		return row, false, nil
	}

	return row, true, nil
}

// deliver makes one try for the first record of the row. done reports that the record is
// finished: it was handled, or it is stored as a dead letter. Otherwise the row that
// deliver returns has the time of the next try.
func (i *queuedItem) deliver(ctx context.Context, shard *shardLanes, row retryRow) (_ retryRow, done bool, err error) {
	q := i.queue

	if row.first().deadLetter != "" {
		return i.redrive(ctx, shard, row)
	}

	r, err := q.queues.table.first(ctx, q.h.Name, row)
	if errors.Is(err, errPartMissing) {
		return i.declareMissing(ctx, row, err)
	}

	if err != nil {
		return row, false, err
	}

	if token := row.first().parts.token; row.first().epoch != 0 && i.judged != token {
		switch ours, err := q.queues.judge(ctx, r, row.first().epoch); {
		case errors.Is(err, errNotJudged):
			row.nextTry = time.Now().Add(q.queues.judgeAgainAfter())
			return row, false, nil
		case err != nil:
			return row, false, err
		case !ours:
			q.queues.cfg.Log.Info("a record that was put into the retry queue late is not delivered again",
				"handler", q.h.Name, "item", itemKey(r), "shard", r.ShardID, "sequence", r.SequenceNumber)
			return row, true, nil
		}
		i.judged = token
	}

	// The mark does not apply to records that a Rebuild or Replay has queued.
	if r.Replay == nil && q.h.Version != nil {
		repaired, err := q.queues.table.isMarked(ctx, q.h, i.hash, r)
		if err != nil || repaired {
			return row, repaired, err
		}
	}

	return i.handle(ctx, shard, q.h, row, r, func(ctx context.Context, cause error, attempts int) error {
		r.Handler, r.Attempt = q.h.Name, attempts
		if err := q.queues.scheduler.deadLetters.store(ctx, r, cause, q.queues.table.check(q.h.Name, row)); err != nil {
			return err
		}
		q.queues.scheduler.noteDeadLetter(r, cause)

		return nil
	})
}

// handle calls h for r, the first record of the row. It calls giveUp if the record has failed and
// gets no further call.
func (i *queuedItem) handle(ctx context.Context, shard *shardLanes, h *Handler, row retryRow, r Record, giveUp func(ctx context.Context, cause error, attempts int) error) (_ retryRow, done bool, err error) {
	q, s := i.queue, i.queue.queues.scheduler

	suspect, tries := q.suspect.Load(), row.tries.ofOthers(s.cfg.Owner)

	// One more than maxDeaths: the first of these calls did not run alone, so another call may have
	// ended that worker.
	if suspect && tries > maxDeaths {
		err := giveUp(ctx, errProcessEnded, row.attempts+tries)
		return row, err == nil, err
	}

	if suspect && tries > 0 {
		if pause := s.calls.enterAlone(); pause > 0 {
			row.nextTry = time.Now().Add(pause)
			return row, false, nil
		}
		defer s.calls.leaveAlone()
	} else {
		s.calls.enter()
		defer s.calls.leave()
	}

	if !i.claimed {
		claimed, err := q.queues.table.claim(ctx, h.Name, row)
		if err != nil || !claimed {
			row.nextTry = time.Now().Add(q.h.Retry.Base)
			return row, false, err
		}
		i.claimed = true
	}

	if suspect {
		begun, err := i.beginTry(shard, h, row, tries+1)
		if err != nil || !begun {
			row.nextTry = time.Now()
			return row, false, err
		}
		defer i.endTry(shard, h, row)
	}

	// If no call is admitted, the deferred endTry takes the begun try back.
	if wait := s.circuits[q.handler].admit(time.Now()); wait > 0 {
		row.nextTry = time.Now().Add(wait)
		return row, false, nil
	}

	// The epoch stays as the shard's worker stored it: the item's later records have the same or a
	// higher epoch.
	r.Group = q.queues.cfg.Group
	r.Owner, r.Handler, r.Attempt, r.Late = q.queues.cfg.Owner, h.Name, row.attempts+1, true
	callErr := s.callHandler(shard, h, r)
	s.noteResult(shard, q.handler, string(i.hash[:]), callErr)
	now := time.Now()

	// A context of its own: the lease may have been renewed during the call, which outlasts the
	// first one.
	ctx, cancel := shard.withinLease()
	defer cancel()

	switch {
	case callErr == nil:
		return row, true, nil

	case interrupted(shard, callErr):
		row.nextTry = now.Add(q.h.Retry.Base)
		return row, false, nil

	case IsNotYet(callErr):
		i.waits++
		row.nextTry = now.Add(min(backoffOf(q.h.Retry).Delay(i.waits), parkedNotYetMax))

		return row, false, nil
	}

	i.waits = 0
	row.attempts++
	row.lastErr = errorText(callErr)

	if row.since.IsZero() {
		row.since = now
	}
	row.nextTry = now.Add(retryPause(q.h.Retry, row.attempts, callErr))

	if IsPermanent(callErr) || exhausted(q.h.Retry, row.attempts, row.since, row.nextTry) {
		err := giveUp(ctx, callErr, row.attempts)
		return row, err == nil, err
	}
	s.noteRetry(r, callErr, row.nextTry, true)

	return row, false, i.queue.queues.table.postpone(ctx, q.h.Name, row)
}

// beginTry stores that a call for the row's first record begins. It reports false if the row has
// changed; then the call must not be made. It has a context of its own, because the step's context
// may have ended while this call waited for others.
func (i *queuedItem) beginTry(shard *shardLanes, h *Handler, row retryRow, tries int) (bool, error) {
	ctx, cancel := shard.withinLease()
	defer cancel()

	return i.queue.queues.table.beginTry(ctx, h.Name, row, tryCount{tries, i.queue.queues.cfg.Owner})
}

// endTry stores that the call has returned, also during a stop. If the write fails, ofOthers does
// not count this call against the record when this worker repeats it.
func (i *queuedItem) endTry(shard *shardLanes, h *Handler, row retryRow) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(shard.work), storeTimeout)
	defer cancel()

	if err := i.queue.queues.table.endTry(ctx, h.Name, row, i.queue.queues.cfg.Owner); err != nil {
		i.queue.noteFault(shard.work, "UpdateItem", err)
	}
}
