package once_test

import (
	"errors"
	"testing"
	"time"

	"ratchet/once"
)

func TestPoint26_TheCacheKnowsOnlyWhatHasEnded(t *testing.T) {
	w := newWorld(t, func(c *once.Config) { c.Cache = 2 })
	reads := func(key string, in []byte, want error) int {
		t.Helper()
		w.calls()

		if _, err := w.Claim(t.Context(), key, in); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", key, err, want)
		}

		return len(w.calls())
	}
	held := take(t, w.Claims, "a")
	if n := reads("a", payload, once.ErrInProgress); n != 1 {
		t.Errorf("in progress is not remembered: %d requests", n)
	}

	if err := held.Complete(t.Context(), []byte("a")); err != nil {
		t.Fatal(err)
	}

	if n := reads("a", payload, nil); n != 0 {
		t.Errorf("completed is: %d requests", n)
	}

	if n := reads("a", []byte("other"), once.ErrMismatch); n != 0 {
		t.Errorf("and the payload compared: %d requests", n)
	}

	for _, key := range []string{"b", "c"} {
		if _, _, err := w.Do(t.Context(), key, payload, (&work{}).do); err != nil {
			t.Fatal(err)
		}
	}

	if n := reads("a", payload, nil); n != 1 {
		t.Errorf("two are remembered, not three: %d requests", n)
	}
	first := take(t, w.Claims, "a")
	copy(first.Result, "X")

	if got := take(t, w.Claims, "a"); string(got.Result) != "a" {
		t.Errorf("the caller's copy is the caller's: %q", got.Result)
	}
	w.clock.Advance(time.Hour + time.Second)

	if n := reads("a", payload, nil); n == 0 {
		t.Error("past its retention it is forgotten")
	}

	final := once.Fail("Closed", nil)
	for i := range 3 {
		w.calls()

		_, _, err := w.Do(t.Context(), "failed", payload, (&work{err: final}).do)
		if n := len(w.calls()); !errors.Is(err, final) || i == 2 && n != 0 {
			t.Errorf("call %d: %v, %d requests", i, err, n)
		}
	}
}
