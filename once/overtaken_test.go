package once_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/embedded/embeddedtest"
	"ratchet/internal/dynamo"
	"ratchet/once"
	"ratchet/once/txn"
)

// beforeWrite runs do before the n-th UpdateItem from now on, once. The calls of do itself do
// not count.
func (w *watchedClaims) beforeWrite(n int, do func()) { w.beforeCall("UpdateItem", n, do) }

// beforeCall is beforeWrite for any operation.
func (w *watchedClaims) beforeCall(operation string, n int, do func()) {
	inside := false
	w.transport.Before(func(c *embeddedtest.Call) error {
		if !c.Is(operation) || inside {
			return nil
		}

		if n--; n == 0 {
			inside = true
			do()
			inside = false
		}

		return nil
	})
}

func must(t *testing.T, err error) {
	t.Helper()

	if err != nil {
		t.Fatal(err)
	}
}

// stored reads the record of the key.
func (w *watchedClaims) stored(t *testing.T, key string) once.Record {
	t.Helper()

	r, found, err := w.Get(t.Context(), key)
	if err != nil || !found {
		t.Fatal(found, err)
	}

	return r
}

// A call sees a claim whose lease has ended. Before it takes over, the claim changes.
func TestATakeoverThatIsOvertaken(t *testing.T) {
	for name, row := range map[string]struct {
		meanwhile func(t *testing.T, w *watchedClaims, former *once.Claim)
		want      error
	}{
		"the former holder, whose clock is behind, extends its lease": {func(t *testing.T, w *watchedClaims, former *once.Claim) {
			w.clock.Advance(-10 * time.Second)
			must(t, former.Extend(t.Context()))
			w.clock.Advance(10 * time.Second)
		}, once.ErrInProgress},
		"another call takes over": {func(t *testing.T, w *watchedClaims, _ *once.Claim) {
			take(t, w.Claims, "k")
		}, once.ErrInProgress},
		"the former holder, whose clock is behind, completes": {func(t *testing.T, w *watchedClaims, former *once.Claim) {
			w.clock.Advance(-pastLease)
			must(t, former.Complete(t.Context(), []byte("done")))
			w.clock.Advance(pastLease)
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWatchedClaims(t)
			former := take(t, w.Claims, "k")
			w.clock.Advance(pastLease)

			// The first write finds the record, the second takes over.
			w.beforeWrite(2, func() { row.meanwhile(t, w, former) })

			claim, err := w.Claim(t.Context(), "k", payload)
			if !errors.Is(err, row.want) || err == nil && (claim.Outcome != once.Replayed || string(claim.Result) != "done") {
				t.Errorf("%+v, %v, want %v", claim, err, row.want)
			}
		})
	}
}

// Two calls see the same released claim. The second to write must not get the fence of the
// first, which has released the key again.
func TestNoTwoClaimsHaveOneFence(t *testing.T) {
	w := newWatchedClaims(t)
	must(t, take(t, w.Claims, "k").Release(t.Context()))

	var first int64
	w.beforeWrite(2, func() {
		c := take(t, w.Claims, "k")
		first = c.Fence()
		must(t, c.Release(t.Context()))
	})

	if second := take(t, w.Claims, "k"); first == 0 || second.Fence() <= first {
		t.Errorf("fences %d and %d", first, second.Fence())
	}
}

// A call gives a claim whose lease ran out an unknown outcome. Before it does, the outcome
// is found out.
func TestAnOutcomeThatIsFoundOutMeanwhileStays(t *testing.T) {
	w := newWatchedClaims(t, func(c *once.Config) { c.ExpiredIsUnknown = true })
	take(t, w.Claims, "k")
	w.clock.Advance(pastLease)

	w.beforeWrite(2, func() {
		must(t, w.Resolve(t.Context(), w.stored(t, "k"), once.Resolution{Status: once.StatusCompleted, Result: []byte("done")}))
	})

	claim, err := w.Claim(t.Context(), "k", payload)
	if err != nil || claim.Outcome != once.Replayed || string(claim.Result) != "done" {
		t.Errorf("%+v, %v", claim, err)
	}
}

// A canceled call releases only its own claim.
func TestACanceledCallReleasesNoOtherClaim(t *testing.T) {
	w := newWatchedClaims(t)
	ctx, cancel := context.WithCancel(t.Context())
	var other *once.Claim

	inside := false
	w.transport.Before(func(c *embeddedtest.Call) error {
		if !c.Is("UpdateItem") || inside {
			return nil
		}

		if other == nil { // the request is lost, another call claims the key, and the caller leaves
			inside = true
			other = take(t, w.Claims, "k")
			inside = false
			cancel()

			return context.Canceled
		}

		return nil
	})

	if _, err := w.Claim(ctx, "k", payload); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}

	if r := w.stored(t, "k"); r.Status != once.StatusInProgress {
		t.Errorf("the claim of the other call is %s", r.Status)
	}
	must(t, other.Complete(t.Context(), nil))
}

