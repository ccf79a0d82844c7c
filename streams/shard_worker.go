package streams

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"ratchet/internal/worker"
)

// finalWriteBackoff is the pause between tries of a lease's last write.
var finalWriteBackoff = worker.Backoff{Base: 10 * time.Millisecond, Max: 200 * time.Millisecond}

// shardWorker works on one shard while this worker holds its lease: it reads the shard, runs the
// handlers and stores checkpoints in the lease.
//
// It has two contexts. reading ends at a stop or a hand-over; running handlers may then finish.
// work is the parent of the handlers' contexts; it ends when the lease is lost or the drain takes
// too long.
type shardWorker struct {
	cfg       *Config
	id        string
	stream    *stream
	discovery *discovery
	table     *leaseTable
	lease     *heldLease
	lanes     *shardLanes

	waiting *waitingItems
	reader  *shardReader

	reading     context.Context
	stopReading context.CancelFunc
	work        context.Context
	cancelWork  context.CancelCauseFunc

	died    bool          // another death of a holder would make the shard suspect; used by keepLease only
	writing callLock      // held while progress is written
	touched chan struct{} // a value: write the lease at once
	log     worker.LogThrottle

	mu           sync.Mutex
	stored       progress // the newest progress that was written
	lastGap      Gap
	gapCount     int64
	trying       *tryNote // while the shard is suspect
	forgetDeaths bool     // earlier deaths do not count any more
}

// newShardWorker prepares the work on a shard. l is the shard's lease as this worker has taken it.
func (c *coordinator) newShardWorker(ctx context.Context, l Lease, held *heldLease) *shardWorker {
	p, st := c.poller, c.stream

	w := &shardWorker{
		cfg:       &p.cfg,
		id:        l.Shard,
		stream:    st,
		discovery: c.discovery,
		table:     c.table,
		lease:     held,
		touched:   make(chan struct{}, 1),
		writing:   newCallLock(),
		gapCount:  l.Gaps,
		died:      l.deathsSoFar() >= suspectAfter-1,
	}
	w.reading, w.stopReading = context.WithCancel(ctx)

	// When ctx ends, the shard drains: the running handlers must not be canceled then.
	w.work, w.cancelWork = context.WithCancelCause(context.WithoutCancel(ctx))

	w.waiting = p.scheduler.waiting

	window := newPendingWindow(p.cfg.maxPending, maxWindow, &p.memory)
	w.lanes = p.scheduler.newShardLanes(w.work, w.lease, window)
	w.reader = &shardReader{
		cfg:     &p.cfg,
		stream:  st,
		shard:   l.Shard,
		lanes:   w.lanes,
		wake:    make(chan struct{}, 1),
		onGap:   w.noteGap,
		last:    l.Checkpoint,
		lastAt:  l.HandledAt,
		startAt: l.StartAt,
	}

	w.reader.newestAt.Store(unixMilli(l.HandledAt))

	if l.isSuspect() {
		suspect := newSuspectShard(l, suspectWindows*p.cfg.maxPending)
		suspect.begin, suspect.ended = w.beginTry, w.noteTry
		w.trying = l.trying
		w.lanes.suspect.Store(suspect)
		w.cfg.Log.Warn("the workers of a shard have ended several times at the same records; these are handled few at a time",
			"shard", l.Shard, "times", l.deaths)
	}

	now := p.cfg.clock.now()
	if l.ParentLost && l.Checkpoint == "" {
		w.reader.gaps = append(w.reader.gaps, Gap{Reason: GapParent, Stream: st.arn, Shard: l.Parent, Until: now})
	}

	// A shard that was first read more than 24 h after its creation may have lost
	// its first records. No call to the service would report that.
	if since := unreadSince(l); !since.IsZero() && now.Sub(since) > w.cfg.horizon {
		w.reader.gaps = append(w.reader.gaps, Gap{Reason: GapUnread, Stream: st.arn, Shard: l.Shard, Since: since, Until: now})
	}

	return w
}

// unreadSince returns the time from which on the records of a shard should have been read, if the
// shard has never had a reader. It is zero if the shard was read before, or if the time is not
// known.
func unreadSince(l Lease) time.Time {
	switch {
	case l.Checkpoint != "":
		return time.Time{}
	case l.AtHorizon:
		return l.ListedAt
	case !l.StartAt.IsZero():
		return l.StartAt
	}

	return shardCreatedAt(l.Shard)
}

