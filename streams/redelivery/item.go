package redelivery

import (
	"context"
	"errors"
	"time"

	"ratchet/streams"
	"ratchet/streams/calls"
	"ratchet/streams/lanes"
	"ratchet/streams/lineage"
	"ratchet/streams/retryqueue"
	"ratchet/streams/store"
)

// newerFormatPause is the pause before a row of a newer format is read again. A newer worker
// delivers it when it has the lease.
const newerFormatPause = time.Minute

// Run makes one try for the oldest record of the item: it reads the record, calls the
// handler and stores the result.
func (i *queuedItem) Run(shard *lanes.Shard) {
	ctx, cancel := shard.WithinLease()
	defer cancel()

	next, err := i.try(ctx, shard)
	if err != nil {
		i.queue.noteFault(shard.Work, "RetryQueue", err)
		next = time.Now().Add(store.Backoff.Delay(1))

		if errors.Is(err, store.ErrNewerFormat) {
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
func (i *queuedItem) try(ctx context.Context, shard *lanes.Shard) (time.Time, error) {
	q, table := i.queue, i.queue.queues.table
	waiting := q.queues.scheduler.Waiting
	known := lanes.Item{Handler: q.handler, Hash: i.hash}

	// While another call is tried alone, nothing is read for this one.
	if q.suspect.Load() && q.queues.scheduler.Calls.IsAlone() {
		return time.Now().Add(lanes.AlonePause), nil
	}
	// Read before the row: if the item is added again afterwards, removeIf keeps it.
	version, _ := waiting.Version(known)

	row, ok, err := table.Get(ctx, q.h.Name, i.hash)
	if err != nil {
		return time.Time{}, err
	}

	if !ok {
		waiting.RemoveIf(known, version)
		return time.Time{}, nil
	}

	row.Holder = i.queue.Lease.Epoch.Load()

	// The row must not become empty while records wait in rows of their own: an empty row means
	// that the item does not wait.
	if row.More > 0 && len(row.Records) < retryqueue.RefillBelow {
		refilled, err := table.Refill(ctx, q.h.Name, row)

		switch {
		case errors.Is(err, retryqueue.ErrRowsGone):
			return i.declareLost(ctx, row)
		case err != nil:
			return time.Time{}, err
		case refilled:
			i.refused = 0
			return time.Now(), nil
		case len(row.Records) <= 1:
			i.refused++
			return time.Now().Add(store.Backoff.Delay(i.refused)), nil
		}
	}

	row, done, err := i.deliver(ctx, shard, row)
	if err != nil || !done {
		return row.NextTry, err
	}

	// The call may have taken long, so the context begins again, as in handle.
	ctx, cancel := shard.WithinLease()
	defer cancel()

	left, err := table.Pop(ctx, q.h.Name, row)
	if err != nil {
		return time.Time{}, err
	}

	if left.Empty() {
		waiting.RemoveIf(known, version)
		return time.Time{}, nil
	}

	return time.Now(), nil
}

// declareLost declares a gap for the records that the row counts in rows of their own: these rows
// were deleted. Under GapHalt no record of the item is delivered any more, and Run ends. Otherwise
// the records in the row itself are delivered. If the process ends before the row is changed, the
// gap is declared again.
func (i *queuedItem) declareLost(ctx context.Context, row retryqueue.Row) (time.Time, error) {
	q, cfg := i.queue, i.queue.queues.cfg

	gap := streams.Gap{Reason: streams.GapQueue, Stream: cfg.StreamARN, Handler: q.h.Name, Item: store.ItemKey(streams.Record{Keys: row.Keys}), Until: cfg.Clock.Now()}
	if len(row.Records) > 0 {
		gap.From = row.Records[len(row.Records)-1].Sequence
	}
	lineage.DeclareGap(cfg.Log, cfg.Events, gap)

	if cfg.OnGap == streams.GapHalt {
		q.queues.halt(&streams.GapError{Gap: gap})
		return time.Now().Add(time.Hour), nil
	}

	return time.Now(), q.queues.table.ForgetMore(ctx, q.h.Name, row)
}

// declareMissing declares a gap for the row's first record, whose parts are gone: someone has deleted
// them, or no worker has run for partsLife.
func (i *queuedItem) declareMissing(ctx context.Context, row retryqueue.Row, cause error) (_ retryqueue.Row, done bool, err error) {
	q, cfg := i.queue, i.queue.queues.cfg

	// The next holder of the shard's lease may have adopted the record meanwhile, with parts of its own.
	now, ok, err := q.queues.table.Get(ctx, q.h.Name, i.hash)
	if err != nil || !ok || now.Length() == 0 || now.First() != row.First() {
		return row, false, errors.Join(cause, err)
	}

	gap := streams.Gap{
		Reason: streams.GapQueue, Stream: cfg.StreamARN, Handler: q.h.Name, Item: store.ItemKey(streams.Record{Keys: row.Keys}),
		From: row.First().Sequence, Until: cfg.Clock.Now(),
	}
	lineage.DeclareGap(cfg.Log, cfg.Events, gap)

	if cfg.OnGap == streams.GapHalt {
		q.queues.halt(&streams.GapError{Gap: gap})
		row.NextTry = time.Now().Add(time.Hour)

		return row, false, nil
	}

	return row, true, nil
}

// deliver makes one try for the first record of the row. done reports that the record is
// finished: it was handled, or it is stored as a dead letter. Otherwise the row that
// deliver returns has the time of the next try.
func (i *queuedItem) deliver(ctx context.Context, shard *lanes.Shard, row retryqueue.Row) (_ retryqueue.Row, done bool, err error) {
	q := i.queue

	if row.First().DeadLetter != "" {
		return i.redrive(ctx, shard, row)
	}

	r, err := q.queues.table.First(ctx, q.h.Name, row)
	if errors.Is(err, store.ErrPartMissing) {
		return i.declareMissing(ctx, row, err)
	}

	if err != nil {
		return row, false, err
	}

	if token := row.First().Parts.Token; row.First().Epoch != 0 && i.judged != token {
		switch ours, err := q.queues.judge(ctx, r, row.First().Epoch); {
		case errors.Is(err, errNotJudged):
			row.NextTry = time.Now().Add(q.queues.judgeAgainAfter())
			return row, false, nil
		case err != nil:
			return row, false, err
		case !ours:
			q.queues.cfg.Log.Info("a record that was put into the retry queue late is not delivered again",
				"handler", q.h.Name, "item", store.ItemKey(r), "shard", r.ShardID, "sequence", r.SequenceNumber)
			return row, true, nil
		}
		i.judged = token
	}

	// The mark does not apply to records that a Rebuild or Replay has queued.
	if r.Replay == nil && q.h.Version != nil {
		repaired, err := q.queues.table.IsMarked(ctx, q.h, i.hash, r)
		if err != nil || repaired {
			return row, repaired, err
		}
	}

	return i.handle(ctx, shard, q.h, row, r, func(ctx context.Context, cause error, attempts int) error {
		r.Handler, r.Attempt = q.h.Name, attempts
		if err := q.queues.scheduler.DeadLetters.Store(ctx, r, cause, q.queues.table.Check(q.h.Name, row)); err != nil {
			return err
		}
		q.queues.scheduler.NoteDeadLetter(r, cause)

		return nil
	})
}

// handle calls h for r, the first record of the row. It calls giveUp if the record has failed and
// gets no further call.
func (i *queuedItem) handle(ctx context.Context, shard *lanes.Shard, h *streams.Handler, row retryqueue.Row, r streams.Record, giveUp func(ctx context.Context, cause error, attempts int) error) (_ retryqueue.Row, done bool, err error) {
	q, s := i.queue, i.queue.queues.scheduler

	suspect, tries := q.suspect.Load(), row.Tries.OfOthers(s.Cfg.Owner)

	// One more than lanes.MaxDeaths: the first of these calls did not run alone, so another call may have
	// ended that worker.
	if suspect && tries > lanes.MaxDeaths {
		err := giveUp(ctx, lanes.ErrProcessEnded, row.Attempts+tries)
		return row, err == nil, err
	}

	if suspect && tries > 0 {
		if pause := s.Calls.EnterAlone(); pause > 0 {
			row.NextTry = time.Now().Add(pause)
			return row, false, nil
		}
		defer s.Calls.LeaveAlone()
	} else {
		s.Calls.Enter()
		defer s.Calls.Leave()
	}

	if !i.claimed {
		claimed, err := q.queues.table.Claim(ctx, h.Name, row)
		if err != nil || !claimed {
			row.NextTry = time.Now().Add(q.h.Retry.Base)
			return row, false, err
		}
		i.claimed = true
	}

	if suspect {
		begun, err := i.beginTry(shard, h, row, tries+1)
		if err != nil || !begun {
			row.NextTry = time.Now()
			return row, false, err
		}
		defer i.endTry(shard, h, row)
	}

	// if no call is admitted, the deferred endTry takes the begun try back.
	if wait := s.Circuits[q.handler].Admit(time.Now()); wait > 0 {
		row.NextTry = time.Now().Add(wait)
		return row, false, nil
	}

	// The epoch stays as the shard's worker stored it: the item's later records have the same or a
	// higher epoch.
	r.Group = q.queues.cfg.Group
	r.Owner, r.Handler, r.Attempt, r.Late = q.queues.cfg.Owner, h.Name, row.Attempts+1, true
	callErr := s.CallHandler(shard, h, r)
	s.NoteResult(shard, q.handler, string(i.hash[:]), callErr)
	now := time.Now()

	// A context of its own: the lease may have been renewed during the call, which outlasts the
	// first one.
	ctx, cancel := shard.WithinLease()
	defer cancel()

	switch {
	case callErr == nil:
		return row, true, nil

	case lanes.Interrupted(shard, callErr):
		row.NextTry = now.Add(q.h.Retry.Base)
		return row, false, nil

	case streams.IsNotYet(callErr):
		i.waits++
		row.NextTry = now.Add(min(calls.Backoff(q.h.Retry).Delay(i.waits), lanes.ParkedNotYetMax))

		return row, false, nil
	}

	i.waits = 0
	row.Attempts++
	row.LastErr = store.ErrorText(callErr)

	if row.Since.IsZero() {
		row.Since = now
	}
	row.NextTry = now.Add(calls.Pause(q.h.Retry, row.Attempts, callErr))

	if streams.IsPermanent(callErr) || calls.Exhausted(q.h.Retry, row.Attempts, row.Since, row.NextTry) {
		err := giveUp(ctx, callErr, row.Attempts)
		return row, err == nil, err
	}
	s.NoteRetry(r, callErr, row.NextTry, true)

	return row, false, i.queue.queues.table.Postpone(ctx, q.h.Name, row)
}

// beginTry stores that a call for the row's first record begins. It reports false if the row has
// changed; then the call must not be made. It has a context of its own, because the step's context
// may have ended while this call waited for others.
func (i *queuedItem) beginTry(shard *lanes.Shard, h *streams.Handler, row retryqueue.Row, tries int) (bool, error) {
	ctx, cancel := shard.WithinLease()
	defer cancel()

	return i.queue.queues.table.BeginTry(ctx, h.Name, row, retryqueue.TryCount{Count: tries, By: i.queue.queues.cfg.Owner})
}

// endTry stores that the call has returned, also during a stop. If the write fails, ofOthers does
// not count this call against the record when this worker repeats it.
func (i *queuedItem) endTry(shard *lanes.Shard, h *streams.Handler, row retryqueue.Row) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(shard.Work), lanes.StoreTimeout)
	defer cancel()

	if err := i.queue.queues.table.EndTry(ctx, h.Name, row, i.queue.queues.cfg.Owner); err != nil {
		i.queue.noteFault(shard.Work, "UpdateItem", err)
	}
}
