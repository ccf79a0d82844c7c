package streams

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// A closed shard is asked for its children childTries times before the stream's
// whole listing is looked at as well, and lastTries times in all. Children that
// turn up later still are found by the regular listings.
const (
	childTries = 3
	lastTries  = 10
)

// shard is one shard while this worker holds its lease.
type shard struct {
	p      *Poller
	stream *stream
	id     string
	hold   *hold
	group  *group
	reader *reader

	hasChild atomic.Bool
	// reading ends with leave, for a stop or a hand-over; work, the parent of the
	// handlers' contexts, ends with cut.
	reading, work context.Context
	leave         context.CancelFunc
	cut           context.CancelCauseFunc

	mu     sync.Mutex
	gap    Gap
	stored progress // the last progress written
	log    sparse
	gaps   int64
}

func (p *Poller) newShard(ctx context.Context, st *stream, t *leaseTable, l Lease, at time.Time) *shard {
	s := &shard{p: p, stream: st, id: l.Shard, hold: newHold(t, l, at, p.cfg.LeaseDuration), gaps: l.Gaps}
	s.reading, s.leave = context.WithCancel(ctx)

	s.work, s.cut = context.WithCancelCause(context.WithoutCancel(ctx))
	s.group = p.lanes.group(s.work, s.hold, newWindow(p.cfg.MaxPending, p.cfg.Window, &p.memory))
	s.reader = &reader{
		p: p, shard: s, wake: make(chan struct{}, 1),
		last: l.Checkpoint, lastAt: l.HandledAt, startAt: l.StartAt,
	}
	if since := unread(l); !since.IsZero() && at.Sub(since) > horizon {
		s.reader.gap = &Gap{Shard: l.Shard, Since: since, Until: at}
	}

	return s
}

// unread is since when a shard has waited for its first reader; zero when it has
// had one or when nothing older is asked for. After 24 h its first records may
// be gone, and nothing but this would tell.
func unread(l Lease) time.Time {
	switch {
	case l.Checkpoint != "" || l.AtHorizon:
		return time.Time{}
	case !l.StartAt.IsZero():
		return l.StartAt
	}

	return born(l.Shard)
}

// run works on the shard until its context ends, the lease is handed over or
// lost, or the shard is finished. Only a gap under GapHalt is an error.
func (s *shard) run() error {
	defer s.cut(ErrStopped)
	defer s.leave()
	keeping, release := context.WithCancel(context.WithoutCancel(s.reading))
	kept := make(chan struct{})
	go func() { defer close(kept); s.keep(keeping) }()

	end := s.read(s.reading)
	// From here on nothing new begins; what runs may finish.
	s.drain()
	s.group.window.close()
	release()
	<-kept

	return s.close(end)
}

// read pages to the shard's end and waits until every record is finished. It
// comes back with nil when reading was told to stop.
func (s *shard) read(ctx context.Context) error {
	for {
		end := s.reader.run(ctx)
		if !errors.Is(end, errShardEnd) && !errors.Is(end, errShardGone) {
			return end
		}

		if s.group.window.empty(ctx) != nil {
			return nil
		}

		if errors.Is(end, errShardGone) {
			return end
		}

		open, err := s.bequeath(ctx)
		if err != nil {
			return nil
		}

		if !open {
			return end
		}
	}
}

// bequeath stores the leases of the shard's children. It reports whether the
// shard turned out to be open after all. The error is ctx's.
func (s *shard) bequeath(ctx context.Context) (open bool, err error) {
	pause := 50 * time.Millisecond
	for try := 1; ; try++ {
		verdict, err := s.lookForChildren(ctx, try)
		switch {
		case err == nil && verdict == hasChildren, err == nil && verdict == childless:
			return false, nil
		case err == nil && verdict == stillOpen:
			return true, nil
		case err == nil && try >= lastTries:
			s.p.cfg.Log.Warn("a closed shard has no children", "shard", s.id)
			return false, nil
		case err != nil && ctx.Err() == nil:
			s.p.cfg.fault("DescribeStream", s.id, err)
		}

		if !rest(ctx, pause*4/5+rand.N(pause*2/5)) { //nolint:gosec // jitter
			return false, ctx.Err()
		}
		pause = min(2*pause, time.Second)
	}
}

// offspring is what is known about a closed shard's children.
type offspring int

const (
	unknownYet  offspring = iota
	hasChildren           // and their leases are stored
	childless             // the stream is disabled: none will come
	stillOpen             // the shard is not closed at all
)

func (s *shard) lookForChildren(ctx context.Context, try int) (offspring, error) {
	children, err := s.stream.children(ctx, s.id)
	if err != nil {
		return unknownYet, err
	}

	verdict := unknownYet
	if len(children) == 0 && try >= childTries {
		l, err := s.stream.recent(ctx)
		if err != nil {
			return unknownYet, err
		}

		sh, listed := l.shards[s.id]
		switch children = l.children(s.id); {
		case l.closed():
			verdict = childless
		case listed && (sh.SequenceNumberRange == nil || sh.SequenceNumberRange.EndingSequenceNumber == nil):
			verdict = stillOpen
		}
	}

	if len(children) == 0 {
		return verdict, nil
	}

	return hasChildren, s.adopt(ctx, children)
}

