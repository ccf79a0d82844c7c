package streams

import (
	"testing"
	"time"
)

func TestLeasesThatHaveLapsedAreNeverValidAgain(t *testing.T) {
	virtually(t, func(t *testing.T) {
		l := newLiveness(nil, "w", 10*time.Second, nil)
		time.Sleep(time.Second)

		if l.valid(l.current(), time.Now()) {
			t.Fatal("valid before the first heartbeat")
		}

		beat := func(took time.Duration) {
			began := time.Now()
			time.Sleep(took)
			l.count(began, time.Now())
		}

		beat(time.Second)
		life := l.current()

		if !l.valid(life, time.Now()) {
			t.Fatal("not valid after a heartbeat")
		}

		// Leases are valid for 7.5 s from the begin of the last heartbeat. The next one is
		// answered in time, however long it took.
		time.Sleep(2 * time.Second)
		beat(4 * time.Second)

		if !l.valid(life, time.Now()) || l.current() != life {
			t.Fatal("a heartbeat that was answered in time does not count")
		}

		// An answer that comes when the leases have lapsed begins a new life: another worker
		// may have taken them just before the heartbeat was applied.
		beat(5 * time.Second)

		if l.valid(life, time.Now()) || l.current() == life {
			t.Fatal("leases that had lapsed are valid again")
		}

		if !l.valid(l.current(), time.Now()) {
			t.Fatal("leases that are taken now are not valid")
		}

		// Answers may overtake each other.
		early := time.Now()
		time.Sleep(time.Second)
		beat(0)
		last := l.stopBy(l.current())
		l.count(early, time.Now())

		if got := l.stopBy(l.current()); !got.Equal(last) {
			t.Errorf("an older heartbeat moved the end from %v to %v", last, got)
		}
	})
}

// The monotonic clock stops while a machine is suspended.
func TestASuspendedMachineHasNoValidLeases(t *testing.T) {
	l := newLiveness(nil, "w", 10*time.Second, nil)
	now := time.Now()
	l.count(now, now)

	if !l.valid(l.current(), now.Add(time.Second)) {
		t.Fatal("not valid")
	}

	// Eight seconds pass by the wall clock only.
	l.wall.Store(now.Add(-8 * time.Second).UnixNano())

	if l.valid(l.current(), now.Add(time.Second)) {
		t.Error("valid although the wall clock says that others may have taken the leases")
	}
}

func TestWorkersExpireByTheLocalClock(t *testing.T) {
	const duration = 10 * time.Second
	now := time.Now()
	workers := observedWorkers{}
	row := workerRow{owner: "a", counter: 1}

	if !workers.observe([]workerRow{row}, now, duration) {
		t.Error("a new worker is no news")
	}

	for i := range 9 {
		at := now.Add(time.Duration(i) * time.Second)
		if workers.observe([]workerRow{row}, at, duration) || len(workers.taking(at, duration)) != 1 {
			t.Fatalf("after %d s: news, or expired", i)
		}
	}

	if n := len(workers.taking(now.Add(duration), duration)); n != 0 {
		t.Error("not expired after the lease duration")
	}

	// A row that is deleted starts the time again: its owner has had no reason to renew the
	// leases themselves.
	gone := now.Add(9 * time.Second)
	if !workers.observe(nil, gone, duration) {
		t.Error("a worker that is gone is no news")
	}

	leases := observe(nil, []Lease{{Shard: "s", Owner: "a"}}, now)
	workers.apply(leases)

	if got := leases["s"].unchangedSince; !got.Equal(gone) {
		t.Errorf("the lease counts as unchanged since %v, want %v", got, gone)
	}

	row.counter++
	workers.observe([]workerRow{row}, gone.Add(time.Second), duration)
	workers.apply(leases)

	if got := leases["s"].unchangedSince; !got.Equal(gone.Add(time.Second)) {
		t.Errorf("the lease counts as unchanged since %v", got)
	}

	row.state, row.counter = workerLeft, row.counter+1
	workers.observe([]workerRow{row}, gone.Add(2*time.Second), duration)
	workers.apply(leases)

	if !leases["s"].ownerLeft || len(workers.taking(gone.Add(2*time.Second), duration)) != 0 {
		t.Error("the leases of a worker that has left are not free")
	}
}