// The first to resolve an outcome decides.
func TestTheFirstResolutionDecides(t *testing.T) {
	resolutions := map[string]once.Resolution{
		"released":  {Status: once.StatusReleased},
		"completed": {Status: once.StatusCompleted, Result: []byte("r")},
		"failed":    {Status: once.StatusFailed, Failure: &once.Failure{Code: "Closed"}},
		"another":   {Status: once.StatusCompleted, Result: []byte("s")},
	}
	for first, one := range resolutions {
		for second, two := range resolutions {
			w := newWatchedClaims(t)
			must(t, take(t, w.Claims, "k").Unknown(t.Context()))
			seen := w.stored(t, "k")
			must(t, w.Resolve(t.Context(), seen, one))

			want := once.ErrStaleOwner
			if first == second { // its answer was lost
				want = nil
			}

			if err := w.Resolve(t.Context(), seen, two); !errors.Is(err, want) {
				t.Errorf("%s, then %s: %v, want %v", first, second, err, want)
			}

			if r := w.stored(t, "k"); r.Status != one.Status || r.ResultBytes != int64(len(one.Result)) {
				t.Errorf("%s, then %s: %s", first, second, r.Status)
			}
		}
	}
}

// A claim that runs, or has ended, is not resolved.
func TestOnlyOpenOutcomesAreResolved(t *testing.T) {
	for name, end := range map[string]func(c *once.Claim, ctx context.Context) error{
		"running":   func(*once.Claim, context.Context) error { return nil },
		"released":  (*once.Claim).Release,
		"completed": func(c *once.Claim, ctx context.Context) error { return c.Complete(ctx, []byte("r")) },
	} {
		w := newWatchedClaims(t)
		c := take(t, w.Claims, "k")
		must(t, end(c, t.Context()))
		before := w.stored(t, "k")

		if err := w.Resolve(t.Context(), before, once.Resolution{Status: once.StatusFailed, Failure: &once.Failure{Code: "Closed"}}); !errors.Is(err, once.ErrStaleOwner) {
			t.Errorf("%s: %v", name, err)
		}

		if after := w.stored(t, "k"); after.Status != before.Status {
			t.Errorf("%s: %s", name, after.Status)
		}
	}
}

// An operator releases the record that was seen, and no later one.
func TestAForcedReleaseOfAnOldSightIsRefused(t *testing.T) {
	w := newWatchedClaims(t)
	c := take(t, w.Claims, "k")
	seen := w.stored(t, "k")
	must(t, c.Complete(t.Context(), []byte("r")))

	if err := w.ForceRelease(t.Context(), seen, "ada", "its worker is gone"); !errors.Is(err, once.ErrStaleOwner) {
		t.Error(err)
	}

	if r := w.stored(t, "k"); r.Status != once.StatusCompleted {
		t.Errorf("%s", r.Status)
	}

	// What has ended was no open work: the released record expires, and tells of nothing.
	must(t, w.ForceRelease(t.Context(), w.stored(t, "k"), "ada", "wrong result"))

	if r := w.stored(t, "k"); r.MayHaveBegun || r.ExpiresAt.IsZero() || !r.ExpiresAt.Equal(w.clock.Now().Add(time.Hour).Truncate(time.Second)) {
		t.Errorf("%+v", r)
	}
}

// Work that may run without a claim makes its transaction all the same.
func TestAnUntrackedClaimMakesItsTransaction(t *testing.T) {
	w := newWatchedClaims(t, func(c *once.Config) { c.FailOpen = true })
	w.transport.Inject(embeddedtest.Fault{On: []string{"UpdateItem"}, Err: errOutage})

	table := "once"
	_, _, err := w.Do(t.Context(), "k", payload, func(ctx context.Context, claim *once.Claim) ([]byte, error) {
		if claim.Outcome != once.Untracked {
			t.Error(claim.Outcome)
		}

		return nil, claim.CompleteIn(ctx, nil, func(tx *txn.Transaction) {
			tx.Add("effect", types.TransactWriteItem{Put: &types.Put{TableName: &table, Item: item{"idempotencyKey": dynamo.S("effect")}}}, nil)
		})
	})
	must(t, err)

	out, err := w.db.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &table, Key: item{"idempotencyKey": dynamo.S("effect")}})
	if err != nil || len(out.Item) == 0 {
		t.Errorf("the effect: %v, %v", out, err)
	}
}

// The names of operations and keys do not run together.
func TestOperationsAndKeysDoNotRunTogether(t *testing.T) {
	w := newWatchedClaims(t)
	if a, b := w.Ref("a"), w.Ref("b"); a == b || a == "" {
		t.Errorf("the references %q and %q", a, b)
	}
}
