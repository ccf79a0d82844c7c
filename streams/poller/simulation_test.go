package poller

import (
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ratchet/embedded"
	"ratchet/embedded/embeddedtest"
	"ratchet/internal/worker"
	"ratchet/streams"
)

var (
	simSeeds = flag.Int("simseeds", 10, "how many seeds the simulation runs")
	simFirst = flag.Uint64("simseed", 1, "the first seed")
)

// simulation is one run of a fleet under virtual time. The seed decides the size of the
// stream, when workers come, stop, crash and are suspended, when shards roll over and split,
// and what happens to each call: to the n-th call of an operation by a worker, whichever
// goroutine makes it. The seed does not decide the order in which goroutines run that
// are ready at the same virtual time; see docs/internals/streams-points.md.
type simulation struct {
	*testEnv
	seed uint64
	rng  *rand.Rand // used by the script only
	seen *simSeen

	items, versions int
	got             *recorder
	busy            sync.Map  // items in a handler
	beside          *recorder // a quick handler beside it, in every second seed; nil otherwise

	arriving sync.WaitGroup           // writes that are late
	workers  []*simWorker             // all that were started
	poison   string                   // item/version of the record whose call ends its worker, in every fifth seed; "" otherwise
	outageAt int                      // after this version no worker runs for simHorizon; 0: there is no outage
	trimmed  map[string]trimmedRecord // by item and version
	leased   map[string]bool          // the shards that had a lease before the outage

	mu      sync.Mutex
	calm    bool             // no faults from now on
	effects map[string]int   // how often each effect was asked for, by key
	epochs  map[string]int64 // the newest of the calls for each item
	gaps    []streams.Gap
}

// simLeases is longer than any lease lasts.
const simLeases = time.Minute

// simWorker is a worker of the fleet.
type simWorker struct {
	*runningPoller
	mu        sync.Mutex
	dead      bool
	suspended time.Time // until when none of its calls goes on
}

// chance returns a number that depends on the seed and the call only.
func (s *simulation) chance(parts ...any) *rand.Rand {
	h := fnv.New64a()
	_ = binary.Write(h, binary.BigEndian, s.seed)

	for _, p := range parts {
		switch p := p.(type) {
		case string:
			_, _ = h.Write([]byte(p))
		case int:
			_ = binary.Write(h, binary.BigEndian, int64(p))
		}
	}

	return rand.New(rand.NewPCG(s.seed, h.Sum64()))
}

// fate decides what happens to a call of a worker before it is sent.
func (s *simulation) fate(w *simWorker, name int, c *embeddedtest.Call) error {
	ctx := c.Request.Context()

	w.mu.Lock()
	dead, suspended := w.dead, time.Until(w.suspended)
	w.mu.Unlock()

	if dead {
		return errors.New("the process is dead")
	}

	if suspended > 0 && !worker.Wait(ctx, suspended) {
		return ctx.Err()
	}

	s.mu.Lock()
	calm := s.calm
	s.mu.Unlock()

	if calm {
		return nil
	}
	rng := s.chance("call", name, c.Operation, c.N)

	delay := time.Duration(rng.Int64N(int64(100 * time.Millisecond)))
	if rng.IntN(100) == 0 {
		delay = time.Duration(rng.Int64N(int64(12 * time.Second)))
	}

	if !worker.Wait(ctx, delay) {
		return ctx.Err()
	}

	switch p := rng.IntN(100); {
	case p < 2:
		return errors.New("no connection")
	case p < 5:
		return embeddedtest.ErrAnswerLost
	case p < 7:
		return awsError("ThrottlingException")
	case p < 8 && c.Is("GetRecords"):
		return awsError("ExpiredIteratorException")
	}

	return nil
}

// handle is the handler: it takes its time, fails now and then, and then does its effect
// under a key. Two calls for one item at a time would be an error.
func (s *simulation) handle(ctx context.Context, r streams.Record) error {
	id, version := keyAndVersion(r)
	if other, twice := s.busy.LoadOrStore(id, r.Owner); twice {
		s.Errorf("seed %d: %s and %s handle %s at once", s.seed, r.Owner, other, id)
	}
	defer s.busy.Delete(id)

	rng := s.chance("handle", id, version, r.Attempt)
	if !worker.Wait(ctx, time.Duration(rng.Int64N(int64(400*time.Millisecond)))) {
		return ctx.Err()
	}

	if rng.IntN(10) == 0 {
		return errors.New("once more")
	}

	s.mu.Lock()
	s.effects[id+"/"+strconv.Itoa(version)]++
	s.mu.Unlock()

	return s.got.handle(ctx, r)
}

