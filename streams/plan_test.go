package streams

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// leaseModel is a lease table in memory for the planner alone: it applies plans as
// the conditional writes would.
type leaseModel struct {
	leases map[string]*Lease
	seen   map[string]map[string]*observedLease // by worker
	held   map[string]map[string]bool
	now    time.Time
	moves  int
}

const modelLease, modelScan = 10 * time.Second, 500 * time.Millisecond

func newLeaseModel(shards int) *leaseModel {
	m := &leaseModel{leases: map[string]*Lease{}, seen: map[string]map[string]*observedLease{}, held: map[string]map[string]bool{}, now: time.Unix(0, 0)}
	for i := range shards {
		id := fmt.Sprintf("s%02d", i)
		m.leases[id] = &Lease{Shard: id}
	}

	return m
}

// turn lets every worker renew its leases, and then observe all leases and carry out
// its plan.
func (m *leaseModel) turn(workers []string) {
	for _, w := range workers {
		if m.held[w] == nil {
			m.held[w] = map[string]bool{}
		}

		for id := range m.held[w] {
			m.leases[id].Counter++
		}
	}

	for _, w := range workers {
		var list []Lease
		for _, l := range m.leases {
			list = append(list, *l)
		}

		m.seen[w] = observe(m.seen[w], list, m.now)
		p := planner{me: w, leaseDuration: modelLease, scanInterval: modelScan, holds: func(s string) bool { return m.held[w][s] }}.decide(m.seen[w], m.now)
		for _, s := range p.take {
			l := m.leases[s.Shard]
			if l.Epoch != s.Epoch || l.Counter != s.Counter {
				continue
			}
			l.Owner, l.RequestedBy = w, ""
			l.Epoch++
			l.Counter++
			m.held[w][s.Shard] = true
			m.moves++
		}

		for _, s := range p.request {
			if l := m.leases[s.Shard]; l.Epoch == s.Epoch && l.Owner == s.Owner && l.RequestedBy == "" {
				l.RequestedBy = w
			}
		}

		for _, id := range p.handOver {
			l := m.leases[id]
			l.Owner = ""
			l.Counter++
			delete(m.held[w], id)
		}

		for _, s := range p.withdraw {
			m.leases[s.Shard].RequestedBy = ""
		}
	}
	m.now = m.now.Add(modelScan)
}

func (m *leaseModel) load(w string) int { return len(m.held[w]) }

// Workers join and crash. After some turns every shard has exactly one reader, and no
// worker reads two shards more than another.
func TestLeasesSpreadFairly(t *testing.T) {
	t.Parallel()

	if testing.Short() {
		t.Skip("a model without goroutines")
	}

	rapid.Check(t, func(t *rapid.T) {
		shards := rapid.IntRange(1, 24).Draw(t, "shards")
		m := newLeaseModel(shards)
		var alive []string
		for step := range rapid.IntRange(1, 4).Draw(t, "changes") {
			if len(alive) > 1 && rapid.Bool().Draw(t, "crash") {
				m.held[alive[0]] = nil
				alive = alive[1:]
			} else {
				for range rapid.IntRange(1, 3).Draw(t, "join") {
					alive = append(alive, fmt.Sprintf("w%d-%d", step, len(alive)))
				}
			}

			before := m.moves
			for range 200 {
				m.turn(alive)
			}

			lo, hi, sum := shards, 0, 0
			for _, w := range alive {
				n := m.load(w)
				lo, hi, sum = min(lo, n), max(hi, n), sum+n
			}

			if sum != shards || hi-lo > 1 {
				t.Fatalf("%d of %d shards held, between %d and %d each", sum, shards, lo, hi)
			}

			if moved := m.moves - before; moved > 2*shards {
				t.Fatalf("%d moves for %d shards", moved, shards)
			}

			for range 100 {
				before = m.moves
				m.turn(alive)

				if m.moves != before {
					t.Fatal("leases still move although the shares are even")
				}
			}
		}
	})
}

