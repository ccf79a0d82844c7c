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
	if q.suspect.Load() && q.queues.scheduler.Cfg.Calls.IsAlone() {
		return time.Now().Add(lanes.AlonePause), nil
	}
	// Read before the row: if the item is added again afterwards, removeIf keeps it.
	version, _ := waiting.Version(known)

	row, ok, err := table.First(ctx, q.h.Name, i.hash)
	if err != nil {
		return time.Time{}, err
	}

	if !ok {
		waiting.RemoveIf(known, version)
		return time.Time{}, nil
	}

	row.Holder = i.queue.Lease.Epoch.Load()

	row, done, err := i.deliver(ctx, shard, row)
	if err != nil || !done {
		return row.NextTry, err
	}

	// The call may have taken long, so the context begins again, as in handle.
	ctx, cancel := shard.WithinLease()
	defer cancel()

	// If the row has changed, the next try finds out how. It also finds the item's next record.
	_, err = table.Remove(ctx, q.h.Name, row)

	return time.Now(), err
}

// declareMissing declares a gap for a record whose parts are gone: someone has deleted them, or no worker has
// run until the row's end.
func (i *queuedItem) declareMissing(ctx context.Context, row retryqueue.Row, cause error) (_ retryqueue.Row, done bool, err error) {
	q, cfg := i.queue, i.queue.queues.cfg

	// Another worker may have removed the row with its parts meanwhile.
	now, ok, err := q.queues.table.First(ctx, q.h.Name, i.hash)
	if err != nil || !ok || now.Token != row.Token {
		return row, false, errors.Join(cause, err)
	}

	gap := streams.Gap{
		Reason: streams.GapQueue, Stream: cfg.StreamARN, Handler: q.h.Name, Item: store.ItemKey(streams.Record{Keys: row.Keys}),
		From: row.Sequence, Until: cfg.Clock.Now(),
	}
	lineage.DeclareGap(cfg.Log, cfg.Events, gap)

	if cfg.OnGap == streams.GapHalt {
		q.queues.halt(&streams.GapError{Gap: gap})
		row.NextTry = time.Now().Add(time.Hour)

		return row, false, nil
	}

	return row, true, nil
}

// deliver makes one try for the record of the row. done reports that the record is
// finished: it was handled, or it is stored as a dead letter. Otherwise the row that
// deliver returns has the time of the next try.
func (i *queuedItem) deliver(ctx context.Context, shard *lanes.Shard, row retryqueue.Row) (_ retryqueue.Row, done bool, err error) {
	q := i.queue

	if row.DeadLetter != "" {
		return i.redrive(ctx, shard, row)
	}

	r, err := q.queues.table.Record(ctx, q.h.Name, row)
	if errors.Is(err, store.ErrPartMissing) {
		return i.declareMissing(ctx, row, err)
	}

	if err != nil {
		return row, false, err
	}

	if row.Epoch != 0 && i.judged != row.Token {
		switch ours, err := q.queues.judge(ctx, r, row.Epoch); {
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
		i.judged = row.Token
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
		if err := q.queues.scheduler.Cfg.DeadLetters.Store(ctx, r, cause, q.queues.table.Check(row)); err != nil {
			return err
		}
		q.queues.scheduler.NoteDeadLetter(r, cause)

		return nil
	})
}

// handle calls h for r, the record of the row. It calls giveUp if the record has failed and
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
		if pause := s.Cfg.Calls.EnterAlone(); pause > 0 {
			row.NextTry = time.Now().Add(pause)
			return row, false, nil
		}
		defer s.Cfg.Calls.LeaveAlone()
	} else {
		s.Cfg.Calls.Enter()
		defer s.Cfg.Calls.Leave()
	}

	var begun retryqueue.TryCount
	if suspect {
		begun = retryqueue.TryCount{Count: tries + 1, By: s.Cfg.Owner}
	}

	if suspect || i.inherited {
		ok, err := i.begin(shard, h, row, begun)
		if err != nil || !ok {
			row.NextTry = time.Now().Add(q.h.Retry.Base)
			return row, false, err
		}
	}

	if suspect {
		defer i.endTry(shard, h, row, begun)
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

// begin stores that the worker begins with the row. It reports false if the row has changed; then the call
// must not be made. It has a context of its own, because the step's context may have ended while this call
// waited for others.
func (i *queuedItem) begin(shard *lanes.Shard, h *streams.Handler, row retryqueue.Row, tries retryqueue.TryCount) (bool, error) {
	ctx, cancel := shard.WithinLease()
	defer cancel()

	return i.queue.queues.table.Begin(ctx, h.Name, row, tries)
}

// endTry stores that the call has returned, also during a stop. It repeats the write, because the next call may end the
// process, and this record would count that death. If the write fails for long, OfOthers does not count this call against
// the record when this worker repeats it.
func (i *queuedItem) endTry(shard *lanes.Shard, h *streams.Handler, row retryqueue.Row, tries retryqueue.TryCount) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(shard.Work), lanes.StoreTimeout)
	defer cancel()

	for try := 1; ; try++ {
		err := i.queue.queues.table.EndTry(ctx, h.Name, row, tries)
		if err == nil {
			return
		}
		i.queue.noteFault(shard.Work, "UpdateItem", err)

		if shard.Work.Err() != nil || !store.WriteBackoff.Wait(ctx, try) {
			return
		}
	}
}
