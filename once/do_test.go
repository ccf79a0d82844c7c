package once_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"ratchet/once"
)

// work counts its calls.
type work struct {
	calls  int
	result []byte
	err    error
}

func (w *work) do(context.Context, *once.Claim) ([]byte, error) {
	w.calls++
	return w.result, w.err
}

var (
	errDeclined = errors.New("card declined")
	errFunds    = &fundsError{Missing: 7}
)

type fundsError struct{ Missing int }

func (e *fundsError) Error() string { return fmt.Sprintf("%d missing", e.Missing) }

func TestPoint22_TheErrorOfTheWorkDecidesAboutTheKey(t *testing.T) {
	w := newWatchedClaims(t, func(c *once.Config) {
		c.Failures = map[string]error{"Declined": errDeclined, "Funds": errFunds}
	})
	t.Run("retryable: released", func(t *testing.T) {
		job := &work{err: errors.New("busy")}
		for range 2 {
			if _, replayed, err := w.Do(t.Context(), "busy", payload, job.do); err == nil || replayed {
				t.Errorf("%v %t", err, replayed)
			}
		}

		if job.calls != 2 {
			t.Errorf("%d calls", job.calls)
		}
	})
	t.Run("final: replayed with its identity", func(t *testing.T) {
		for name, want := range map[string]error{"registered": fmt.Errorf("charge: %w", errDeclined), "registered type": fmt.Errorf("charge: %w", errFunds),
			"coded": once.Fail("Closed", errors.New("account closed"))} {
			job := &work{err: want}
			for i := range 3 {
				_, replayed, err := w.Do(t.Context(), name, payload, job.do)
				var f *once.Failure
				if !errors.As(err, &f) || replayed != (i > 0) || f.Message != want.Error() {
					t.Fatalf("%s, call %d: %v (%+v), replayed %t", name, i, err, f, replayed)
				}

				var funds *fundsError
				switch name {
				case "registered":
					if !errors.Is(err, errDeclined) {
						t.Errorf("call %d: errors.Is must find the error: %v", i, err)
					}
				case "registered type":
					if !errors.As(err, &funds) || funds.Missing != 7 {
						t.Errorf("call %d: errors.As must find the error: %v", i, err)
					}
				default:
					if !errors.Is(err, &once.Failure{Code: "Closed"}) || errors.Is(err, &once.Failure{Code: "Declined"}) {
						t.Errorf("call %d: failures with equal codes must be equal: %v", i, err)
					}
				}
			}

			if job.calls != 1 {
				t.Errorf("%s: %d calls", name, job.calls)
			}
		}
	})
	t.Run("ambiguous: only a reconciler moves it", func(t *testing.T) {
		job := &work{err: fmt.Errorf("gateway: %w", once.ErrAmbiguous)}
		if _, _, err := w.Do(t.Context(), "lost", payload, job.do); !errors.Is(err, once.ErrAmbiguous) {
			t.Fatal(err)
		}
		w.clock.Advance(365 * 24 * time.Hour)
		refused(t, w.Claims, "lost", once.ErrUnknownOutcome)
		var asked []string
		answer := once.Resolution{}

		asking := w.with(t, func(c *once.Config) {
			c.Reconcile = func(_ context.Context, r once.Record) (once.Resolution, error) {
				asked = append(asked, r.Key)
				return answer, nil
			}
		})
		if _, _, err := asking.Do(t.Context(), "lost", payload, job.do); !errors.Is(err, once.ErrUnknownOutcome) {
			t.Errorf("an outcome that the reconciler does not know: %v", err)
		}
		answer = once.Resolution{Status: once.StatusCompleted, Result: []byte("charged")}

		got, replayed, err := asking.Do(t.Context(), "lost", payload, job.do)
		if string(got) != "charged" || !replayed || err != nil {
			t.Errorf("%q %t %v", got, replayed, err)
		}

		if job.calls != 1 || len(asked) != 2 {
			t.Errorf("%d calls, the reconciler was asked %v", job.calls, asked)
		}
	})
}

// The text of a failure is its message, or its code if it has none.
func TestTheTextOfAFailure(t *testing.T) {
	for text, err := range map[string]error{
		"account closed": once.Fail("Closed", errors.New("account closed")),
		"Closed":         once.Fail("Closed", nil),
	} {
		if err.Error() != text {
			t.Errorf("%q, want %q", err, text)
		}
	}
}

