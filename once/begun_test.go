package once_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"ratchet/embedded/embeddedtest"
	"ratchet/once"
	"ratchet/once/keys"
)

// pastLease is long enough for another machine to take the key over.
const pastLease = time.Minute + 2*time.Second

var errFarSide = errors.New("the far side does not answer")

// The first holder may have had an effect before it died. Until that is found out, every
// later holder must hear of it, whatever became of the holders in between.
func TestWorkThatMayHaveBegunIsNotForgotten(t *testing.T) {
	for _, test := range []struct {
		about string
		// between runs after the first holder has died.
		between func(t *testing.T, w *watchedClaims)
	}{
		{about: "the second looks first, and the far side fails", between: func(t *testing.T, w *watchedClaims) {
			_, _, err := w.Do(t.Context(), "k", payload, func(_ context.Context, c *once.Claim) ([]byte, error) {
				if c.Outcome != once.TakenOver {
					t.Errorf("the second is %s", c.Outcome)
				}

				return nil, errFarSide
			})
			if !errors.Is(err, errFarSide) {
				t.Error(err)
			}
		}},
		{about: "the second is canceled while it takes over", between: func(t *testing.T, w *watchedClaims) {
			ctx, cancel := context.WithCancel(t.Context())
			updates := 0
			w.transport.After(func(c *embeddedtest.Call) error {
				if !c.Is("UpdateItem") {
					return nil
				}

				if updates++; updates != 2 {
					return nil
				}
				w.transport.Clear()
				cancel()

				return context.Canceled
			})

			if _, err := w.Claim(ctx, "k", payload); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		}},
		{about: "two more release the key", between: func(t *testing.T, w *watchedClaims) {
			for range 2 {
				if err := take(t, w.Claims, "k").Release(t.Context()); err != nil {
					t.Error(err)
				}
			}
		}},
		{about: "the answer to the release is lost", between: func(t *testing.T, w *watchedClaims) {
			second := take(t, w.Claims, "k")
			w.loseAnswers(1)
			defer w.transport.Clear()

			if err := second.Release(t.Context()); err != nil {
				t.Error(err)
			}
		}},
		{about: "the second releases by its ticket", between: func(t *testing.T, w *watchedClaims) {
			resumed, err := w.Resume("k", take(t, w.Claims, "k").Ticket())
			if err != nil || resumed.Outcome != once.TakenOver {
				t.Fatalf("%+v, %v", resumed, err)
			}

			if err := errors.Join(resumed.Extend(t.Context()), resumed.Release(t.Context())); err != nil {
				t.Error(err)
			}
		}},
		{about: "the second dies, too", between: func(t *testing.T, w *watchedClaims) {
			second := take(t, w.Claims, "k")
			if err := second.Extend(t.Context()); err != nil {
				t.Error(err)
			}
		}},
		{about: "an operator frees the key", between: func(t *testing.T, w *watchedClaims) {
			r, _, err := w.Get(t.Context(), "k")
			if err != nil {
				t.Fatal(err)
			}

			if err := w.ForceRelease(t.Context(), r, "op", "stuck"); err != nil {
				t.Error(err)
			}
		}},
	} {
		t.Run(test.about, func(t *testing.T) {
			w := newWatchedClaims(t)
			take(t, w.Claims, "k") // has its effect, and dies
			w.clock.Advance(pastLease)
			test.between(t, w)

			w.clock.Advance(48 * time.Hour) // longer than the retention

			r, _, err := w.Get(t.Context(), "k")
			if err != nil || !r.MayHaveBegun || !r.ExpiresAt.IsZero() {
				t.Errorf("the record may be deleted: %+v, %v", r, err)
			}

			if _, _, err := w.DoInTransaction(t.Context(), "k", payload, nil, debit("a", 4)); !errors.Is(err, once.ErrUnknownOutcome) {
				t.Errorf("a transaction cannot look first, and must be refused: %v", err)
			}

			if next := take(t, w.Claims, "k"); next.Outcome != once.TakenOver {
				t.Errorf("the next holder is %s", next.Outcome)
			}
		})
	}
}

