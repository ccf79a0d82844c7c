package holders

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ratchet/streams/leases"
)

// leaseModel is a lease table in memory for the planner alone: it applies plans as
// the conditional writes would.
type leaseModel struct {
	leases map[string]*leases.Lease
	seen   map[string]map[string]*Observed // by worker
	held   map[string]map[string]bool
	now    time.Time
	moves  int
}

const modelLease, modelScan = 10 * time.Second, 500 * time.Millisecond

func newLeaseModel(shards int) *leaseModel {
	m := &leaseModel{leases: map[string]*leases.Lease{}, seen: map[string]map[string]*Observed{}, held: map[string]map[string]bool{}, now: time.Unix(0, 0)}
	for i := range shards {
		id := fmt.Sprintf("s%02d", i)
		m.leases[id] = &leases.Lease{Shard: id}
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
		var list []leases.Lease
		for _, l := range m.leases {
			list = append(list, *l)
		}

		m.seen[w] = Observe(m.seen[w], list, m.now, modelLease)
		p := Planner{Me: w, Ended: noneHas, ScanInterval: modelScan, Holds: func(s string) bool { return m.held[w][s] }}.Decide(m.seen[w], m.now)
		for _, s := range p.Take {
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

		for _, s := range p.Request {
			if l := m.leases[s.Shard]; l.Epoch == s.Epoch && l.Owner == s.Owner && l.RequestedBy == "" {
				l.RequestedBy = w
			}
		}

		for _, id := range p.HandOver {
			l := m.leases[id]
			l.Owner = ""
			l.Counter++
			delete(m.held[w], id)
		}

		for _, s := range p.Withdraw {
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
	p := Planner{Me: "w", Ended: noneHas, ScanInterval: modelScan, Holds: func(string) bool { return false }}
	for _, c := range []struct {
		name   string
		leases []leases.Lease
		want   string // the shards to take
	}{
		{
			name:   "the parent is unfinished",
			leases: []leases.Lease{{Shard: "p"}, {Shard: "c", Parent: "p"}},
			want:   "p",
		},
		{
			name:   "the parent is finished",
			leases: []leases.Lease{{Shard: "p", FinishedAt: now.Add(1)}, {Shard: "c", Parent: "p"}},
			want:   "c",
		},
		{
			name:   "the parent is not known",
			leases: []leases.Lease{{Shard: "c", Parent: "p"}},
			want:   "",
		},
		{
			name:   "the parent is known to be gone",
			leases: []leases.Lease{{Shard: "c", Parent: "p", ParentDone: true}},
			want:   "c",
		},
		{
			name:   "three generations",
			leases: []leases.Lease{{Shard: "a"}, {Shard: "b", Parent: "a"}, {Shard: "c", Parent: "b"}},
			want:   "a",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, lease := range p.Decide(Observe(nil, c.leases, now, modelLease), now).Take {
				got = append(got, lease.Shard)
			}

			if strings.Join(got, " ") != c.want {
				t.Errorf("take %q, want %q", got, c.want)
			}
		})
	}
}

func noneHas(string) bool { return false }

func TestAShardIsNotFreeWhileItsParentIsUnfinished(t *testing.T) {
	now := time.Now()
	p := Planner{
		Me: "a", Ended: noneHas, ScanInterval: 10 * time.Millisecond,
		Holds: func(shard string) bool { return strings.HasPrefix(shard, "other") },
	}
	observed := Observe(nil, []leases.Lease{
		{Shard: "child", Parent: "parent"},
		{Shard: "other", Owner: "a", Epoch: 1},
		{Shard: "parent", Owner: "b", Epoch: 1},
	}, now, time.Second)
	p.Decide(observed, now)

	// The parent has been read for a long time before its child becomes free.
	now = now.Add(100 * time.Millisecond)
	observed = Observe(observed, []leases.Lease{
		{Shard: "child", Parent: "parent"},
		{Shard: "other", Owner: "a", Epoch: 1, Counter: 9},
		{Shard: "parent", FinishedAt: now},
		{Shard: "third", Owner: "b", Epoch: 1},
	}, now, time.Second)

	// b has as many as this worker, whose share is full until two intervals are over.
	observed["other2"] = &Observed{Lease: leases.Lease{Shard: "other2", Owner: "a", Epoch: 1, Duration: time.Second}, UnchangedSince: now}
	if todo := p.Decide(observed, now); len(todo.Take) != 0 {
		t.Errorf("took %v although b comes first", todo.Take[0].Shard)
	}

	if todo := p.Decide(observed, now.Add(20*time.Millisecond)); len(todo.Take) != 1 {
		t.Errorf("took %d leases after two intervals", len(todo.Take))
	}
}

// TestALeaseIsNotTakenAgainWhileItsHandlersRun: this worker has lost the lease, and a handler
// has not returned.
func TestALeaseIsNotTakenAgainWhileItsHandlersRun(t *testing.T) {
	now := time.Now()
	hangs := true
	p := Planner{Me: "a", Ended: noneHas, ScanInterval: 10 * time.Millisecond, Holds: func(string) bool { return hangs }}
	observed := Observe(nil, []leases.Lease{{Shard: "s", ParentDone: true}}, now, time.Second)
	p.Decide(observed, now)

	now = now.Add(time.Minute)
	if todo := p.Decide(observed, now); len(todo.Take) != 0 {
		t.Error("taken while a handler runs")
	}
	hangs = false

	if todo := p.Decide(observed, now); len(todo.Take) != 1 {
		t.Error("not taken after the handler has ended")
	}
}
