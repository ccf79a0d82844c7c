package processes

import (
	"context"
	"slices"
	"sync"
	"time"

	"ratchet/internal/worker"
)

const (
	// missingAfter is how long the beat of a process may stay the same while a [Watcher] looks, or
	// how old its time may be for a reader that looks once: three heartbeats and a half.
	missingAfter = 35 * time.Second
	// maxAhead is how far a clock may be ahead for its time to be believed.
	maxAhead = 5 * time.Second
	// checkFor is how long [Store.Check] waits for a change of a beat that is old, checkEvery the
	// time between its looks.
	checkFor   = interval + 2*time.Second
	checkEvery = time.Second
)

// Watcher looks at the processes again and again. It may be used from many goroutines.
type Watcher struct {
	store *Store
	after time.Duration // how long a beat may stay the same before its process is missing

	mu   sync.Mutex
	seen map[string]observed
}

// observed is a reader's knowledge of one process, by the reader's clock.
type observed struct {
	beat    int64
	since   time.Time // the first look that showed this beat, with a monotonic reading
	changed bool      // whether an earlier look showed another beat
}

// Watcher returns a watcher that has seen nothing yet. A process is missing when its beat has not
// changed for 35 s. Look about every 30 s.
func (s *Store) Watcher() *Watcher {
	return &Watcher{store: s, after: missingAfter, seen: map[string]observed{}}
}

// Look reads the rows and judges them. It leaves out processes whose rows have expired, unless
// their beats change: then only their clocks are wrong. A process whose beat was never seen to
// change is [Live] if the row's time is less than 35 s old, and otherwise [Unknown] until the beat
// changes or has stayed the same for long enough.
//
// Look returns up to 2000 processes, live ones first, then in the order of their starts.
func (w *Watcher) Look(ctx context.Context) ([]Process, error) {
	rows, err := w.store.read(ctx)
	if err != nil {
		return nil, err
	}

	now := time.Now()
	found, seen := make([]Process, 0, len(rows)), make(map[string]observed, len(rows))

	w.mu.Lock()
	defer w.mu.Unlock()

	for _, row := range rows {
		p, err := processOf(row)
		if err != nil {
			w.store.cfg.Log.Debug("a row of the processes cannot be read", "error", err)
			continue
		}

		o, known := w.seen[p.ID]
		if !known || o.beat != p.Beat {
			// The first look at a process shows no change: the row may be as old as its retention.
			o = observed{beat: p.Beat, since: now, changed: known}
		}
		seen[p.ID] = o

		p.State = w.judge(p, o, now)
		if expired := now.After(p.BeatAt.Add(retention)); expired && p.State != Live {
			continue
		}
		found = append(found, p)
	}
	// Rows that are gone are forgotten, so the map does not grow.
	w.seen = seen

	slices.SortStableFunc(found, func(a, b Process) int {
		if (a.State == Live) != (b.State == Live) {
			if a.State == Live {
				return -1
			}

			return 1
		}

		return a.StartedAt.Compare(b.StartedAt)
	})

	return found, nil
}

// judge says what is known of a process.
func (w *Watcher) judge(p Process, o observed, now time.Time) State {
	age := now.Sub(p.BeatAt)

	// The end counts first: the beat of an ended process does not change any more, so it would
	// count as missing.
	switch {
	case p.Failure != "" && !p.EndedAt.IsZero():
		return Failed
	case !p.EndedAt.IsZero():
		return Ended
	case now.Sub(o.since) >= w.after:
		return Missing
	case o.changed, age >= -maxAhead && age < missingAfter:
		return Live
	}

	return Unknown
}

// Check returns the processes as [Watcher.Look] does, each judged. It takes one read while all
// beats are less than 35 s old by this machine's clock. Otherwise it looks again, for up to 12 s,
// whether the beats change. So a process that was killed counts as live for up to 35 s.
func (s *Store) Check(ctx context.Context) ([]Process, error) {
	w := s.Watcher()
	// A live process beats within interval, so twelve seconds without a change suffice.
	w.after = checkFor

	for began := time.Now(); ; {
		found, err := w.Look(ctx)
		if err != nil {
			return nil, err
		}

		unknown := func(p Process) bool { return p.State == Unknown }
		if !slices.ContainsFunc(found, unknown) {
			return found, nil
		}

		if time.Since(began) > 2*checkFor {
			return found, nil // a new process with a wrong clock has begun meanwhile
		}

		if !worker.Wait(ctx, checkEvery) {
			return nil, ctx.Err()
		}
	}
}