// A holder that has seen its own work fail says so by Release. Nothing else does.
func TestWorkThatDidNotReturnMayHaveBegun(t *testing.T) {
	w := newWatchedClaims(t)

	func() {
		defer func() { _ = recover() }()
		_, _, _ = w.Do(t.Context(), "panic", payload, func(context.Context, *once.Claim) ([]byte, error) { panic("halfway") })
	}()

	if got := take(t, w.Claims, "panic"); got.Outcome != once.TakenOver {
		t.Errorf("after a panic the next holder is %s", got.Outcome)
	}

	if _, err := w.ClaimAs(t.Context(), "request", "repeat", payload); err != nil { // works, and dies
		t.Fatal(err)
	}

	again, err := w.ClaimAs(t.Context(), "request", "repeat", payload)
	if err != nil {
		t.Fatal(err)
	}

	if err := again.Release(t.Context()); err != nil {
		t.Fatal(err)
	}

	if got := take(t, w.Claims, "repeat"); got.Outcome != once.TakenOver {
		t.Errorf("after the release by a repeat the next holder is %s", got.Outcome)
	}

	if err := take(t, w.Claims, "failed").Release(t.Context()); err != nil {
		t.Fatal(err)
	}

	if got := take(t, w.Claims, "failed"); got.Outcome != once.Acquired {
		t.Errorf("after a release by the only holder the next one is %s", got.Outcome)
	}
}

// What became of the work is known from a completion, a final failure, or a resolution.
func TestWorkThatMayHaveBegunIsResolved(t *testing.T) {
	found := func(t *testing.T, w *watchedClaims) once.Record {
		t.Helper()

		page, _, err := w.Unsettled(t.Context(), w.clock.Now(), "", 10)
		if err != nil || len(page) != 1 || !page[0].MayHaveBegun || page[0].Status != once.StatusReleased {
			t.Fatalf("unsettled: %+v, %v", page, err)
		}

		return page[0]
	}

	for _, test := range []struct {
		about string
		end   func(t *testing.T, w *watchedClaims) error
		want  error // of the next claim
	}{
		{about: "a resolution that there was no effect", end: func(t *testing.T, w *watchedClaims) error {
			r := found(t, w)
			w.loseAnswers(1)
			defer w.transport.Clear()

			return w.Resolve(t.Context(), r, once.Resolution{Status: once.StatusReleased})
		}},
		{about: "a resolution that it failed", want: &once.Failure{Code: "Closed"}, end: func(t *testing.T, w *watchedClaims) error {
			return w.Resolve(t.Context(), found(t, w), once.Resolution{Status: once.StatusFailed, Failure: &once.Failure{Code: "Closed"}})
		}},
		{about: "a sweep", end: func(t *testing.T, w *watchedClaims) error {
			swept, err := w.with(t, func(c *once.Config) {
				c.Reconcile = func(context.Context, once.Record) (once.Resolution, error) {
					return once.Resolution{Status: once.StatusReleased}, nil
				}
			}).Sweep(t.Context(), time.Minute)
			if swept.Moved != 1 {
				t.Errorf("%+v", swept)
			}

			return err
		}},
		{about: "a completion, after its retention", end: func(t *testing.T, w *watchedClaims) error {
			err := take(t, w.Claims, "k").Complete(t.Context(), nil)
			w.clock.Advance(2 * time.Hour)

			return err
		}},
		{about: "a final failure, after its retention", end: func(t *testing.T, w *watchedClaims) error {
			err := take(t, w.Claims, "k").Fail(t.Context(), &once.Failure{Code: "Closed"})
			w.clock.Advance(2 * time.Hour)

			return err
		}},
	} {
		t.Run(test.about, func(t *testing.T) {
			w := newWatchedClaims(t)
			take(t, w.Claims, "k")
			w.clock.Advance(pastLease)

			if err := take(t, w.Claims, "k").Release(t.Context()); err != nil {
				t.Fatal(err)
			}

			if err := test.end(t, w); err != nil {
				t.Fatal(err)
			}

			if r, _, err := w.Get(t.Context(), "k"); err != nil || r.MayHaveBegun || r.ExpiresAt.IsZero() {
				t.Errorf("the record stays: %+v, %v", r, err)
			}

			if test.want != nil {
				refused(t, w.Claims, "k", test.want)
			} else if next := take(t, w.Claims, "k"); next.Outcome != once.Acquired {
				t.Errorf("the next holder is %s", next.Outcome)
			}
		})
	}
}

