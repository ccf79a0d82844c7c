package poller

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"ratchet/internal/worker"
	"ratchet/streams"
	"ratchet/streams/holders"
	"ratchet/streams/lanes"
	"ratchet/streams/leases"
	"ratchet/streams/lineage"
	"ratchet/streams/store"
)

// shardWorker works on one shard while this worker holds its lease: it reads the shard, runs the
// handlers and stores checkpoints in the lease.
type shardWorker struct {
	holders.Work
	shardParts

	id     string
	lanes  *lanes.Shard
	reader *shardReader

	died     bool      // another death of a holder would make the shard suspect; used by check only
	reported time.Time // when the lag was last reported; used by check only

	mu           sync.Mutex
	lastGap      streams.Gap
	gapCount     int64
	trying       *leases.TryNote // while the shard is suspect
	forgetDeaths bool            // earlier deaths do not count any more
}

// shardConfig says how shards are read. All fields must be set.
type shardConfig struct {
	lineage.Config

	Owner           string
	Group           string
	PollActive      time.Duration
	PollIdle        time.Duration
	DrainTimeout    time.Duration
	pageSize        int
	maxPending      int
	checkpointEvery time.Duration
}

// shardParts is what the work on a shard shares with the rest of its worker.
type shardParts struct {
	cfg        *shardConfig
	stream     *lineage.Stream
	discovery  *lineage.Discovery
	table      *leases.Table
	scheduler  *lanes.Scheduler
	memory     *lanes.Memory
	pausesRead <-chan struct{} // closed when the scheduler knows which handlers are paused
	noteChange func()          // tells other workers of a change of the leases
}

// newShardWorker prepares the work on a shard. l is the shard's lease as this worker has taken it.
func newShardWorker(ctx context.Context, parts shardParts, l leases.Lease, held *holders.Held) *shardWorker {
	cfg, st := parts.cfg, parts.stream

	w := &shardWorker{
		Work: holders.Work{
			Name:  l.Shard,
			Shard: l.Shard,
			Lease: held,
			Fault: cfg.Events.Fault,
			Log:   cfg.Log,
			Every: min(cfg.checkpointEvery, cfg.LeaseDuration/10),
		},
		shardParts: parts,
		id:         l.Shard,
		gapCount:   l.Gaps,
		died:       l.DeathsSoFar() >= leases.SuspectAfter-1,
	}
	w.Look, w.Due, w.Progress = w.check, w.checkpointDue, w.toStore
	w.Begin(ctx)

	window := lanes.NewWindow(cfg.maxPending, lanes.MaxWindow, parts.memory)
	w.lanes = parts.scheduler.NewShard(w.Running, w.Lease, window)
	w.Drain = func(cancel context.CancelCauseFunc) { w.lanes.Drain(cfg.DrainTimeout, cancel) }
	w.reader = &shardReader{
		cfg:     cfg,
		stream:  st,
		shard:   l.Shard,
		lanes:   w.lanes,
		wake:    make(chan struct{}, 1),
		onGap:   w.noteGap,
		last:    l.Checkpoint,
		lastAt:  l.HandledAt,
		startAt: l.StartAt,
	}

	w.reader.newestAt.Store(lanes.UnixMilli(l.HandledAt))

	if l.IsSuspect() {
		suspect := lanes.NewSuspect(l, lanes.SuspectWindows*cfg.maxPending)
		suspect.Begin, suspect.Ended = w.beginTry, w.noteTry
		w.trying = l.Trying
		w.lanes.Suspect.Store(suspect)
		w.cfg.Log.Warn("the workers of a shard have ended several times at the same records; these are handled few at a time",
			"shard", l.Shard, "times", l.Deaths)
	}

	now := cfg.Clock.Now()
	if l.ParentLost && l.Checkpoint == "" {
		w.reader.gaps = append(w.reader.gaps, streams.Gap{Reason: streams.GapParent, Stream: st.Arn, Shard: l.Parent, Until: now})
	}

	// A shard that was first read more than 24 h after its creation may have lost
	// its first records. No call to the service would report that.
	if since := unreadSince(l); !since.IsZero() && now.Sub(since) > w.cfg.Horizon {
		w.reader.gaps = append(w.reader.gaps, streams.Gap{Reason: streams.GapUnread, Stream: st.Arn, Shard: l.Shard, Since: since, Until: now})
	}

	return w
}

// unreadSince returns the time from which on the records of a shard should have been read, if the
// shard has never had a reader. It is zero if the shard was read before, or if the time is not
// known.
func unreadSince(l leases.Lease) time.Time {
	switch {
	case l.Checkpoint != "":
		return time.Time{}
	case l.AtHorizon:
		return l.ListedAt
	case !l.StartAt.IsZero():
		return l.StartAt
	}

	return lineage.ShardCreatedAt(l.Shard)
}