func TestTheLeasesOfACrashedWorkerExpireByTheLocalClock(t *testing.T) {
	m := newLeaseModel(4)
	for range 10 {
		m.turn([]string{"a"})
	}

	began := m.now
	m.held["a"] = nil
	for m.load("b") < 4 {
		m.turn([]string{"b"})

		if m.now.Sub(began) > modelLease+time.Second {
			t.Fatalf("b has %d of 4 leases %v after a's end", m.load("b"), m.now.Sub(began))
		}
	}

	if m.now.Sub(began) < modelLease {
		t.Fatalf("taken over after %v, before the lease was over", m.now.Sub(began))
	}
}

func TestAChildWaitsForItsParent(t *testing.T) {
	now := time.Unix(0, 0)
	p := planner{me: "w", leaseDuration: modelLease, scanInterval: modelScan, holds: func(string) bool { return false }}
	for _, c := range []struct {
		name   string
		leases []Lease
		want   string // the shards to take
	}{
		{
			name:   "the parent is unfinished",
			leases: []Lease{{Shard: "p"}, {Shard: "c", Parent: "p"}},
			want:   "p",
		},
		{
			name:   "the parent is finished",
			leases: []Lease{{Shard: "p", FinishedAt: now.Add(1)}, {Shard: "c", Parent: "p"}},
			want:   "c",
		},
		{
			name:   "the parent is not known",
			leases: []Lease{{Shard: "c", Parent: "p"}},
			want:   "",
		},
		{
			name:   "the parent is known to be gone",
			leases: []Lease{{Shard: "c", Parent: "p", ParentDone: true}},
			want:   "c",
		},
		{
			name:   "three generations",
			leases: []Lease{{Shard: "a"}, {Shard: "b", Parent: "a"}, {Shard: "c", Parent: "b"}},
			want:   "a",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, lease := range p.decide(observe(nil, c.leases, now), now).take {
				got = append(got, lease.Shard)
			}

			if strings.Join(got, " ") != c.want {
				t.Errorf("take %q, want %q", got, c.want)
			}
		})
	}
}

func TestAShardIsNotFreeWhileItsParentIsUnfinished(t *testing.T) {
	now := time.Now()
	p := planner{
		me: "a", leaseDuration: time.Second, scanInterval: 10 * time.Millisecond,
		holds: func(shard string) bool { return strings.HasPrefix(shard, "other") },
	}
	observed := observe(nil, []Lease{
		{Shard: "child", Parent: "parent"},
		{Shard: "other", Owner: "a", Epoch: 1},
		{Shard: "parent", Owner: "b", Epoch: 1},
	}, now)
	p.decide(observed, now)

	// The parent has been read for a long time before its child becomes free.
	now = now.Add(100 * time.Millisecond)
	observed = observe(observed, []Lease{
		{Shard: "child", Parent: "parent"},
		{Shard: "other", Owner: "a", Epoch: 1, Counter: 9},
		{Shard: "parent", FinishedAt: now},
		{Shard: "third", Owner: "b", Epoch: 1},
	}, now)

	// b has as many as this worker, whose share is full until two intervals are over.
	observed["other2"] = &observedLease{Lease: Lease{Shard: "other2", Owner: "a", Epoch: 1}, unchangedSince: now}
	if todo := p.decide(observed, now); len(todo.take) != 0 {
		t.Errorf("took %v although b comes first", todo.take[0].Shard)
	}

	if todo := p.decide(observed, now.Add(20*time.Millisecond)); len(todo.take) != 1 {
		t.Errorf("took %d leases after two intervals", len(todo.take))
	}
}

// TestALeaseIsNotTakenAgainWhileItsHandlersRun: this worker has lost the lease, and a handler
// has not returned.
func TestALeaseIsNotTakenAgainWhileItsHandlersRun(t *testing.T) {
	now := time.Now()
	hangs := true
	p := planner{me: "a", leaseDuration: time.Second, scanInterval: 10 * time.Millisecond, holds: func(string) bool { return hangs }}
	observed := observe(nil, []Lease{{Shard: "s", ParentDone: true}}, now)
	p.decide(observed, now)

	now = now.Add(time.Minute)
	if todo := p.decide(observed, now); len(todo.take) != 0 {
		t.Error("taken while a handler runs")
	}
	hangs = false

	if todo := p.decide(observed, now); len(todo.take) != 1 {
		t.Error("not taken after the handler has ended")
	}
}