func TestAKeyWithAnEndOutlivesItsRecordInNoCase(t *testing.T) {
	w := newWatchedClaims(t)
	expiring := w.with(t, func(c *once.Config) { c.KeysExpire = true })

	key, err := keys.Expiring("coupon", "o-1", w.clock.Now().Add(24*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	take(t, expiring, key)
	w.clock.Advance(pastLease)

	if err := take(t, expiring, key).Release(t.Context()); err != nil {
		t.Fatal(err)
	}

	if r, _, err := w.Get(t.Context(), key); err != nil || r.ExpiresAt.Before(w.clock.Now().Add(23*time.Hour)) {
		t.Errorf("kept until %s, %v", r.ExpiresAt, err)
	}

	if next := take(t, expiring, key); next.Outcome != once.TakenOver {
		t.Errorf("the next holder is %s", next.Outcome)
	}
	w.clock.Advance(24 * time.Hour)
	refused(t, expiring, key, once.ErrKeyExpired)
}

// A fence must not fall when TTL deletes the record, however fast the key was claimed.
func TestFencesGrowAcrossDeletions(t *testing.T) {
	w := newWatchedClaims(t, func(c *once.Config) { c.Lease, c.Retention = time.Second, 2*time.Second })

	var last int64
	for range 3 {
		for range 20 {
			claim := take(t, w.Claims, "k")
			if claim.Fence() <= last {
				t.Fatalf("fence %d after %d", claim.Fence(), last)
			}
			last = claim.Fence()

			if err := claim.Release(t.Context()); err != nil {
				t.Fatal(err)
			}
			w.clock.Advance(time.Millisecond)
		}
		w.clock.Advance(4 * time.Second)
		w.sweep(t, "k")
	}
}

// A repeat may ask for another lease. It gets the claim as it is, and so the same ticket.
func TestARepeatedRequestGetsTheLeaseOfItsClaim(t *testing.T) {
	w := newWatchedClaims(t)
	first, err := w.ClaimAs(t.Context(), "request", "k", payload)
	if err != nil {
		t.Fatal(err)
	}
	w.clock.Advance(20 * time.Second)

	longer := w.with(t, func(c *once.Config) { c.Lease = 30 * time.Minute })
	for _, extended := range []bool{false, true} {
		if extended {
			if err := first.Extend(t.Context()); err != nil {
				t.Fatal(err)
			}
		}

		again, err := longer.ClaimAs(t.Context(), "request", "k", payload)
		// The repeat's ticket says that the work may have begun.
		if err != nil || again.Ticket() != first.Ticket()+".t" {
			t.Errorf("the repeat has another claim: %s, want %s, %v", string(again.Ticket()), string(first.Ticket()), err)
		}
	}
}

// Two sendings of one request share a claim. The first comes from a machine with a wrong clock. It must
// not take the claim away from the second, which may have begun the work.
func TestASendingWithAWrongClockLeavesTheClaimToTheOther(t *testing.T) {
	for about, work := range map[string]func(*once.Claim, context.Context) error{
		"works":    func(*once.Claim, context.Context) error { return nil },
		"has done": func(c *once.Claim, ctx context.Context) error { return c.Complete(ctx, []byte("done")) },
	} {
		for _, off := range wrong {
			w := newWatchedClaims(t)
			w.transport.After(func(c *embeddedtest.Call) error {
				if !c.Is("UpdateItem") {
					return nil
				}
				w.transport.Clear()

				other, err := w.ClaimAs(t.Context(), "request", "k", payload)
				if err != nil || other.Outcome != once.TakenOver {
					t.Errorf("%s: %+v, %v", about, other, err)
				}
				must(t, work(other, t.Context()))

				if r := w.stored(t, "k"); !near(r.LeaseUntil, w.clock.Now().Add(time.Minute)) {
					t.Errorf("%s, %s off: the lease ends at %s", about, off, r.LeaseUntil)
				}

				return nil
			})

			if _, err := w.machine(t, off).ClaimAs(t.Context(), "request", "k", payload); err != nil {
				t.Errorf("%s: %v", about, err)
			}

			w.clock.Advance(pastLease + 2*time.Second) // for the precision of a Date

			if next := take(t, w.Claims, "k"); next.Outcome == once.Acquired {
				t.Errorf("%s: the next caller does not hear of it", about)
			}
		}
	}
}

// What a canceled call undoes, however late, is its own claim, and not what has become of it.
func TestALateUndoDoesNotUndoAResolution(t *testing.T) {
	w := newWatchedClaims(t)
	ctx, cancel := context.WithCancel(t.Context())
	w.cancelWithAnswer(func() {
		cancel()
		w.beforeWrite(1, func() {
			w.clock.Advance(pastLease)
			must(t, w.Resolve(t.Context(), w.stored(t, "k"), once.Resolution{Status: once.StatusCompleted, Result: []byte("done")}))
		})
	})

	if _, err := w.Claim(ctx, "k", payload); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}

	if got := take(t, w.Claims, "k"); string(got.Result) != "done" {
		t.Errorf("%+v", got)
	}
}
