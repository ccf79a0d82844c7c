package once_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ratchet/embedded/embeddedtest"
	"ratchet/once"
)

func TestPoint24_AWaitingCallerGivesUpWithoutWritingToTheRecord(t *testing.T) {
	w := newWatchedClaims(t)
	held := take(t, w.Claims, "k")
	before := w.record(t, "k")
	w.calls()

	if _, err := w.Waiting(100*time.Millisecond).Claim(t.Context(), "k", payload); !errors.Is(err, once.ErrInProgress) {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()

	if _, err := w.Waiting(time.Hour).Claim(ctx, "k", payload); !errors.Is(err, once.ErrInProgress) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the context must bound the waiting time: %v", err)
	}

	if n := slices.Collect(countOf(w.calls(), "UpdateItem")); len(n) != 2 {
		t.Errorf("%d writes, want one for each call", len(n))
	}

	if after := w.record(t, "k"); fmt.Sprint(numberOf(after["updatedAt"]), textOf(after["owner"])) != fmt.Sprint(numberOf(before["updatedAt"]), textOf(before["owner"])) {
		t.Error("the record was written to")
	}
	done := make(chan error, 1)
	go func() {
		got, err := w.Waiting(time.Minute).Claim(t.Context(), "k", payload)
		if err == nil && string(got.Result) != "r" {
			err = fmt.Errorf("result %q", got.Result)
		}
		done <- err
	}()

	if err := held.Complete(t.Context(), []byte("r")); err != nil {
		t.Fatal(err)
	}

	if err := <-done; err != nil {
		t.Errorf("a waiting caller must get the result: %v", err)
	}
}

func countOf(all []string, one string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for _, s := range all {
			if s == one && !yield(s) {
				return
			}
		}
	}
}

func TestAWaitingCallerTakesOverAndWaitersShareOneExecution(t *testing.T) {
	w := newWatchedClaims(t)
	take(t, w.Claims, "crashed")
	w.clock.Advance(time.Minute + 2*time.Second - time.Millisecond)
	go w.clock.Advance(time.Second)

	if got, err := w.Waiting(time.Minute).Claim(t.Context(), "crashed", payload); err != nil || got.Outcome != once.TakenOver {
		t.Errorf("%+v, %v", got, err)
	}

	job := &work{result: []byte("r")}
	results := make(chan string, 20)
	for range cap(results) {
		go func() {
			got, _, err := w.Waiting(time.Minute).Do(t.Context(), "shared", payload, job.do)
			results <- fmt.Sprint(string(got), err)
		}()
	}

	for range cap(results) {
		if got := <-results; got != "r<nil>" {
			t.Error(got)
		}
	}

	if job.calls != 1 {
		t.Errorf("%d calls", job.calls)
	}
}

func TestACallerThatHasWaitedHasTheWholeLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWatchedClaims(t, func(c *once.Config) {
			c.Lease, c.Now = 300*time.Millisecond, time.Now
			c.SetMargin(time.Millisecond)
		})
		w.service.clock = nil
		began := time.Now()
		take(t, w.Claims, "k")

		_, _, err := w.Waiting(time.Minute).Do(t.Context(), "k", payload, func(ctx context.Context, _ *once.Claim) ([]byte, error) {
			if end, _ := ctx.Deadline(); end.Sub(began) < 595*time.Millisecond { // the other lease and the whole of its own
				t.Errorf("the work ends %s after the other claim began", end.Sub(began))
			}
			return nil, once.Fail("Over", nil) // whether the claim ends in time does not matter here
		})
		if errors.Is(err, once.ErrInProgress) {
			t.Error(err)
		}
	})
}

// A waiting caller reads every second or two, and comes back when the lease ends.
func TestAWaitingCallerReadsSeldomAndComesBackInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWatchedClaims(t, func(c *once.Config) { c.Now = time.Now })
		w.service.clock = nil
		take(t, w.Claims, "k")
		began := time.Now()
		w.calls()

		got, err := w.Waiting(time.Hour).Claim(t.Context(), "k", payload)
		if err != nil || got.Outcome != once.TakenOver {
			t.Fatal(got, err)
		}

		if late := time.Since(began) - pastLease; late < 0 || late > 60*time.Millisecond {
			t.Errorf("%s after the lease has ended", late)
		}

		if n := w.transport.Count("GetItem"); n < 31 || n > 80 {
			t.Errorf("%d reads in a minute", n)
		}
	})
}

// A waiting caller gets what becomes of the key, also if that is an error.
func TestAWaitingCallerGetsTheErrorThatEndsItsWait(t *testing.T) {
	for about, test := range map[string]struct {
		meanwhile func(t *testing.T, w *watchedClaims, held *once.Claim)
		want      error
		text      string
	}{
		"the work fails for good": {func(t *testing.T, _ *watchedClaims, held *once.Claim) {
			must(t, held.Fail(t.Context(), &once.Failure{Code: "Closed"}))
		}, &once.Failure{Code: "Closed"}, "Closed"},
		"its outcome is unknown": {func(t *testing.T, _ *watchedClaims, held *once.Claim) {
			must(t, held.Unknown(t.Context()))
		}, once.ErrUnknownOutcome, "unknown"},
		"the record cannot be read": {func(_ *testing.T, w *watchedClaims, _ *once.Claim) {
			w.transport.Inject(embeddedtest.Answer("AccessDeniedException", "GetItem"))
		}, once.ErrInProgress, "AccessDenied"},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWatchedClaims(t, func(c *once.Config) { c.Now = time.Now })
			w.service.clock = nil
			held := take(t, w.Claims, "k")
			time.AfterFunc(5*time.Second, func() { test.meanwhile(t, w, held) })

			if _, err := w.Waiting(time.Hour).Claim(t.Context(), "k", payload); !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.text) {
				t.Errorf("%s: %v", about, err)
			}
		})
	}
}