func TestPoint23_AClaimIsEndedEvenIfItsCallerIsCanceled(t *testing.T) {
	w := newWatchedClaims(t)
	t.Run("canceled during the work", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		_, _, err := w.Do(ctx, "canceled", payload, func(ctx context.Context, _ *once.Claim) ([]byte, error) {
			cancel()
			return nil, ctx.Err()
		})
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		take(t, w.Claims, "canceled")
	})
	t.Run("canceled, and the work was done", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		_, _, err := w.Do(ctx, "done", payload, func(context.Context, *once.Claim) ([]byte, error) {
			cancel()
			return []byte("done"), nil
		})
		if got := take(t, w.Claims, "done"); err != nil || string(got.Result) != "done" {
			t.Errorf("%q, %v", got.Result, err)
		}
	})
	t.Run("canceled while the claim was on its way", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		w.cancelWithAnswer(cancel)

		if _, err := w.Claim(ctx, "sent", payload); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		take(t, w.Claims, "sent")
	})
	t.Run("a panic", func(t *testing.T) {
		func() {
			defer func() {
				if recover() != "broken" {
					t.Error("the panic was swallowed")
				}
			}()
			_, _, _ = w.Do(t.Context(), "panic", payload, func(context.Context, *once.Claim) ([]byte, error) { panic("broken") })
		}()
		take(t, w.Claims, "panic")
	})
	t.Run("a panic that may have had its effect", func(t *testing.T) {
		careful := w.with(t, func(c *once.Config) { c.ExpiredIsUnknown = true })
		func() {
			defer func() { _ = recover() }()
			_, _, _ = careful.Do(t.Context(), "careful", payload, func(context.Context, *once.Claim) ([]byte, error) { panic("broken") })
		}()
		refused(t, careful, "careful", once.ErrUnknownOutcome)
	})
}

func TestUnderExpiredIsUnknownAnEndedLeaseIsAnUnknownOutcome(t *testing.T) {
	w := newWatchedClaims(t, func(c *once.Config) { c.ExpiredIsUnknown = true })
	held := take(t, w.Claims, "k")
	w.clock.Advance(time.Hour + 2*time.Second) // the retention must not free it
	refused(t, w.Claims, "k", once.ErrUnknownOutcome)

	if err := held.Complete(t.Context(), nil); !errors.Is(err, once.ErrStaleOwner) {
		t.Errorf("the former holder: %v", err)
	}

	r, _, err := w.Get(t.Context(), "k")
	if err != nil || r.Status != once.StatusUnknown || !r.ExpiresAt.IsZero() {
		t.Fatalf("%+v, %v", r, err)
	}

	if err := w.Resolve(t.Context(), r, once.Resolution{Status: once.StatusReleased}); err != nil {
		t.Fatal(err)
	}

	if err := w.Resolve(t.Context(), r, once.Resolution{Status: once.StatusReleased}); err != nil {
		t.Errorf("the same resolution again: %v", err)
	}
	take(t, w.Claims, "k")

	if err := w.Resolve(t.Context(), r, once.Resolution{Status: once.StatusReleased}); !errors.Is(err, once.ErrStaleOwner) {
		t.Errorf("a resolution of a record that has changed: %v", err)
	}
}

func TestPoint25_AfterTheRetentionAKeyIsFreeAndItsFenceGrows(t *testing.T) {
	w := newWatchedClaims(t)
	first := take(t, w.Claims, "k")
	if err := first.Complete(t.Context(), []byte("old")); err != nil {
		t.Fatal(err)
	}
	w.clock.Advance(time.Hour)

	if got := take(t, w.Claims, "k"); got.Outcome != once.Replayed {
		t.Errorf("within the retention: %s", got.Outcome)
	}
	w.clock.Advance(time.Second)

	again, err := w.Claim(t.Context(), "k", []byte("new payload"))
	if err != nil || again.Outcome != once.Acquired || again.Fence() != first.Fence()+1 {
		t.Fatalf("%+v, %v", again, err)
	}

	if err := again.Complete(t.Context(), nil); err != nil {
		t.Fatal(err)
	}

	if got, err := w.Claim(t.Context(), "k", []byte("new payload")); err != nil || got.Result != nil {
		t.Errorf("the new record must not contain the old result: %+v, %v", got, err)
	}
}

