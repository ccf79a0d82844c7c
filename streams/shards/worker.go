package shards

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

// Worker works on one shard while this worker holds its lease: it reads the shard, runs the
// handlers and stores checkpoints in the lease.
type Worker struct {
	holders.Work
	Parts

	ID     string
	lanes  *lanes.Shard
	Reader *Reader

	died     bool      // another death of a holder would make the shard suspect; used by check only
	reported time.Time // when the lag was last reported; used by check only

	mu           sync.Mutex
	lastGap      streams.Gap
	gapCount     int64
	trying       *leases.TryNote // while the shard is suspect
	forgetDeaths bool            // earlier deaths do not count any more
}

// Config says how shards are read. All fields must be set.
type Config struct {
	lineage.Config

	Owner           string
	Group           string
	PollActive      time.Duration
	PollIdle        time.Duration
	DrainTimeout    time.Duration
	PageSize        int
	MaxPending      int
	CheckpointEvery time.Duration
}

// Parts is what the work on a shard shares with the rest of its worker.
type Parts struct {
	Cfg        *Config
	Stream     *lineage.Stream
	Discovery  *lineage.Discovery
	Table      *leases.Table
	Scheduler  *lanes.Scheduler
	Memory     *lanes.Memory
	PausesRead <-chan struct{} // closed when the scheduler knows which handlers are paused
	NoteChange func()          // tells other workers of a change of the leases
}

