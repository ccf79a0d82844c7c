package once_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"ratchet/internal/dynamo"
	"ratchet/once"
)

// change overwrites attributes of the item under a key; nil removes one.
func (w *watchedClaims) change(t *testing.T, key string, attributes item) {
	t.Helper()

	update := dynamo.NewUpdate("once", item{"idempotencyKey": dynamo.S(key)})
	for name, v := range attributes {
		if v == nil {
			update.RemoveAttribute(name)
		} else {
			update.SetValue(name, v)
		}
	}

	_, err := w.db.Client.UpdateItem(t.Context(), update.Input())
	must(t, err)
}

// A record that this package cannot have written stops the work: a guess could repeat it.
func TestABrokenRecordIsAnError(t *testing.T) {
	held := func(t *testing.T, w *watchedClaims) { take(t, w.Claims, "k") }

	for name, row := range map[string]struct {
		prepare func(t *testing.T, w *watchedClaims)
		change  item
	}{
		"no fence":               {held, item{"fence": nil}},
		"fence 0":                {held, item{"fence": dynamo.N(0)}},
		"no owner":               {held, item{"owner": nil}},
		"no lease":               {held, item{"leaseUntil": nil}},
		"another status":         {held, item{"status": dynamo.S("LOST")}},
		"a failure of no JSON":   {states["failed"], item{"failure": dynamo.B([]byte("{"))}},
		"a failure without code": {states["failed"], item{"failure": dynamo.B([]byte(`{"message":"x"}`))}},
	} {
		for _, mode := range []string{"claim", "repeatable", "transaction", "get"} {
			w := newWatchedClaims(t)
			row.prepare(t, w)
			w.change(t, "k", row.change)

			if err := operations[mode](t.Context(), w, t); !errors.Is(err, once.ErrCorrupt) {
				t.Errorf("%s: %s: %v", name, mode, err)
			}
		}
	}

	w := newWatchedClaims(t)
	states["locked"](t, w)
	w.change(t, "lock#k", item{"holder": nil})

	for _, mode := range []string{"lock", "read lock"} {
		if err := operations[mode](t.Context(), w, t); !errors.Is(err, once.ErrCorrupt) {
			t.Errorf("a lock without a holder: %s: %v", mode, err)
		}
	}
}

// Values that are no JSON, or that are not read back, are errors: no value stands for them.
func TestValuesThatCannotBeEncodedAreErrors(t *testing.T) {
	w := newWatchedClaims(t)
	ran := false

	_, _, err := once.Do(t.Context(), w.Claims, "a", make(chan int), func(context.Context, *once.Claim) (int, error) {
		ran = true
		return 1, nil
	})
	if !errors.Is(err, once.ErrInvalid) || ran {
		t.Errorf("a payload: %v, ran %v", err, ran)
	}

	if _, _, err := once.Do(t.Context(), w.Claims, "a", 1, func(context.Context, *once.Claim) (int, error) { return 1, errFarSide }); !errors.Is(err, errFarSide) {
		t.Errorf("an error of the work: %v", err)
	}

	if _, _, err := once.Do(t.Context(), w.Claims, "b", 1, func(context.Context, *once.Claim) (string, error) { return "text", nil }); err != nil {
		t.Fatal(err)
	}

	if n, replayed, err := once.Do(t.Context(), w.Claims, "b", 1, func(context.Context, *once.Claim) (int, error) { return 1, nil }); err == nil || !replayed || !strings.Contains(err.Error(), w.Ref("b")) {
		t.Errorf("a result of another type: %d, %v, %v", n, replayed, err)
	}
}

// An operation that is a part of another one's name is another operation.
func TestOperationAndPayloadDoNotRunTogether(t *testing.T) {
	w := newWatchedClaims(t)
	one := w.with(t, func(c *once.Config) { c.Operation = "pay" })
	two := w.with(t, func(c *once.Config) { c.Operation = "payment" })

	if _, err := one.Claim(t.Context(), "k", []byte("ment-1")); err != nil {
		t.Fatal(err)
	}

	if _, err := two.Claim(t.Context(), "k", []byte("-1")); !errors.Is(err, once.ErrMismatch) {
		t.Error(err)
	}
}

func TestTheBoundsAndDefaultsOfTheConfiguration(t *testing.T) {
	w := newWatchedClaims(t)
	for name, row := range map[string]struct {
		change func(c *once.Config)
		says   string // "" for a valid one
	}{
		"retention below 0":         {func(c *once.Config) { c.Retention = -time.Hour }, "Retention -1h0m0s: must not be negative"},
		"retention as the lease":    {func(c *once.Config) { c.Retention, c.Lease = time.Minute, time.Minute }, "must be longer than Lease"},
		"retention above the lease": {func(c *once.Config) { c.Retention, c.Lease = time.Minute+1, time.Minute }, ""},
		"no table":                  {func(c *once.Config) { c.Table = "" }, "Table"},
		"a cache below 0":           {func(c *once.Config) { c.Cache = -1 }, "Cache"},
		"a lease below 1 ms":        {func(c *once.Config) { c.Lease = time.Millisecond - 1 }, "Lease"},
		"a lease of 1 ms":           {func(c *once.Config) { c.Lease = time.Millisecond }, ""},
		"256 KiB in a record":       {func(c *once.Config) { c.Inline = 256 << 10 }, ""},
		"a long operation":          {func(c *once.Config) { c.Operation = strings.Repeat("o", 129) }, "Operation: 129 bytes, at most 128"},
		"a long code":               {func(c *once.Config) { c.Failures = map[string]error{strings.Repeat("o", 129): errFarSide} }, "a code of 129 bytes: at most 128"},
		"a byte more in a record":   {func(c *once.Config) { c.Inline = 256<<10 + 1 }, "Inline 262145: 0 to 262144"},
	} {
		c := w.config()
		row.change(&c)

		if _, err := once.New(c); (row.says == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), row.says) {
			t.Errorf("%s: %v", name, err)
		}
	}

	// Without a margin of its own, a claim is taken over a second after its lease, by each
	// of two clocks.
	claims := w.with(t, func(*once.Config) {})
	take(t, claims, "k")
	w.clock.Advance(time.Minute + 2*time.Second - time.Millisecond)
	refused(t, claims, "k", once.ErrInProgress)
	w.clock.Advance(time.Millisecond)
	take(t, claims, "k")

	if until, ok := once.RetryAt(errors.New("another")); ok || !until.IsZero() {
		t.Error("an error that is none of a key in progress")
	}
}

// An operator's page of unsettled claims has the claims up to the given time, and no claim that has
// ended.
func TestOnlyOpenClaimsAreUnsettled(t *testing.T) {
	w := newWatchedClaims(t)
	for name, end := range map[string]func(c *once.Claim, ctx context.Context) error{
		"completed": func(c *once.Claim, ctx context.Context) error { return c.Complete(ctx, nil) },
		"released":  (*once.Claim).Release,
		"unknown":   (*once.Claim).Unknown,
		"left":      func(*once.Claim, context.Context) error { return nil },
	} {
		must(t, end(take(t, w.Claims, name), t.Context()))
	}
	w.clock.Advance(pastLease)
	take(t, w.Claims, "running")

	all, _, err := w.Unsettled(t.Context(), w.clock.Now(), "", 10)
	must(t, err)

	found := map[string]bool{}
	for _, r := range all {
		found[r.Key] = true
	}

	if len(found) != 2 || !found["unknown"] || !found["left"] {
		t.Errorf("%v", found)
	}
}
