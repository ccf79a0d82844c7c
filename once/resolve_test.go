package once_test

import (
	"errors"
	"testing"
	"time"

	"ratchet/once"
)

func TestADifferentSecondResolutionIsRefused(t *testing.T) {
	w := newWatchedClaims(t)
	done := func(text string) once.Resolution {
		return once.Resolution{Status: once.StatusCompleted, Result: []byte(text)}
	}
	failed := func(message string) once.Resolution {
		return once.Resolution{Status: once.StatusFailed, Failure: &once.Failure{Code: "Declined", Message: message}}
	}
	for name, to := range map[string]struct{ first, second once.Resolution }{
		"another result":  {done("A"), done("B")},
		"no result":       {done("A"), done("")},
		"another failure": {failed("A"), failed("B")},
		"another status":  {done("A"), failed("A")},
	} {
		if err := take(t, w.Claims, name).Unknown(t.Context()); err != nil {
			t.Fatal(err)
		}

		r, _, err := w.Get(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		w.loseAnswers(1)

		for range 2 {
			if err := w.Resolve(t.Context(), r, to.first); err != nil {
				t.Errorf("%s: the first resolution and its repeat: %v", name, err)
			}
		}
		w.transport.Clear()

		if err := w.Resolve(t.Context(), r, to.second); !errors.Is(err, once.ErrStaleOwner) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestForceReleaseClearsTheCache(t *testing.T) {
	w := newWatchedClaims(t, func(c *once.Config) { c.Cache = 10 })
	job := &work{result: []byte("r")}
	for want := 1; want < 3; want++ {
		for range 2 {
			if _, _, err := w.Do(t.Context(), "k", payload, job.do); err != nil || job.calls != want {
				t.Fatalf("%d calls, want %d, %v", job.calls, want, err)
			}
		}

		r, _, err := w.Get(t.Context(), "k")
		if err != nil {
			t.Fatal(err)
		}

		if err := w.ForceRelease(t.Context(), r, "ada", "wrong result"); err != nil {
			t.Fatal(err)
		}

		if err := w.ForceRelease(t.Context(), r, "ada", "another reason"); !errors.Is(err, once.ErrStaleOwner) {
			t.Errorf("for another reason: %v", err)
		}
	}
}

func TestUnderExpiredIsUnknownTheRecordOfATransactionExpires(t *testing.T) {
	w := newWatchedClaims(t, func(c *once.Config) { c.ExpiredIsUnknown = true })
	w.deposit(t, "a", 10)
	check := func(k string) {
		t.Helper()

		if _, replayed, err := w.DoInTransaction(t.Context(), k, payload, nil, debit("a", 1)); err != nil || replayed {
			t.Errorf("%s: %t %v", k, replayed, err)
		}

		if got, want := numberOf(w.record(t, k)["expiresAt"]), w.clock.Now().Add(time.Hour).Unix(); got != want {
			t.Errorf("%s: it expires at %d, want %d", k, got, want)
		}
	}
	check("new")

	if err := take(t, w.Claims, "released").Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	check("released")
}