func TestTheLeaseIsExtendedWhileTheWorkRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWatchedClaims(t, func(c *once.Config) { c.Lease, c.Heartbeat, c.Now = 2*time.Second, true, time.Now })
		w.service.clock = nil

		_, _, err := w.Do(t.Context(), "k", payload, func(ctx context.Context, c *once.Claim) ([]byte, error) {
			until := func() time.Time { r, _, _ := w.Get(t.Context(), "k"); return r.LeaseUntil }
			first := until()
			for !until().After(first) {
				if err := ctx.Err(); err != nil {
					return nil, err
				}
				time.Sleep(10 * time.Millisecond)
			}

			return nil, nil
		})
		if err != nil {
			t.Error(err)
		}

		_, _, err = w.Do(t.Context(), "lost", payload, func(ctx context.Context, c *once.Claim) ([]byte, error) {
			r, _, err := w.Get(t.Context(), "lost")
			if err == nil {
				err = w.ForceRelease(t.Context(), r, "ops", "test")
			}

			if err != nil {
				return nil, err
			}
			<-ctx.Done()

			return nil, context.Cause(ctx)
		})
		if !errors.Is(err, once.ErrStaleOwner) {
			t.Errorf("the caller must learn that the claim was lost: %v", err)
		}
	})
}

func TestWithoutAHeartbeatTheWorkEndsWithTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWatchedClaims(t)
		_, _, err := w.Do(t.Context(), "k", payload, func(ctx context.Context, _ *once.Claim) ([]byte, error) {
			end, ok := ctx.Deadline()
			if left := time.Until(end); !ok || left > time.Minute || left < 50*time.Second {
				t.Errorf("the work has %s left", left)
			}

			return nil, nil
		})
		if err != nil {
			t.Error(err)
		}

		short := w.with(t, func(c *once.Config) { c.Lease = time.Millisecond })
		_, _, err = short.Do(t.Context(), "short", payload, func(ctx context.Context, _ *once.Claim) ([]byte, error) {
			<-ctx.Done()
			return nil, context.Cause(ctx)
		})
		if !errors.Is(err, once.ErrLeaseExpired) {
			t.Errorf("%v", err)
		}
	})
}

// Only an unknown outcome is the reconciler's business.
func TestTheReconcilerIsAskedAboutUnknownOutcomesOnly(t *testing.T) {
	w := newWatchedClaims(t)
	asking := w.with(t, func(c *once.Config) {
		c.Reconcile = func(context.Context, once.Record) (once.Resolution, error) {
			t.Error("asked")
			return once.Resolution{Status: once.StatusReleased}, nil
		}
	})
	take(t, w.Claims, "held")

	if _, _, err := asking.Do(t.Context(), "held", payload, (&work{}).do); !errors.Is(err, once.ErrInProgress) {
		t.Error(err)
	}
	must(t, take(t, w.Claims, "unknown").Unknown(t.Context()))

	if _, _, err := w.Do(t.Context(), "unknown", payload, (&work{}).do); !errors.Is(err, once.ErrUnknownOutcome) {
		t.Errorf("without a reconciler: %v", err)
	}
}

// The lease of work that has a deadline ends soon after it, so that others need not wait.
func TestTheLeaseIsNoLongerThanTheWorkCanTake(t *testing.T) {
	for about, row := range map[string]struct{ deadline, want time.Duration }{
		"a near deadline": {20 * time.Second, 30 * time.Second},
		"a far deadline":  {time.Hour, time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWatchedClaims(t, func(c *once.Config) { c.Now = time.Now })
			w.service.clock = nil
			ctx, cancel := context.WithTimeout(t.Context(), row.deadline)
			defer cancel()

			_, _, err := w.Do(ctx, "k", payload, func(context.Context, *once.Claim) ([]byte, error) {
				if r := w.stored(t, "k"); r.LeaseUntil.Sub(r.ClaimedAt) != row.want {
					t.Errorf("%s: a lease of %s", about, r.LeaseUntil.Sub(r.ClaimedAt))
				}

				return nil, nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// The work's context ends with the work. The work's result is returned even if the work has
// ended its claim itself.
func TestTheContextOfTheWorkEndsWithIt(t *testing.T) {
	w := newWatchedClaims(t)
	var work context.Context

	_, _, err := w.Do(t.Context(), "k", payload, func(ctx context.Context, c *once.Claim) ([]byte, error) {
		work = ctx
		return nil, errors.Join(c.Release(ctx), errFarSide)
	})
	if !errors.Is(err, errFarSide) || work.Err() == nil {
		t.Errorf("%v, the work's context: %v", err, work.Err())
	}
}
