package holders

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"ratchet/internal/dynamo"
	"ratchet/internal/worker"
	"ratchet/streams/leases"
	"ratchet/streams/store"
)

// maxBeats is how many heartbeats may be under way at once: a heartbeat that hangs must not keep
// the next one from being sent.
const maxBeats = 4

// Liveness is this worker's sign of life: a row whose counter it increments three times per lease
// duration. All leases that the worker holds are valid as long as the row is renewed, so idle
// leases cost no writes.
//
// Writes of leases do not depend on heartbeats: they are conditional on owner and epoch, which
// protects the lease. The heartbeat decides which worker may begin work at what time:
//
//   - This worker counts its leases as valid until 3/4 of the duration after the begin of
//     the last heartbeat that was answered in time, by its monotonic clock.
//   - Another worker takes them when it has seen the counter unchanged for a whole duration, which the
//     row states and which may differ from its own, by its own clock, from the end of the first read
//     that showed the counter to the begin of the last read that showed it.
//
// Proof: suppose that this worker counts its leases as valid when the last read begins or later,
// because of a heartbeat b. There are three cases, and each is a contradiction. First, b was
// applied before the first read ended. Then b began at least a whole duration before the last read,
// and the leases have lapsed. Second, b was applied between the two reads. Then the counter
// changed. Third, b was applied after the last read had begun. Before b, the newest answered
// heartbeat was applied before the first read ended, so the leases had lapsed when b was answered.
// Such an answer begins a new life, and the leases belong to the life in which they were taken.
type Liveness struct {
	Term

	table   *leases.Table
	owner   string
	onFault func(error)

	changed  chan struct{} // a value: write soon, and increment workerChanges
	First    chan struct{} // closed when the first heartbeat has been answered
	stopping atomic.Bool

	life atomic.Int64 // grows whenever the leases have lapsed

	slowest atomic.Int64 // how long heartbeats take lately, as a Duration

	mu    sync.Mutex // held while a heartbeat is counted
	beats sync.WaitGroup
	open  atomic.Int32 // heartbeats under way
}

// NewLiveness returns a Liveness that has observed no one yet.
func NewLiveness(table *leases.Table, owner string, onFault func(error)) *Liveness {
	return &Liveness{
		Term:    Term{Duration: table.Duration, began: time.Now()},
		table:   table,
		owner:   owner,
		onFault: onFault,
		changed: make(chan struct{}, 1),
		First:   make(chan struct{}),
	}
}

// stopBy is when the leases of the life lapse unless a heartbeat is answered before. It is
// zero if they have lapsed.
func (l *Liveness) stopBy(life int64) time.Time {
	// The order matters: see count.
	stopBy := l.Term.stopBy()
	if l.life.Load() != life {
		return time.Time{}
	}

	return stopBy
}

// Valid reports whether the leases that were taken in the life certainly are ours at now.
func (l *Liveness) Valid(life int64, now time.Time) bool {
	valid := l.Term.valid(now)
	return valid && l.life.Load() == life // in this order: see count
}

// Current returns the life that a lease belongs to if it is taken now.
func (l *Liveness) Current() int64 { return l.life.Load() }

// NoteChange tells other workers to read the leases.
func (l *Liveness) NoteChange() {
	worker.Nudge(l.changed)
}

// Run sends heartbeats until ctx ends, and waits for the heartbeats that are under way.
func (l *Liveness) Run(ctx context.Context) {
	defer l.beats.Wait()

	tick := time.NewTicker(max(l.Duration/12, time.Millisecond))
	defer tick.Stop()

	l.beat(ctx, false)

	for {
		change := false
		select {
		case <-ctx.Done():
			return
		case <-l.changed:
			change = true
		case <-tick.C:
			// Ticks are four times as frequent as heartbeats, because the interval shrinks when answers are slow.
			if time.Since(l.renewedAt()) < l.interval() {
				continue
			}
		}

		l.beat(ctx, change)

		// Changes come in bursts, at the end of a hand-over for example.
		if change && !worker.Wait(ctx, l.Duration/40) {
			return
		}
	}
}

// interval is the time from one heartbeat to the next: a third of the duration, and less while
// heartbeats take long, because of an overload for example.
func (l *Liveness) interval() time.Duration {
	return max(l.Duration/3-time.Duration(l.slowest.Load()), l.Duration/12)
}

// beat sends one heartbeat in the background, unless too many are under way.
func (l *Liveness) beat(ctx context.Context, change bool) {
	if l.open.Add(1) > maxBeats {
		l.open.Add(-1)

		// The change must not get lost: the next heartbeat reports it.
		if change {
			l.NoteChange()
		}

		return
	}

	l.beats.Go(func() {
		defer l.open.Add(-1)

		// An answer after validFor is too late to keep the leases.
		call, cancel := context.WithTimeout(ctx, l.validFor())
		defer cancel()

		began := time.Now()

		applied, err := l.write(call, change)
		l.slowest.Store(max(int64(time.Since(began)), l.slowest.Load()*7/8))

		if err == nil {
			// A heartbeat that is refused has renewed nothing: one that says that the worker stops came first.
			if applied {
				l.Count(began, time.Now())
			}

			return
		}

		// The write may have been made although it returned an error. A change that is reported
		// twice costs the others one read.
		if change {
			l.NoteChange()
		}

		if ctx.Err() == nil {
			l.onFault(err)
		}
	})
}

func (l *Liveness) write(ctx context.Context, change bool) (applied bool, err error) {
	var update *dynamo.Update

	switch {
	case l.stopping.Load():
		update = l.table.Beat(l.owner, leases.Stopping, change)
	case l.last.Load() == 0:
		// A worker whose stream is replaced runs again under its name, and the row says that it has left.
		update = l.table.FirstBeat(l.owner, change)
	default:
		update = l.table.Beat(l.owner, "", change)
	}

	_, applied, err = store.Apply(ctx, l.table.API, update, dynamo.WithoutRetries, l.table.Clock.Listen)

	return applied, err
}

// Count counts a heartbeat that began and was answered at these times.
func (l *Liveness) Count(began, answered time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()

	if l.last.Load() == 0 {
		defer close(l.First)
	}

	// The life is changed first: a reader that sees the new times must not see the old life.
	if !began.After(l.renewedAt()) && l.last.Load() != 0 {
		return // a newer heartbeat was answered before
	}

	if !l.Term.valid(answered) {
		l.life.Add(1)
	}
	l.renew(began)
}

// Stop makes the row say that this worker takes no leases any more.
func (l *Liveness) Stop() {
	l.stopping.Store(true)
	l.NoteChange()
}

// Leave notes in the row that this worker holds no lease any more. Without this note the others
// wait until the worker expires. run must have ended.
func (l *Liveness) Leave(ctx context.Context) {
	// This write keeps the SDK's retries: no lease depends on how long it takes.
	update := l.table.Beat(l.owner, leases.Left, true)
	if _, _, err := store.Apply(ctx, l.table.API, update); err != nil {
		l.onFault(err)
	}
}