// adopt stores a lease for every child that has none. They begin with their
// first record, wherever the parent began.
func (s *shard) adopt(ctx context.Context, children []string) error {
	for _, id := range children {
		if _, err := s.hold.table.insert(ctx, Lease{Shard: id, Parent: s.id, Epoch: time.Now().Unix()}); err != nil {
			return err
		}
	}

	return nil
}

// drain waits until no handler of the shard runs: records that others have
// overtaken are handled yet, for DrainTimeout at most; then, or when the lease is
// lost, only what runs is waited for, with its context ended.
func (s *shard) drain() {
	idle := s.group.stop()
	timer := time.NewTimer(s.p.cfg.DrainTimeout)
	defer timer.Stop()

	select {
	case <-idle:
		return
	case <-s.work.Done():
	case <-timer.C:
		s.cut(ErrStopped)
	}
	s.group.drop()
	<-idle
}

// close writes the last state of the lease: finished, released or nothing, if
// the lease is no longer ours.
func (s *shard) close(end error) error {
	change := LeaseReleased

	if errors.Is(context.Cause(s.work), ErrLeaseLost) {
		s.report(LeaseLost)
		return nil
	}

	p := s.progress()
	if p.release = true; errors.Is(end, errShardEnd) || errors.Is(end, errShardGone) {
		change, p.release, p.finished = LeaseFinished, false, time.Now()
	}
	final, cancel := context.WithDeadline(context.WithoutCancel(s.reading), s.hold.fenceAt())
	defer cancel()

	for pause := firstPause; ; pause = min(2*pause, faultPause) {
		err := s.hold.write(final, p)
		if err == nil {
			s.report(change)
			break
		}

		if errors.Is(err, ErrLeaseLost) || final.Err() != nil {
			s.report(LeaseLost)
			break
		}
		s.p.cfg.fault("UpdateItem", s.id, err)
		rest(final, pause) // the lease runs out meanwhile
	}

	var halt *GapError
	if errors.As(end, &halt) {
		return end
	}

	return nil
}

// keep renews the lease and stores progress until ctx ends or the lease is lost.
func (s *shard) keep(ctx context.Context) {
	cfg := &s.p.cfg
	tick := time.NewTicker(max(min(cfg.CheckpointEvery, cfg.LeaseDuration/10), time.Millisecond))
	defer tick.Stop()

	var reported time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}

		now := time.Now()
		if f := cfg.Events.Lag; f != nil && now.Sub(reported) >= time.Second {
			reported = now
			f(s.reader.lag(now))
		}

		p := s.progress()
		since := now.Sub(s.hold.renewedAt())
		if since < cfg.LeaseDuration/3 && (p == s.stored || since < cfg.CheckpointEvery) {
			continue
		}

		if !s.renew(ctx, p) {
			s.cut(ErrLeaseLost)
			s.leave()
			return
		}
	}
}

// renew writes once; it reports whether the lease may still be ours.
func (s *shard) renew(ctx context.Context, p progress) bool {
	// A call that hangs must leave time for another before the fence.
	call, cancel := context.WithDeadline(ctx, earlier(s.hold.fenceAt(), time.Now().Add(s.p.cfg.LeaseDuration/4)))
	defer cancel()

	err := s.hold.write(call, p)
	switch {
	case err == nil:
		s.stored = p
	case errors.Is(err, ErrLeaseLost):
		return false
	case ctx.Err() == nil:
		s.p.cfg.fault("UpdateItem", s.id, err)

		if s.log.due() {
			s.p.cfg.Log.Warn("renewing a lease failed; retrying", "shard", s.id, "err", err)
		}
	}

	return time.Now().Before(s.hold.fenceAt())
}

// progress is what there is to store now.
func (s *shard) progress() progress {
	var p progress
	p.checkpoint, p.handledAt = s.group.window.checkpoint()
	s.mu.Lock()
	defer s.mu.Unlock()

	if !s.gap.Until.IsZero() {
		p.gaps, p.gapFrom, p.gapAt = s.gaps, s.gap.From, s.gap.Until
	}

	return p
}

func (s *shard) noteGap(g Gap) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gap = g
	s.gaps++
}

func (s *shard) lastGap() *Gap {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.gap
	return &g
}

// wake lets an idle reader look again at once.
func (s *shard) wake() {
	select {
	case s.reader.wake <- struct{}{}:
	default:
	}
}

func (s *shard) report(c LeaseChange) {
	epoch := s.hold.epoch.Load()

	level := slog.LevelDebug
	if c == LeaseLost {
		level = slog.LevelWarn
	}
	s.p.cfg.Log.Log(context.Background(), level, "lease "+string(c), "shard", s.id, "epoch", epoch)

	if f := s.p.cfg.Events.Lease; f != nil {
		f(LeaseEvent{Shard: s.id, Change: c, Epoch: epoch})
	}
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// rest waits for d; false when ctx ended first.
func rest(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()

	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