// run works on the shard until it is finished, its lease is handed over or lost, or
// ctx of newShardWorker ends. It returns an error only for a gap under GapHalt.
func (w *shardWorker) run() error {
	given, end := w.Work.Run(func(ctx context.Context) error {
		if !w.loadWaiting(ctx) {
			return nil
		}

		return w.readToEnd(ctx)
	}, w.last)

	change := streams.LeaseReleased
	switch {
	case !given:
		change = streams.LeaseLost
	case isShardEnd(end):
		change = streams.LeaseFinished
	}
	w.report(change)

	if given {
		w.noteChange()
	}

	var halt *streams.GapError
	if errors.As(end, &halt) && !errors.Is(context.Cause(w.Running), streams.ErrLeaseLost) {
		return end
	}

	return nil
}

// isShardEnd reports whether the result of readToEnd says that the shard is finished.
func isShardEnd(end error) bool { return errors.Is(end, errShardEnd) || errors.Is(end, errShardGone) }

// loadWaiting reads which items wait in the retry queue: the records of this shard must not
// overtake waiting records of the same item from the shard's parent. It also waits until this
// worker knows which handlers are paused. It reports false when ctx ends first.
func (w *shardWorker) loadWaiting(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-w.pausesRead:
	}

	for try := 1; ; try++ {
		err := w.scheduler.Waiting.Load(ctx)
		if err == nil {
			return true
		}

		if ctx.Err() == nil {
			w.cfg.Events.Fault("Query", w.id, err)
		}

		if !store.Backoff.Wait(ctx, try) {
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

		if w.lanes.Window.WaitUntilEmpty(ctx) != nil {
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

// last returns what the last write of the lease stores: that the shard is finished, after its end,
// and otherwise that the lease is free.
func (w *shardWorker) last(end error) leases.Progress {
	w.lanes.Window.Close()

	last := w.toStore()
	if !last.Trying.IsTried() {
		last.Trying = nil // no call is running that was begun alone
	}

	if isShardEnd(end) {
		last.Finished = w.cfg.Clock.Now()
	} else {
		last.Release = true
	}

	return last
}

// check reports the lag each second, and looks at the pace of the handlers and at earlier deaths.
func (w *shardWorker) check(now time.Time) {
	if now.Sub(w.reported) >= time.Second {
		w.reported = now
		w.cfg.Events.Lag(w.reader.lag(now))
	}

	w.lanes.CheckPace(now)
	w.checkDeaths(now)
}

// checkpointDue reports whether there is new progress, and the last write of any kind is
// Config.checkpointEvery ago.
func (w *shardWorker) checkpointDue(p leases.Progress, now time.Time) bool {
	return !w.IsStored(p) && now.Sub(w.Lease.RenewedAt()) >= w.cfg.checkpointEvery
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

// toStore returns what there is to store now.
func (w *shardWorker) toStore() leases.Progress {
	var p leases.Progress
	p.Checkpoint, p.HandledAt = w.lanes.Window.Checkpoint()

	w.mu.Lock()
	defer w.mu.Unlock()

	p.ForgetDeaths = w.forgetDeaths
	if w.lanes.Suspect.Load() != nil {
		p.Trying = w.trying
	}

	// Until is not zero if this worker has noticed a gap.
	if !w.lastGap.Until.IsZero() {
		p.Gaps, p.GapFrom, p.GapAt = w.gapCount, w.lastGap.From, w.lastGap.Until
	}

	return p
}

// beginTry stores the note about the records of the suspect shard that are tried next, with the
// checkpoint. If the write fails, they must not be tried, and the former note is stored again.
func (w *shardWorker) beginTry(ctx context.Context, note *leases.TryNote) error {
	before := w.setTrying(note)

	// A write that hangs must leave time for another write.
	call, cancel := context.WithDeadline(ctx, w.Lease.NextDeadline(time.Now()))
	defer cancel()

	err := w.WriteProgress(call)
	if err != nil {
		w.cfg.Events.Fault("UpdateItem", w.id, err)
		w.noteTry(before)
	}

	return err
}

// noteTry makes the lease be written with the note.
func (w *shardWorker) noteTry(note *leases.TryNote) {
	w.setTrying(note)
	w.Touch()
}

// setTrying sets the note and returns the former one.
func (w *shardWorker) setTrying(note *leases.TryNote) *leases.TryNote {
	w.mu.Lock()
	defer w.mu.Unlock()

	before := w.trying
	w.trying = note

	return before
}

func (w *shardWorker) noteGap(g streams.Gap) {
	w.mu.Lock()
	defer w.mu.Unlock()

	w.lastGap = g
	w.gapCount++
}

// wake makes an idle reader read at once.
func (w *shardWorker) wake() {
	worker.Nudge(w.reader.wake)
}

// report logs a change of the lease and passes it to Events.
func (w *shardWorker) report(change streams.LeaseChange) {
	epoch := w.Lease.Epoch.Load()

	level := slog.LevelDebug
	if change == streams.LeaseLost {
		level = slog.LevelWarn
	}
	w.cfg.Log.Log(context.Background(), level, "lease "+string(change), "shard", w.id, "epoch", epoch)
	w.cfg.Events.Lease(streams.LeaseEvent{Shard: w.id, Change: change, Epoch: epoch})
}