// run works on the shard until it is finished, its lease is handed over or lost, or
// ctx of newShardWorker ends. It returns an error only for a gap under GapHalt.
func (w *shardWorker) run() error {
	defer w.cancelWork(ErrStopped)
	defer w.stopReading()

	// The lease is kept until the drain is over, which is later than the end of reading.
	keeping, stopKeeping := context.WithCancel(context.WithoutCancel(w.reading))
	kept := make(chan struct{})
	go func() {
		defer close(kept)
		w.keepLease(keeping)
	}()

	var end error
	if w.loadWaiting(w.reading) {
		end = w.readToEnd(w.reading)
	}
	w.lanes.drain(w.cfg.DrainTimeout, w.cancelWork)
	w.lanes.window.close()

	// keepLease must not write after endLease, which stores the checkpoint as it is after the
	// drain.
	stopKeeping()
	<-kept

	return w.endLease(end)
}

// loadWaiting reads which items wait in the retry queue: the records of this shard must not
// overtake waiting records of the same item from the shard's parent. It also waits until this
// worker knows which handlers are paused. It reports false when ctx ends first.
func (w *shardWorker) loadWaiting(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-w.lanes.scheduler.queues.pausesRead:
	}

	for try := 1; ; try++ {
		err := w.waiting.load(ctx)
		if err == nil {
			return true
		}

		if ctx.Err() == nil {
			w.cfg.Events.fault("Query", w.id, err)
		}

		if !readBackoff.Wait(ctx, try) {
			return false
		}
	}
}

// readToEnd reads the shard, waits until every record is finished and stores the leases of the
// shard's children. It returns errShardEnd or errShardGone after all of these steps, nil if ctx
// ended before, and a *GapError for a gap under GapHalt.
//
// This order keeps the records of an item in order across shards: children
// are read only when their parent's lease is finished, and the lease is finished after
// readToEnd.
func (w *shardWorker) readToEnd(ctx context.Context) error {
	for {
		end := w.reader.run(ctx)
		if !errors.Is(end, errShardEnd) && !errors.Is(end, errShardGone) {
			return end
		}

		if w.lanes.window.waitUntilEmpty(ctx) != nil {
			return nil
		}

		// The children of a shard that no longer exists are found by the regular
		// listing.
		if errors.Is(end, errShardGone) {
			return end
		}

		// Before the lease is finished. After a crash in between, the next holder repeats this
		// step, so no child is missed.
		status, err := w.createChildLeases(ctx)
		if err != nil {
			return nil
		}

		if status != shardOpen {
			return end
		}
	}
}

// endLease makes the last write of the lease: finished after the shard's end,
// released otherwise. If the lease is lost it writes nothing.
func (w *shardWorker) endLease(end error) error {
	// The lease may be another worker's by now, so this worker must not write it.
	if errors.Is(context.Cause(w.work), ErrLeaseLost) {
		w.report(LeaseLost)
		return nil
	}

	last := w.progress()
	if !last.trying.isTried() {
		last.trying = nil // no call is running that was begun alone
	}

	change := LeaseReleased
	if errors.Is(end, errShardEnd) || errors.Is(end, errShardGone) {
		change = LeaseFinished
		last.finished = w.cfg.clock.now()
	} else {
		last.release = true
	}

	// Without this write the lease expires, and others take it over later.
	ctx, cancel := context.WithDeadline(context.WithoutCancel(w.reading), w.lease.stopBy())
	defer cancel()

	for try := 1; ; try++ {
		err := w.lease.write(ctx, last)
		if err == nil {
			w.report(change)
			w.lease.alive.noteChange()

			break
		}

		if errors.Is(err, ErrLeaseLost) || ctx.Err() != nil {
			w.report(LeaseLost)
			break
		}

		w.cfg.Events.fault("UpdateItem", w.id, err)
		finalWriteBackoff.Wait(ctx, try)
	}

	var halt *GapError
	if errors.As(end, &halt) {
		return end
	}

	return nil
}

// keepLease stores progress until ctx ends or the lease is lost. It also reports the lag.
func (w *shardWorker) keepLease(ctx context.Context) {
	tick := time.NewTicker(max(min(w.cfg.checkpointEvery, w.cfg.LeaseDuration/10), time.Millisecond))
	defer tick.Stop()

	var reported time.Time
	for touched := false; ; touched = false {
		select {
		case <-ctx.Done():
			return
		case <-w.touched:
			touched = true
		case <-tick.C:
		}

		now := time.Now()
		if w.cfg.Events.Lag != nil && now.Sub(reported) >= time.Second {
			reported = now
			w.cfg.Events.Lag(w.reader.lag(now))
		}

		w.lanes.checkPace(now)
		w.checkDeaths(now)

		// A write is due for new progress after Config.checkpointEvery.
		p := w.progress()
		// renewedAt counts from the last write of any kind, so that a touch delays the next checkpoint.
		due := !w.isStored(p) && now.Sub(w.lease.renewedAt()) >= w.cfg.checkpointEvery

		ours := w.lease.valid(now)
		if ours && (due || touched) {
			ours = w.writeLease(ctx)
		}

		if !ours {
			w.lose()
			return
		}
	}
}

