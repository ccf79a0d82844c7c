package holders

import (
	"testing"
	"time"

	"ratchet/streams/leases"
)

// TestAWorkerThatStopsHoldsItsLeases: its handlers still run. Only one that has left has given up all of them.
func TestAWorkerThatStopsHoldsItsLeases(t *testing.T) {
	now := time.Now()

	for state, want := range map[string]int{"": 0, leases.Stopping: 0, leases.Left: 1} {
		workers := Workers{}
		workers.Observe([]leases.WorkerRow{{Owner: "a", Counter: 1, State: state}}, now, modelLease)

		observed := Observe(nil, []leases.Lease{{Shard: "s", Owner: "a", Epoch: 1}}, now, modelLease)
		workers.Apply(observed)

		p := Planner{Me: "w", Ended: noneHas, ScanInterval: modelScan, Holds: func(string) bool { return false }}
		if todo := p.Decide(observed, now); len(todo.Take) != want {
			t.Errorf("state %q: %d leases are free, want %d", state, len(todo.Take), want)
		}
	}
}

// TestARequestThatIsNotMetIsWithdrawn: after three lease durations.
func TestARequestThatIsNotMetIsWithdrawn(t *testing.T) {
	p := Planner{Me: "w", Ended: noneHas, ScanInterval: modelScan, Holds: func(string) bool { return false }}
	began := time.Now()

	var observed map[string]*Observed
	for _, c := range []struct {
		after time.Duration
		want  int
	}{{0, 0}, {modelLease, 0}, {3*modelLease - 1, 0}, {3 * modelLease, 1}} {
		now := began.Add(c.after)
		// The owner is alive: its counter grows.
		observed = Observe(observed, []leases.Lease{{Shard: "s", Owner: "a", Epoch: 1, Counter: int64(c.after), RequestedBy: "w"}}, now, modelLease)

		if todo := p.Decide(observed, now); len(todo.Withdraw) != c.want {
			t.Errorf("after %v: %d requests are withdrawn, want %d", c.after, len(todo.Withdraw), c.want)
		}
	}
}

// TestAFinalWriteIsRecognized: its answer was lost, and its repeat finds the row as the first one has left it.
func TestAFinalWriteIsRecognized(t *testing.T) {
	finished := time.Now()
	h := Hold(nil, leases.Lease{Shard: "s", Owner: "w", Epoch: 3, Counter: 5}, time.Now(), modelLease)

	for name, c := range map[string]struct {
		row      leases.Lease
		progress leases.Progress
		want     bool
	}{
		"released":                     {leases.Lease{Epoch: 3, Counter: 6}, leases.Progress{Release: true}, true},
		"finished":                     {leases.Lease{Epoch: 3, Counter: 6, FinishedAt: finished}, leases.Progress{Finished: finished}, true},
		"released in place of the end": {leases.Lease{Epoch: 3, Counter: 6}, leases.Progress{Finished: finished}, false},
		"no final write":               {leases.Lease{Epoch: 3, Counter: 6}, leases.Progress{}, false},
		"of another holder":            {leases.Lease{Epoch: 4, Counter: 6}, leases.Progress{Release: true}, false},
		"held":                         {leases.Lease{Owner: "x", Epoch: 3, Counter: 6}, leases.Progress{Release: true}, false},
		"written once more":            {leases.Lease{Epoch: 3, Counter: 7}, leases.Progress{Release: true}, false},
		"as before":                    {leases.Lease{Epoch: 3, Counter: 5}, leases.Progress{Release: true}, false},
	} {
		if got := h.storedBefore(c.row, c.progress); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
}