// startWorker starts a worker whose calls meet their fates.
func (s *simulation) startWorker(name int) *simWorker {
	w := &simWorker{}
	transport, throughTransport := s.intercept()
	transport.Before(func(c *embeddedtest.Call) error { return s.fate(w, name, c) })
	clock := skewedClock{sim: s, offset: s.clockOf(name)}
	transport.Around(s.late(name, clock.around)) //nolint:bodyclose // the client closes it
	handle := func(ctx context.Context, r streams.Record) error {
		id, version := keyAndVersion(r)
		if s.isPoison(id, version) {
			return s.vanish(ctx, w, r)
		}
		s.checkEpoch(id, clock.epoch(r))

		return s.handle(ctx, r)
	}
	w.runningPoller = s.start(s.config(handle, defaultTimes, throughTransport, func(c *Config) {
		c.pageSize, c.maxPending = 1+int(s.seed%5), 10
		if s.outageAt > 0 {
			c.horizon = simHorizon
		}

		c.discoverEvery, c.DrainTimeout, c.holdBack = 20*time.Second, 3*time.Second, 2*time.Second
		c.Retry = streams.Retry{Attempts: -1, Base: 50 * time.Millisecond, Max: time.Second}
		if s.seed%3 == 0 {
			c.queueShare = 1 // further keys with the second row of a second
		}

		if s.beside != nil {
			c.Handlers = append(c.Handlers, streams.Handler{Name: "beside", Handle: s.beside.handle})
		}
		c.Events.Gap = func(g streams.Gap) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.gaps = append(s.gaps, clock.gap(g))
		}
	}))

	s.workers = append(s.workers, w)

	return w
}

// checkEpoch checks that the epoch of an item's calls never goes down: then an effect that keeps the
// highest one would refuse the right worker.
func (s *simulation) checkEpoch(id string, epoch int64) {
	s.mu.Lock()
	defer s.mu.Unlock()

	if epoch < s.epochs[id] {
		s.Errorf("seed %d: a call for %s has epoch %d after %d", s.seed, id, epoch, s.epochs[id])
	}
	s.epochs[id] = max(s.epochs[id], epoch)
}

// die makes every call of the worker fail from now on. Its handlers go on, as those of a worker that is cut off do, until
// none of its leases can be valid any more.
func (w *simWorker) die() {
	w.mu.Lock()
	defer w.mu.Unlock()

	w.dead = true
	time.AfterFunc(simLeases, func() { _ = w.stop() })
}

func (w *simWorker) isDead() bool {
	w.mu.Lock()
	defer w.mu.Unlock()

	return w.dead
}

// script runs the seed's events.
func (s *simulation) script() {
	fleet := []*simWorker{s.startWorker(0)}
	names := 1
	written, step := 0, 0

	for written < s.versions {
		switch n := s.rng.IntN(12); {
		case n < 5:
			written++
			s.writeVersion(s.items, written)

			if written == s.outageAt {
				written += s.outage(written)
				fleet = []*simWorker{s.startWorker(names)}
				names++
				s.trim()
			}
		case n < 6:
			s.roll()
		case n < 7:
			for _, l := range s.leases() {
				if !l.Finished() {
					// It refuses a shard that has ended since its lease was read.
					_ = s.engine.SplitShard(context.Background(), s.arn, l.Shard)
					break
				}
			}
		case n < 9 && len(fleet) < 3:
			fleet = append(fleet, s.startWorker(names))
			names++
		case n < 10:
			w := fleet[s.rng.IntN(len(fleet))]
			w.mu.Lock()
			w.suspended = time.Now().Add(time.Duration(s.rng.Int64N(int64(25 * time.Second))))
			w.mu.Unlock()
		case len(fleet) > 1:
			i := s.rng.IntN(len(fleet))
			w := fleet[i]
			fleet = append(fleet[:i], fleet[i+1:]...)

			if n == 10 {
				w.die()
			} else {
				go func() { _ = w.stop() }() // its drain overlaps with what follows
			}
		}
		time.Sleep(time.Duration(s.rng.Int64N(int64(5 * time.Second))))
		step++

		if s.beside != nil {
			s.pauseOrResume(s.chance("pause", step).IntN(4))
		}
	}

	s.mu.Lock()
	s.calm = true
	s.mu.Unlock()
	s.pauseOrResume(resume)

	last := s.startWorker(names)
	deadline := time.Now().Add(10 * time.Minute)
	if s.poison != "" {
		deadline = deadline.Add(20 * time.Minute) // about seven workers end
	}

	for !s.handledAll() {
		if last.isDead() {
			names++
			last = s.startWorker(names)
		}

		if time.Now().After(deadline) {
			s.Fatalf("seed %d: %d of %d records were handled; gaps %+v; trimmed %+v; leases %+v", s.seed, s.got.distinct(), s.items*s.versions, s.gaps, s.trimmed, s.leases())
		}
		time.Sleep(time.Second)
	}

	s.arriving.Wait()
	time.Sleep(5 * time.Second)
	s.checkQueue()

	for _, w := range append(fleet, last) {
		_ = w.stop()
	}
}