// NewWorker prepares the work on a shard. l is the shard's lease as this worker has taken it.
func NewWorker(ctx context.Context, parts Parts, l leases.Lease, held *holders.Held) *Worker {
	cfg, st := parts.Cfg, parts.Stream

	w := &Worker{
		Work: holders.Work{
			Name:  l.Shard,
			Shard: l.Shard,
			Lease: held,
			Fault: cfg.Events.Fault,
			Log:   cfg.Log,
			Every: min(cfg.CheckpointEvery, cfg.LeaseDuration/10),
		},
		Parts:    parts,
		ID:       l.Shard,
		gapCount: l.Gaps,
		died:     l.DeathsSoFar() >= leases.SuspectAfter-1,
	}
	w.Look, w.Due, w.Progress = w.check, w.checkpointDue, w.toStore
	w.Begin(ctx)

	window := lanes.NewWindow(cfg.MaxPending, lanes.MaxWindow, parts.Memory)
	w.lanes = parts.Scheduler.NewShard(w.Running, w.Lease, window)
	w.Drain = func(cancel context.CancelCauseFunc) { w.lanes.Drain(cfg.DrainTimeout, cancel) }
	w.Reader = &Reader{
		Cfg:     cfg,
		Stream:  st,
		Shard:   l.Shard,
		Lanes:   w.lanes,
		Wake:    make(chan struct{}, 1),
		OnGap:   w.noteGap,
		last:    l.Checkpoint,
		lastAt:  l.HandledAt,
		startAt: l.StartAt,
	}

	w.Reader.newestAt.Store(lanes.UnixMilli(l.HandledAt))

	if l.IsSuspect() {
		suspect := lanes.NewSuspect(l, lanes.SuspectWindows*cfg.MaxPending)
		suspect.Begin, suspect.Ended = w.beginTry, w.endTry
		w.trying = l.Trying
		w.lanes.Suspect.Store(suspect)
		w.Cfg.Log.Warn("the workers of a shard have ended several times at the same records; these are handled few at a time",
			"shard", l.Shard, "times", l.Deaths)
	}

	now := cfg.Clock.Now()
	if l.ParentLost && l.Checkpoint == "" {
		w.Reader.gaps = append(w.Reader.gaps, streams.Gap{Reason: streams.GapParent, Stream: st.Arn, Shard: l.Parent, Until: now})
	}

	// A shard that was first read more than 24 h after its creation may have lost
	// its first records. No call to the service would report that.
	if since := unreadSince(l); !since.IsZero() && now.Sub(since) > w.Cfg.Horizon {
		w.Reader.gaps = append(w.Reader.gaps, streams.Gap{Reason: streams.GapUnread, Stream: st.Arn, Shard: l.Shard, Since: since, Until: now})
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

// Run works on the shard until it is finished, its lease is handed over or lost, or
// ctx of NewWorker ends. It returns an error only for a gap under GapHalt.
func (w *Worker) Run() error {
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
	w.Report(change)

	if given {
		w.NoteChange()
	}

	var halt *streams.GapError
	if errors.As(end, &halt) && !errors.Is(context.Cause(w.Running), streams.ErrLeaseLost) {
		return end
	}

	return nil
}

// isShardEnd reports whether the result of readToEnd says that the shard is finished.
func isShardEnd(end error) bool { return errors.Is(end, ErrShardEnd) || errors.Is(end, errShardGone) }

// loadWaiting reads which items wait in the retry queue: the records of this shard must not
// overtake waiting records of the same item from the shard's parent. It also waits until this
// worker knows which handlers are paused. It reports false when ctx ends first.
func (w *Worker) loadWaiting(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-w.PausesRead:
	}

	for try := 1; ; try++ {
		err := w.Scheduler.Waiting.Load(ctx)
		if err == nil {
			return true
		}

		if ctx.Err() == nil {
			w.Cfg.Events.Fault("Query", w.ID, err)
		}

		if !store.Backoff.Wait(ctx, try) {
			return false
		}
	}
}

// readToEnd reads the shard, waits until every record is finished and stores the leases of the
// shard's children. It returns ErrShardEnd or errShardGone after all of these steps, nil if ctx
// ended before, and a *GapError for a gap under GapHalt.
//
// This order keeps the records of an item in order across shards: children
// are read only when their parent's lease is finished, and the lease is finished after
// readToEnd.
func (w *Worker) readToEnd(ctx context.Context) error {
	for {
		end := w.Reader.Run(ctx)
		if !errors.Is(end, ErrShardEnd) && !errors.Is(end, errShardGone) {
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
func (w *Worker) last(end error) leases.Progress {
	w.lanes.Window.Close()

	last := w.toStore()
	if !last.Trying.IsTried() {
		last.Trying = nil // no call is running that was begun alone
	}

	if isShardEnd(end) {
		last.Finished = w.Cfg.Clock.Now()
	} else {
		last.Release = true
	}

	return last
}

// check reports the lag each second, and looks at the pace of the handlers and at earlier deaths.
func (w *Worker) check(now time.Time) {
	if now.Sub(w.reported) >= time.Second {
		w.reported = now
		w.Cfg.Events.Lag(w.Reader.Lag(now))
	}

	w.lanes.CheckPace(now)
	w.checkDeaths(now)
}

// checkpointDue reports whether there is new progress, and the last write of any kind is
// Config.checkpointEvery ago.
func (w *Worker) checkpointDue(p leases.Progress, now time.Time) bool {
	return !w.IsStored(p) && now.Sub(w.Lease.RenewedAt()) >= w.Cfg.CheckpointEvery
}

// checkDeaths makes the next write forget the deaths of earlier holders, when the shard is caught
// up: then no record is left that could have caused them. It does nothing unless one more death
// would make the shard suspect.
func (w *Worker) checkDeaths(now time.Time) {
	if !w.died || !w.Reader.Lag(now).CaughtUp {
		return
	}
	w.died = false

	w.mu.Lock()
	defer w.mu.Unlock()

	w.forgetDeaths = true
}

// toStore returns what there is to store now.
func (w *Worker) toStore() leases.Progress {
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
func (w *Worker) beginTry(ctx context.Context, note *leases.TryNote) error {
	before := w.setTrying(note)

	err := w.storeTry(ctx)
	if err != nil {
		w.setTrying(before)
		w.Touch()
	}

	return err
}

// endTry stores the note about a record whose call has returned, also during a stop. It repeats the write while the lease
// is ours: the next call may end the process, and this record would count that death.
func (w *Worker) endTry(ctx context.Context, note *leases.TryNote) {
	w.setTrying(note)

	for try := 1; w.storeTry(context.WithoutCancel(ctx)) != nil; try++ {
		if !w.Lease.Valid(time.Now()) || !store.WriteBackoff.Wait(ctx, try) {
			w.Touch()
			return
		}
	}
}

// storeTry writes the lease with the note. A write that hangs must leave time for another write.
func (w *Worker) storeTry(ctx context.Context) error {
	call, cancel := context.WithDeadline(ctx, w.Lease.NextDeadline(time.Now()))
	defer cancel()

	err := w.WriteProgress(call)
	if err != nil {
		w.Cfg.Events.Fault("UpdateItem", w.ID, err)
	}

	return err
}

// setTrying sets the note and returns the former one.
func (w *Worker) setTrying(note *leases.TryNote) *leases.TryNote {
	w.mu.Lock()
	defer w.mu.Unlock()

	before := w.trying
	w.trying = note

	return before
}

func (w *Worker) noteGap(g streams.Gap) {
	w.mu.Lock()
	defer w.mu.Unlock()

	w.lastGap = g
	w.gapCount++
}

// Wake makes an idle reader read at once.
func (w *Worker) Wake() {
	worker.Nudge(w.Reader.Wake)
}

// Report logs a change of the lease and passes it to Events.
func (w *Worker) Report(change streams.LeaseChange) {
	epoch := w.Lease.Epoch.Load()

	level := slog.LevelDebug
	if change == streams.LeaseLost {
		level = slog.LevelWarn
	}
	w.Cfg.Log.Log(context.Background(), level, "lease "+string(change), "shard", w.ID, "epoch", epoch)
	w.Cfg.Events.Lease(streams.LeaseEvent{Shard: w.ID, Change: change, Epoch: epoch})
}
