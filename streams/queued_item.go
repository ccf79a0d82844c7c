package streams

import (
	"context"
	"time"
)

// run makes one try for the oldest record of the item: it reads the record, calls the
// handler and stores the result.
func (i *queuedItem) run(shard *shardLanes) {
	ctx, cancel := context.WithDeadline(shard.work, shard.lease.stopBy())
	defer cancel()

	next, err := i.try(ctx, shard)
	if err != nil {
		i.queue.noteFault(shard.work, "RetryQueue", err)
		next = time.Now().Add(readBackoff.Delay(1))
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
	version, _ := waiting.version(known)

	row, ok, err := table.get(ctx, q.h.Name, i.hash)
	if err != nil {
		return time.Time{}, err
	}

	if !ok {
		waiting.removeIf(known, version)
		return time.Time{}, nil
	}

	row, done, err := i.deliver(ctx, shard, row)
	if err != nil || !done {
		return row.nextTry, err
	}

	left, err := table.pop(ctx, q.h.Name, row)
	if err != nil {
		return time.Time{}, err
	}

	if left.length() == 0 {
		waiting.removeIf(known, version)
		return time.Time{}, nil
	}

	return time.Now(), nil
}

// deliver makes one try for the first record of the row. done reports that the record is
// finished: it was handled, or it is stored as a dead letter. Otherwise the row that
// deliver returns has the time of the next try.
func (i *queuedItem) deliver(ctx context.Context, shard *shardLanes, row retryRow) (_ retryRow, done bool, err error) {
	q := i.queue

	if row.first().letter != "" {
		return i.redrive(ctx, shard, row)
	}

	r, err := q.queues.table.first(ctx, q.h.Name, row)
	if err != nil {
		return row, false, err
	}

	if r.Replay == nil && q.h.Version != nil {
		mark, known, err := q.queues.table.mark(ctx, q.h.Name, i.hash)
		if err != nil {
			return row, false, err
		}

		// A Rebuild has delivered this version, and maybe newer ones.
		if known && q.h.Version(r) <= mark {
			return row, true, nil
		}
	}

	return i.handle(ctx, shard, q.h, row, r, func(cause error, attempts int) error {
		r.Handler, r.Attempt = q.h.Name, attempts
		if err := q.queues.scheduler.deadLetters.store(ctx, r, cause); err != nil {
			return err
		}
		q.queues.scheduler.noteDeadLetter(r, cause)

		return nil
	})
}

// handle calls h for r, the first record of the row. It calls giveUp when no call is to
// follow although none succeeded.
func (i *queuedItem) handle(ctx context.Context, shard *shardLanes, h *Handler, row retryRow, r Record, giveUp func(cause error, attempts int) error) (_ retryRow, done bool, err error) {
	q, s := i.queue, i.queue.queues.scheduler

	if wait := s.circuits[q.handler].admit(time.Now()); wait > 0 {
		row.nextTry = time.Now().Add(wait)
		return row, false, nil
	}

	// The epoch stays that of the shard: the item's later records have the same or a
	// higher one.
	r.Group = q.queues.cfg.Group
	r.Owner, r.Handler, r.Attempt, r.Late = q.queues.cfg.Owner, h.Name, row.attempts+1, true
	callErr := s.callHandler(shard, h, r)
	s.noteResult(shard, q.handler, string(i.hash[:]), callErr)
	now := time.Now()

	switch {
	case callErr == nil:
		return row, true, nil

	case interrupted(shard, callErr):
		row.nextTry = now.Add(q.h.Retry.Base)
		return row, false, nil

	case isNotYet(callErr):
		i.waits++
		row.nextTry = now.Add(min(q.h.Retry.backoff().Delay(i.waits), parkedNotYetMax))

		return row, false, nil
	}

	i.waits = 0
	row.attempts++
	row.lastErr = errorText(callErr)

	if row.since.IsZero() {
		row.since = now
	}
	row.nextTry = now.Add(q.h.Retry.pause(row.attempts, callErr))

	if IsPermanent(callErr) || q.h.Retry.exhausted(row.attempts, row.since, row.nextTry) {
		err := giveUp(callErr, row.attempts)
		return row, err == nil, err
	}
	s.noteRetry(r, callErr, row.nextTry, true)

	return row, false, i.queue.queues.table.postpone(ctx, q.h.Name, row)
}