const resume = 1

// pauseOrResume pauses the slower handler, resumes it or does nothing.
func (s *simulation) pauseOrResume(what int) {
	var err error
	switch what {
	case 0:
		err = s.queue().Pause(context.Background(), "h")
	case resume:
		err = s.queue().Resume(context.Background(), "h")
	}

	if err != nil {
		s.Fatalf("seed %d: %v", s.seed, err)
	}
}

// TestSimulation runs a fleet under virtual time: every call may take long, fail, be throttled
// or lose its answer; writes arrive up to 70 s late or twice; workers crash, stop, are suspended and come; shards roll over and split;
// in every second seed a handler is slower than another one, and is paused and resumed; in every third one, queues
// have further keys from the second row of a second on.
// Records of an item arrive in order and at least once, one at a time. In every tenth seed all
// workers are away for longer than records are kept, while records are written and trimmed: what is lost lies in a
// declared gap. Otherwise there is no gap. In every fifth seed a call for one record ends its worker, each time:
// the record becomes a dead letter, and no other one does.
func TestSimulation(t *testing.T) {
	t.Parallel()

	const parts = 8 // run beside each other

	seeds := *simSeeds
	if testing.Short() {
		seeds = min(seeds, 10)
	}

	var done atomic.Int64
	var seen simSeen
	t.Run("seeds", func(t *testing.T) {
		for part := range min(parts, seeds) {
			t.Run(strconv.Itoa(part), func(t *testing.T) {
				t.Parallel()

				for i := part; i < seeds; i += parts {
					seed := *simFirst + uint64(i)
					if testing.Short() && !slices.Contains([]uint64{0, 1, 3, 8}, seed%10) {
						continue // every kind of seed is there, and each once
					}

					simulate(t, seed, &seen)

					if n := done.Add(1); n%500 == 0 {
						t.Logf("%d seeds are done", n) // of a long run
					}
				}
			})
		}
	})
	t.Logf("%d seeds from %d; %d records came again, %d rows were put under further keys", seeds, *simFirst, seen.repeats.Load(), seen.further.Load())

	if seeds >= 100 && seen.further.Load() == 0 {
		t.Error("no row was put under a further key of a queue")
	}
}

// simSeen counts what happened in all seeds.
type simSeen struct{ repeats, further atomic.Int64 }

func simulate(t *testing.T, seed uint64, seen *simSeen) {
	t.Helper()

	synctest.Test(t, func(t *testing.T) {
		s := &simulation{
			seed:    seed,
			rng:     rand.New(rand.NewPCG(seed, 0)),
			got:     newRecorder(),
			seen:    seen,
			effects: map[string]int{},
			epochs:  map[string]int64{},
		}
		s.items, s.versions = 2+s.rng.IntN(3), 3+s.rng.IntN(4)
		s.testEnv = newTestEnv(t, 1+s.rng.IntN(3), func(c *embedded.Config) {
			c.Streams.Retention = 100 * time.Hour // the script trims
		})
		if seed%2 == 0 {
			s.beside = newRecorder()
		}

		if seed%10 == 0 {
			s.outageAt = 1 + s.rng.IntN(s.versions-2)
		}

		if seed%5 == 3 {
			s.poison = "o-" + strconv.Itoa(s.rng.IntN(s.items)) + "/" + strconv.Itoa(1+s.rng.IntN(s.versions))
		}

		s.script()
		s.got.orderedBut(t, s.items, s.versions, s.missing)
		s.checkDeadLetters()

		if s.beside != nil {
			s.beside.orderedBut(t, s.items, s.versions, s.lost)
		}

		s.checkGaps()

		if len(s.effects) != s.got.distinct() {
			t.Errorf("%d effects of %d records", len(s.effects), s.got.distinct())
		}
		seen.repeats.Add(int64(s.got.count() - s.got.distinct()))
	})

	if t.Failed() {
		t.Fatalf("seed %d failed; run it again: go test ./streams/poller -run TestSimulation -args -simseeds 1 -simseed %d", seed, seed)
	}
}
