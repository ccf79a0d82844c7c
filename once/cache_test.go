package once_test

import (
	"errors"
	"testing"
	"time"

	"ratchet/once"
)

func TestPoint26_TheCacheKnowsOnlyWhatHasEnded(t *testing.T) {
	w := newWatchedClaims(t, func(c *once.Config) { c.Cache = 2 })
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
		t.Errorf("a key in progress must not be cached: %d requests", n)
	}

	if err := held.Complete(t.Context(), []byte("a")); err != nil {
		t.Fatal(err)
	}

	if n := reads("a", payload, nil); n != 0 {
		t.Errorf("a completed key must be cached: %d requests", n)
	}

	if n := reads("a", []byte("other"), once.ErrMismatch); n != 0 {
		t.Errorf("the payload must be compared: %d requests", n)
	}

	for _, key := range []string{"b", "c"} {
		if _, _, err := w.Do(t.Context(), key, payload, (&work{}).do); err != nil {
			t.Fatal(err)
		}
	}

	if n := reads("a", payload, nil); n != 1 {
		t.Errorf("the cache must keep two keys, not three: %d requests", n)
	}

	if n := reads("a", payload, nil); n != 0 {
		t.Errorf("a key that had left the cache must come back: %d requests", n)
	}
	first := take(t, w.Claims, "a")
	copy(first.Result, "X")

	if got := take(t, w.Claims, "a"); string(got.Result) != "a" {
		t.Errorf("a caller must not change the cached result: %q", got.Result)
	}
	w.clock.Advance(time.Hour + time.Second)

	if n := reads("a", payload, nil); n == 0 {
		t.Error("after its retention a key must leave the cache")
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
