package once_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"ratchet/embedded/embeddedtest"
	"ratchet/once"
)

// beating returns claims with a heartbeat. It runs in a synctest bubble.
func beating(t *testing.T) *watchedClaims {
	w := newWatchedClaims(t, func(c *once.Config) { c.Heartbeat, c.Now = true, time.Now })
	w.service.clock = nil
	return w
}

func TestDoneWorkIsCompletedIfAnOutageEndsWithinTheExtendedLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := beating(t)
		runs := 0

		do := func() ([]byte, bool, error) {
			return w.Do(t.Context(), "k", payload, func(context.Context, *once.Claim) ([]byte, error) {
				runs++
				time.Sleep(90 * time.Second) // beyond the first lease, which is a minute
				began := time.Now()
				w.transport.Inject(embeddedtest.LoseRequest().With(errOutage).If(func(*embeddedtest.Call) bool {
					return time.Since(began) < 10*time.Second
				}))

				return []byte("done"), nil
			})
		}
		if got, replayed, err := do(); string(got) != "done" || replayed || err != nil {
			t.Errorf("%q %t %v", got, replayed, err)
		}

		if got, replayed, err := do(); string(got) != "done" || !replayed || err != nil || runs != 1 {
			t.Errorf("again: %q %t %v, %d runs", got, replayed, err, runs)
		}
	})
}

func TestAnExtensionByTheWorkItselfCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWatchedClaims(t, func(c *once.Config) { c.Now = time.Now })
		w.service.clock = nil

		_, _, err := w.Do(t.Context(), "k", payload, func(ctx context.Context, c *once.Claim) ([]byte, error) {
			time.Sleep(40 * time.Second)
			err := c.Extend(ctx)
			time.Sleep(40 * time.Second)
			w.transport.Inject(embeddedtest.LoseRequest().With(errOutage).Next(4))

			return nil, err
		})
		if err != nil {
			t.Error(err)
		}
	})
}

func TestAHeartbeatEndsWithAPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := beating(t)
		var work context.Context
		func() {
			defer func() { _ = recover() }()
			_, _, _ = w.Do(t.Context(), "k", payload, func(ctx context.Context, _ *once.Claim) ([]byte, error) {
				work = ctx
				panic("broken")
			})
		}()

		if work.Err() == nil {
			t.Error("the work's context must end")
		}
		w.calls()
		time.Sleep(time.Hour)

		if sent := w.calls(); len(sent) > 0 {
			t.Errorf("the heartbeat must end: %v", sent)
		}
	})
}

func TestAnOutageLongerThanTheLeaseIsReturned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := beating(t)
		_, _, err := w.Do(t.Context(), "k", payload, func(ctx context.Context, _ *once.Claim) ([]byte, error) {
			time.Sleep(90 * time.Second)
			w.outage()
			<-ctx.Done()
			return []byte("done"), context.Cause(ctx)
		})
		if !errors.Is(err, once.ErrLeaseExpired) || !errors.Is(err, errOutage) {
			t.Errorf("%v", err)
		}
	})
}

// A claim under a heartbeat stays its holder's for as long as the work takes: the lease is
// extended after each third of it, and an extension without an answer is made up for.
func TestAHeartbeatKeepsTheClaimForAsLongAsTheWorkTakes(t *testing.T) {
	for about, row := range map[string]struct {
		fault embeddedtest.Fault
		calls int
	}{
		"every extension is answered": {calls: 30},
		// Each extension after the first meets the fault, and is sent again.
		"every second call is lost":         {embeddedtest.LoseRequest("UpdateItem").With(errOutage).EveryNth(2), 59},
		"every extension takes ten seconds": {embeddedtest.Delay(10*time.Second, "UpdateItem"), 30},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := beating(t)

			_, _, err := w.Do(t.Context(), "k", payload, func(ctx context.Context, _ *once.Claim) ([]byte, error) {
				w.calls()
				faults := w.transport.Inject(row.fault)
				time.Sleep(10*time.Minute + time.Second)
				faults.Remove()

				if sent := w.calls(); len(sent) != row.calls {
					t.Errorf("%s: %d calls in 30 thirds of the lease, want %d", about, len(sent), row.calls)
				}
				refused(t, w.Claims, "k", once.ErrInProgress)

				return nil, ctx.Err()
			})
			if err != nil {
				t.Errorf("%s: %v", about, err)
			}
		})
	}
}

// The work learns at the next heartbeat that its claim is lost, and the heartbeat ends.
func TestAHeartbeatTellsTheWorkThatItsClaimIsLost(t *testing.T) {
	for _, test := range []struct {
		about string
		lose  func(t *testing.T, w *watchedClaims, jump *embeddedtest.Clock)
		want  error
	}{
		{"an operator has freed the key", func(t *testing.T, w *watchedClaims, _ *embeddedtest.Clock) {
			must(t, w.ForceRelease(t.Context(), w.stored(t, "k"), "ada", "stuck"))
		}, once.ErrStaleOwner},
		{"this machine's clock has jumped beyond the lease", func(_ *testing.T, _ *watchedClaims, jump *embeddedtest.Clock) {
			jump.Advance(time.Hour)
		}, once.ErrLeaseExpired},
	} {
		synctest.Test(t, func(t *testing.T) {
			var jump embeddedtest.Clock
			w := newWatchedClaims(t, func(c *once.Config) {
				c.Heartbeat, c.Now = true, func() time.Time { return time.Now().Add(jump.Now().Sub(embeddedtest.Start)) }
			})
			w.service.clock = nil

			_, _, err := w.Do(t.Context(), "k", payload, func(ctx context.Context, _ *once.Claim) ([]byte, error) {
				test.lose(t, w, &jump)
				began := time.Now()
				<-ctx.Done()

				if took := time.Since(began); took != 20*time.Second {
					t.Errorf("%s: told after %s", test.about, took)
				}
				w.calls()
				time.Sleep(time.Minute)

				if sent := w.calls(); len(sent) > 0 {
					t.Errorf("%s: the heartbeat goes on: %v", test.about, sent)
				}

				return nil, context.Cause(ctx)
			})
			if !errors.Is(err, test.want) {
				t.Errorf("%s: %v", test.about, err)
			}
		})
	}
}

// Work may complete its claim itself and go on. The heartbeat then ends, and not the work.
func TestAHeartbeatEndsWithTheClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := beating(t)

		_, _, err := w.Do(t.Context(), "k", payload, func(ctx context.Context, c *once.Claim) ([]byte, error) {
			must(t, c.Complete(ctx, []byte("done")))
			w.calls()
			time.Sleep(59 * time.Second)

			if sent := w.calls(); !slices.Equal(sent, []string{"UpdateItem"}) {
				t.Errorf("extensions of a claim that has ended: %v", sent)
			}

			return []byte("done"), ctx.Err()
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// The rest of the lease is for the write that ends the claim.
func TestTheEndOfTheWorkCutsOffAnExtensionInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := beating(t)
		began := time.Now()

		_, _, err := w.Do(t.Context(), "k", payload, func(context.Context, *once.Claim) ([]byte, error) {
			w.transport.Inject(embeddedtest.Delay(time.Hour, "UpdateItem").Next(1))
			time.Sleep(21 * time.Second)

			return []byte("done"), nil
		})
		if took := time.Since(began); err != nil || took != 21*time.Second {
			t.Errorf("after %s: %v", took, err)
		}
	})
}
