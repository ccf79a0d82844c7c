package once_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"ratchet/embedded/embeddedtest"
	"ratchet/internal/dynamo"
	"ratchet/once"
)

// counted counts an event and checks how many there are then.
func counted(t *testing.T, w *watchedClaims, key, event string, want int) {
	t.Helper()

	if n, err := w.Count(t.Context(), key, event); n != want || err != nil {
		t.Errorf("%s of %s: %d, %v; want %d", event, key, n, err, want)
	}
}

func TestAnEventIsCountedOnce(t *testing.T) {
	w := newWatchedClaims(t)
	counted(t, w, "k", "a", 1)
	counted(t, w, "k", "a", 1)
	counted(t, w, "k", "b", 2)
	counted(t, w, "other", "a", 1)

	w.loseAnswers(1)
	counted(t, w, "k", "c", 3)
	take(t, w.Claims, "k") // a claim has a key of its own

	var group sync.WaitGroup
	for i := range 20 {
		group.Go(func() {
			if _, err := w.Count(t.Context(), "k", fmt.Sprint("caller ", i/2)); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	counted(t, w, "k", "a", 13)
}

// TestACountIsForgottenAfterTheRetention: the record that TTL has not deleted counts as
// absent, and each event keeps the others.
func TestACountIsForgottenAfterTheRetention(t *testing.T) {
	w := newWatchedClaims(t, func(c *once.Config) { c.Retention = time.Hour })
	counted(t, w, "k", "a", 1)
	w.clock.Advance(40 * time.Minute)
	counted(t, w, "k", "b", 2)
	w.clock.Advance(40 * time.Minute)
	counted(t, w, "k", "c", 3)

	w.clock.Advance(time.Hour) // to the second
	counted(t, w, "k", "c at its end", 4)

	w.clock.Advance(time.Hour + time.Second)
	w.loseAnswers(1)
	counted(t, w, "k", "d", 1)
	counted(t, w, "k", "a", 2)
}

func TestACountIsBounded(t *testing.T) {
	w := newWatchedClaims(t)
	for i := range 128 {
		counted(t, w, "k", fmt.Sprint(i), i+1)
	}
	counted(t, w, "k", "one more", 128)
	counted(t, w, "k", "5", 128)
	w.clock.Advance(time.Hour) // its retention, to the second
	counted(t, w, "k", "one more", 128)

	for name, args := range map[string][2]string{"no key": {"", "e"}, "a long key": {strings.Repeat("k", 2041), "e"}, "no event": {"k", ""},
		"a long event": {"k", strings.Repeat("e", 65)}, "not UTF-8": {"k", "\xff"}} {
		if n, err := w.Count(t.Context(), args[0], args[1]); !errors.Is(err, once.ErrInvalid) {
			t.Errorf("%s: %d, %v", name, n, err)
		}
	}

	if _, err := w.Claim(t.Context(), "counted#k", payload); !errors.Is(err, once.ErrInvalid) {
		t.Errorf("a claim of a count's key: %v", err)
	}
}

// A count that others begin and that expires again before each write is in use.
func TestACountThatChangesAtEachWriteIsInProgress(t *testing.T) {
	w := newWatchedClaims(t)
	counted(t, w, "k", "a", 1)

	writes := 0
	w.transport.Before(func(c *embeddedtest.Call) error {
		if !c.Is("UpdateItem") || writes > 8 {
			return nil
		}

		if bytes.Contains(c.Body(), []byte("contains")) || bytes.Contains(c.Body(), []byte("#events = ")) { // not the test's own
			writes++
			expiry := w.clock.Now().Add(time.Duration(1-2*(writes%2)) * time.Minute)
			w.change(t, "counted#k", item{"expiresAt": dynamo.Seconds(expiry)})
		}

		return nil
	})

	if n, err := w.Count(t.Context(), "k", "b"); !errors.Is(err, once.ErrInProgress) || n != 0 || writes != 8 {
		t.Errorf("%d, %v after %d writes", n, err, writes)
	}
}
