package holders

import (
	"testing"
	"time"

	"ratchet/embedded/embeddedtest"
	"ratchet/internal/dynamo"
	"ratchet/streams/leases"
	"ratchet/streams/store"
)

func TestLeasesThatHaveLapsedAreNeverValidAgain(t *testing.T) {
	virtually(t, func(t *testing.T) {
		l := NewLiveness(&leases.Table{Duration: 10 * time.Second}, "w", nil)
		time.Sleep(time.Second)

		if l.Valid(l.Current(), time.Now()) {
			t.Fatal("valid before the first heartbeat")
		}

		beat := func(took time.Duration) {
			began := time.Now()
			time.Sleep(took)
			l.Count(began, time.Now())
		}

		beat(time.Second)
		life := l.Current()

		if !l.Valid(life, time.Now()) {
			t.Fatal("not valid after a heartbeat")
		}

		// Leases are valid for 7.5 s from the begin of the last heartbeat. The next one is
		// answered in time, however long it took.
		time.Sleep(2 * time.Second)
		beat(4 * time.Second)

		if !l.Valid(life, time.Now()) || l.Current() != life {
			t.Fatal("a heartbeat that was answered in time does not count")
		}

		// An answer that comes when the leases have lapsed begins a new life: another worker
		// may have taken them just before the heartbeat was applied.
		beat(5 * time.Second)

		if l.Valid(life, time.Now()) || l.Current() == life {
			t.Fatal("leases that had lapsed are valid again")
		}

		if !l.Valid(l.Current(), time.Now()) {
			t.Fatal("leases that are taken now are not valid")
		}

		// Answers may overtake each other.
		early := time.Now()
		time.Sleep(time.Second)
		beat(0)
		last := l.stopBy(l.Current())
		l.Count(early, time.Now())

		if got := l.stopBy(l.Current()); !got.Equal(last) {
			t.Errorf("an older heartbeat moved the end from %v to %v", last, got)
		}
	})
}

// The monotonic clock stops while a machine is suspended.
func TestASuspendedMachineHasNoValidLeases(t *testing.T) {
	l := NewLiveness(&leases.Table{Duration: 10 * time.Second}, "w", nil)
	now := time.Now()
	l.Count(now, now)

	if !l.Valid(l.Current(), now.Add(time.Second)) {
		t.Fatal("not valid")
	}

	// Eight seconds pass by the wall clock only.
	l.Wall.Store(now.Add(-8 * time.Second).UnixNano())

	if l.Valid(l.Current(), now.Add(time.Second)) {
		t.Error("valid although the wall clock says that others may have taken the leases")
	}
}

func TestWorkersExpireByTheLocalClock(t *testing.T) {
	const duration = 10 * time.Second
	now := time.Now()
	workers := Workers{}
	row := leases.WorkerRow{Owner: "a", Counter: 1}

	if !workers.Observe([]leases.WorkerRow{row}, now, duration) {
		t.Error("a new worker is no news")
	}

	for i := range 9 {
		at := now.Add(time.Duration(i) * time.Second)
		if workers.Observe([]leases.WorkerRow{row}, at, duration) || len(workers.Taking(at)) != 1 {
			t.Fatalf("after %d s: news, or expired", i)
		}
	}

	if n := len(workers.Taking(now.Add(duration))); n != 0 {
		t.Error("not expired after the lease duration")
	}

	// A row that is deleted starts the time again: its owner has had no reason to renew the
	// leases themselves.
	gone := now.Add(9 * time.Second)
	if !workers.Observe(nil, gone, duration) {
		t.Error("a worker that is gone is no news")
	}

	stored := Observe(nil, []leases.Lease{{Shard: "s", Owner: "a"}}, now, duration)
	workers.Apply(stored)

	if got := stored["s"].UnchangedSince; !got.Equal(gone) {
		t.Errorf("the lease counts as unchanged since %v, want %v", got, gone)
	}

	row.Counter++
	workers.Observe([]leases.WorkerRow{row}, gone.Add(time.Second), duration)
	workers.Apply(stored)

	if got := stored["s"].UnchangedSince; !got.Equal(gone.Add(time.Second)) {
		t.Errorf("the lease counts as unchanged since %v", got)
	}

	row.State, row.Counter = leases.Left, row.Counter+1
	workers.Observe([]leases.WorkerRow{row}, gone.Add(2*time.Second), duration)
	workers.Apply(stored)

	if !stored["s"].ownerLeft || len(workers.Taking(gone.Add(2*time.Second))) != 0 {
		t.Error("the leases of a worker that has left are not free")
	}
}

// TestARefusedHeartbeatRenewsNothing: the row says already that the worker stops, or has left. Only the first heartbeat of a
// run does not ask.
func TestARefusedHeartbeatRenewsNothing(t *testing.T) {
	table := &leases.Table{API: embeddedtest.DynamoDB(t, leases.TableInput("leases")), Table: "leases", Stream: "s", Clock: &dynamo.Clock{}, Duration: time.Minute}

	for _, state := range []string{leases.Stopping, leases.Left} {
		if _, _, err := store.Apply(t.Context(), table.API, table.Beat("w", state, false)); err != nil {
			t.Fatal(err)
		}
		l := NewLiveness(table, "w", func(err error) { t.Error(err) })

		renews := func() bool {
			before := l.renewedAt()
			l.beat(t.Context(), false)
			l.beats.Wait()

			return l.renewedAt().After(before)
		}

		if !renews() {
			t.Errorf("%q: the first heartbeat of a run is refused", state)
		}

		if _, _, err := store.Apply(t.Context(), table.API, table.Beat("w", state, false)); err != nil {
			t.Fatal(err)
		}

		if renews() {
			t.Errorf("%q: a refused heartbeat has renewed", state)
		}
	}
}
