package once_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"ratchet/once"
)

// repeatable returns work that counts its calls and returns them as text.
func repeatable(calls *int, during ...func()) func(context.Context) ([]byte, error) {
	return func(context.Context) ([]byte, error) {
		*calls++

		for _, do := range during {
			do()
		}

		return []byte(strings.Repeat("i", *calls)), nil
	}
}

func TestRepeatableWorkCostsOneReadAndOneWrite(t *testing.T) {
	w := newWatchedClaims(t)
	calls := 0
	w.calls()

	for i := range 3 {
		result, replayed, err := w.DoRepeatable(t.Context(), "k", payload, repeatable(&calls))
		if err != nil || string(result) != "i" || replayed != (i > 0) {
			t.Fatalf("call %d: %q, %t, %v", i, result, replayed, err)
		}

		want := []string{"GetItem", "UpdateItem"}[:2-min(i, 1)]
		if got := w.calls(); !slices.Equal(got, want) {
			t.Errorf("call %d: %v, want %v", i, got, want)
		}
	}

	if calls != 1 {
		t.Errorf("the work ran %d times", calls)
	}

	if _, _, err := w.DoRepeatable(t.Context(), "k", []byte("other"), repeatable(&calls)); !errors.Is(err, once.ErrMismatch) {
		t.Errorf("another payload: %v", err)
	}

	if _, err := w.Claim(t.Context(), "k", payload); err != nil {
		t.Errorf("a claim replays the result: %v", err)
	}
}

// TestTheFirstResultOfRepeatableWorkIsTheKeys lets another caller finish during the work.
func TestTheFirstResultOfRepeatableWorkIsTheKeys(t *testing.T) {
	for name, other := range map[string]func(w *watchedClaims) error{
		"repeatable": func(w *watchedClaims) error {
			_, _, err := w.DoRepeatable(t.Context(), "k", payload, func(context.Context) ([]byte, error) { return []byte("other"), nil })
			return err
		},
		"claimed": func(w *watchedClaims) error {
			_, _, err := w.Do(t.Context(), "k", payload, func(context.Context, *once.Claim) ([]byte, error) { return []byte("other"), nil })
			return err
		},
	} {
		w := newWatchedClaims(t)
		calls := 0
		result, replayed, err := w.DoRepeatable(t.Context(), "k", payload, repeatable(&calls, func() {
			if err := other(w); err != nil {
				t.Error(err)
			}
		}))

		if err != nil || string(result) != "other" || !replayed || calls != 1 {
			t.Errorf("%s: %q, %t, %v after %d calls", name, result, replayed, err, calls)
		}
	}
}

// TestRepeatableWorkAndClaims: a held claim keeps the work out, and its end lets it in.
func TestRepeatableWorkAndClaims(t *testing.T) {
	w := newWatchedClaims(t)
	calls := 0

	if _, err := w.Claim(t.Context(), "k", payload); err != nil {
		t.Fatal(err)
	}

	if _, _, err := w.DoRepeatable(t.Context(), "k", payload, repeatable(&calls)); !errors.Is(err, once.ErrInProgress) || calls != 0 {
		t.Errorf("%v after %d calls, want ErrInProgress", err, calls)
	}

	// The holder has died.
	w.clock.Advance(time.Minute + 3*time.Second)

	if result, replayed, err := w.DoRepeatable(t.Context(), "k", payload, repeatable(&calls)); err != nil || replayed || string(result) != "i" {
		t.Errorf("%q, %t, %v", result, replayed, err)
	}

	// A claim that is made during the work keeps its result out.
	calls = 0
	_, _, err := w.DoRepeatable(t.Context(), "l", payload, repeatable(&calls, func() {
		if _, err := w.Claim(t.Context(), "l", payload); err != nil {
			t.Error(err)
		}
	}))
	if !errors.Is(err, once.ErrInProgress) || calls != 1 {
		t.Errorf("%v after %d calls, want ErrInProgress", err, calls)
	}

	// An expired record counts as absent.
	w.clock.Advance(2 * time.Hour)
	calls = 0

	if _, replayed, err := w.DoRepeatable(t.Context(), "k", payload, repeatable(&calls)); err != nil || replayed || calls != 1 {
		t.Errorf("%t, %v after %d calls", replayed, err, calls)
	}
}

// TestRepeatableWorkAfterACrash dies at each call: the work runs again, or its result is
// replayed, and its far side sees the same key.
func TestRepeatableWorkAfterACrash(t *testing.T) {
	for name, lose := range map[string]struct {
		fault func(w *watchedClaims)
		fails bool
		calls int
	}{
		"before the work":                {func(w *watchedClaims) { w.outage("GetItem") }, true, 1},
		"between the work and the write": {func(w *watchedClaims) { w.outage("UpdateItem") }, true, 2},
		"the answer to the write":        {func(w *watchedClaims) { w.loseAnswers(1) }, false, 1},
	} {
		w := newWatchedClaims(t)
		calls := 0
		lose.fault(w)

		if _, _, err := w.DoRepeatable(t.Context(), "k", payload, repeatable(&calls)); (err != nil) != lose.fails {
			t.Errorf("%s: %v", name, err)
		}
		w.transport.Clear()

		for range 2 {
			if _, _, err := w.DoRepeatable(t.Context(), "k", payload, repeatable(&calls)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}

		if calls != lose.calls {
			t.Errorf("%s: the work ran %d times, want %d", name, calls, lose.calls)
		}
	}
}

func TestRepeatableWorkThatFailsStoresNothing(t *testing.T) {
	w := newWatchedClaims(t)
	calls := 0

	for _, err := range []error{errors.New("busy"), once.Fail("Closed", errors.New("account closed"))} {
		_, _, got := w.DoRepeatable(t.Context(), "k", payload, func(context.Context) ([]byte, error) { return nil, err })
		if !errors.Is(got, err) {
			t.Errorf("got %v, want %v", got, err)
		}
	}

	if _, found, err := w.Get(t.Context(), "k"); found || err != nil {
		t.Errorf("a record was stored (%v)", err)
	}

	if _, _, err := w.DoRepeatable(t.Context(), "", payload, repeatable(&calls)); !errors.Is(err, once.ErrInvalid) {
		t.Errorf("an empty key: %v", err)
	}

	large := func(context.Context) ([]byte, error) { return make([]byte, 5<<20), nil }
	if _, _, err := w.DoRepeatable(t.Context(), "k", payload, large); !errors.Is(err, once.ErrInvalid) {
		t.Errorf("a large result: %v", err)
	}
}
