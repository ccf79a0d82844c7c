package jsonata

import (
	"errors"
	"testing"
	"time"

	"ratchet/embedded/internal/stepfunctions/places"
)

// An evaluation waits for a place, and its time begins when it has one.
func TestPlaces(t *testing.T) {
	for range maxRunning {
		running <- struct{}{}
	}

	if err := testScope().begin(time.Nanosecond); !errors.Is(err, places.ErrBusy) {
		t.Errorf("without a place: %v", err)
	}

	// A busy machine may stop this test before the wait begins, so that less of the time is a wait: then it is measured again.
	var wait, moved time.Duration

	for range 100 {
		wait, moved = waitForPlace(t)
		if moved >= wait-time.Millisecond {
			break
		}
	}

	if moved < wait-time.Millisecond {
		t.Errorf("a wait of %v moved the deadline by %v", wait, moved)
	}

	for range maxRunning {
		running.Free()
	}

	if got := outcome(t, "1"); got != "1" || testScope().begin(time.Nanosecond) != nil {
		t.Errorf("with a place: %s", got)
	}

	running.Free()

	s, deadline := testScope(), time.Now().Add(time.Hour)
	s.deadline = deadline
	if err := s.begin(time.Nanosecond); err != nil || !s.deadline.Equal(deadline) {
		t.Errorf("the second expression of a field: %v, and until %v instead of %v", err, s.deadline, deadline)
	}

	running.Free()
}

// waitForPlace begins an evaluation for which a place is freed later. It returns how long that took, and by how much the
// deadline has moved.
func waitForPlace(t *testing.T) (wait, moved time.Duration) {
	t.Helper()

	s := testScope()
	s.deadline = time.Now().Add(time.Hour)
	before, deadline := time.Now(), s.deadline

	freed := make(chan time.Time, 1)
	timer := time.AfterFunc(10*time.Millisecond, func() {
		freed <- time.Now()
		running.Free()
	})
	defer timer.Stop()

	if err := s.begin(10 * time.Minute); err != nil {
		t.Fatal(err)
	}

	return (<-freed).Sub(before), s.deadline.Sub(deadline)
}