// checkDeaths makes the next write forget the deaths of earlier holders, when the shard is caught
// up: then no record is left that could have caused them. It does nothing unless one more death
// would make the shard suspect.
func (w *shardWorker) checkDeaths(now time.Time) {
	if !w.died || !w.reader.lag(now).CaughtUp {
		return
	}
	w.died = false

	w.mu.Lock()
	defer w.mu.Unlock()

	w.forgetDeaths = true
}

// lose ends the work on the shard because the lease is lost.
func (w *shardWorker) lose() {
	w.cancelWork(ErrLeaseLost)
	w.stopReading()
}

// touch makes the lease be written at once.
func (w *shardWorker) touch() {
	nudge(w.touched)
}

// writeProgress writes the current progress. Writes go one at a time, so that no write stores older
// progress than the write before.
func (w *shardWorker) writeProgress(ctx context.Context) error {
	w.writing.lock()
	defer w.writing.unlock()

	p := w.progress()

	err := w.lease.write(ctx, p)
	if err == nil {
		w.mu.Lock()
		w.stored = p
		w.mu.Unlock()
	}

	return err
}

func (w *shardWorker) isStored(p progress) bool {
	w.mu.Lock()
	defer w.mu.Unlock()

	return p == w.stored
}

// writeLease writes the lease once. It reports whether the lease is still ours.
func (w *shardWorker) writeLease(ctx context.Context) bool {
	call, cancel := context.WithDeadline(ctx, w.lease.nextDeadline(time.Now()))
	defer cancel()

	err := w.writeProgress(call)
	switch {
	case err == nil:
	case errors.Is(err, ErrLeaseLost):
		return false
	case ctx.Err() == nil:
		w.cfg.Events.fault("UpdateItem", w.id, err)

		if w.log.Allow() {
			w.cfg.Log.Warn("writing a lease failed; retrying", "shard", w.id, "err", err)
		}
	}

	return w.lease.valid(time.Now())
}

// progress returns what there is to store now.
func (w *shardWorker) progress() progress {
	var p progress
	p.checkpoint, p.handledAt = w.lanes.window.checkpoint()

	w.mu.Lock()
	defer w.mu.Unlock()

	p.forgetDeaths = w.forgetDeaths
	if w.lanes.suspect.Load() != nil {
		p.trying = w.trying
	}

	// Until is not zero if this worker has noticed a gap.
	if !w.lastGap.Until.IsZero() {
		p.gaps, p.gapFrom, p.gapAt = w.gapCount, w.lastGap.From, w.lastGap.Until
	}

	return p
}

// beginTry stores the note about the records of the suspect shard that are tried next, with the
// checkpoint. If the write fails, they must not be tried, and the former note is stored again.
func (w *shardWorker) beginTry(ctx context.Context, note *tryNote) error {
	before := w.setTrying(note)

	// A write that hangs must leave time for another write.
	call, cancel := context.WithDeadline(ctx, w.lease.nextDeadline(time.Now()))
	defer cancel()

	err := w.writeProgress(call)
	if err != nil {
		w.cfg.Events.fault("UpdateItem", w.id, err)
		w.noteTry(before)
	}

	return err
}

// noteTry makes the lease be written with the note.
func (w *shardWorker) noteTry(note *tryNote) {
	w.setTrying(note)
	w.touch()
}

// setTrying sets the note and returns the former one.
func (w *shardWorker) setTrying(note *tryNote) *tryNote {
	w.mu.Lock()
	defer w.mu.Unlock()

	before := w.trying
	w.trying = note

	return before
}

func (w *shardWorker) noteGap(g Gap) {
	w.mu.Lock()
	defer w.mu.Unlock()

	w.lastGap = g
	w.gapCount++
}

// wake makes an idle reader read at once.
func (w *shardWorker) wake() {
	nudge(w.reader.wake)
}

// report logs a change of the lease and passes it to Events.
func (w *shardWorker) report(change LeaseChange) {
	epoch := w.lease.epoch.Load()

	level := slog.LevelDebug
	if change == LeaseLost {
		level = slog.LevelWarn
	}
	w.cfg.Log.Log(context.Background(), level, "lease "+string(change), "shard", w.id, "epoch", epoch)
	w.cfg.Events.lease(LeaseEvent{Shard: w.id, Change: change, Epoch: epoch})
}
