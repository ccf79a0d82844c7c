package once_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ratchet/embedded/embeddedtest"
	"ratchet/once"
)

// A write that ends a claim is repeated while it has no answer: until the lease ends, since
// the next caller repeats the work after that, or for ten seconds once the caller has gone.
func TestTheEndOfAClaimIsRepeatedWhileItHasNoAnswer(t *testing.T) {
	for about, test := range map[string]struct {
		fault        embeddedtest.Fault
		callerLeaves bool
		// The call takes between least and most, and sends at least so many writes.
		least, most time.Duration
		writes      int
		want        error // nil: the claim is completed
	}{
		"it is answered":               {most: 0, writes: 1},
		"the third has an answer":      {fault: embeddedtest.LoseRequest().With(errOutage).Next(2), least: time.Microsecond, most: time.Second, writes: 3},
		"none has, and the lease ends": {fault: embeddedtest.LoseRequest().With(errOutage), least: 58 * time.Second, most: time.Minute + 5*time.Second, writes: 30, want: errOutage},
		// A write that has failed by the tenth second is followed by a pause of at most 2 s and another write, whose
		// eight attempts are at most 0.05, 0.1, 0.2, 0.4, 0.8, 1 and 1 s apart: 15.55 s in all.
		"none has, and the caller has gone": {fault: embeddedtest.LoseRequest().With(errOutage), callerLeaves: true,
			least: 10 * time.Second, most: 15_550 * time.Millisecond, writes: 8, want: errOutage},
		// So many that their waits, each of which is random from 0 on, take the second.
		"the caller has gone, and the last has an answer": {fault: embeddedtest.LoseRequest().With(errOutage).Next(24), callerLeaves: true,
			least: time.Second, most: 13 * time.Second, writes: 25},
		"one hangs":                    {fault: embeddedtest.Delay(time.Hour).Next(1), least: 10 * time.Second, most: 11 * time.Second, writes: 2},
		"each hangs":                   {fault: embeddedtest.Delay(time.Hour), least: 50 * time.Second, most: time.Minute + 10*time.Second, writes: 6, want: context.DeadlineExceeded},
		"it is answered with an error": {fault: embeddedtest.Answer("AccessDeniedException").Next(1), most: time.Second, writes: 2},
		"the service has no capacity":  {fault: embeddedtest.Throttle().Next(3), least: time.Millisecond, most: 2 * time.Second, writes: 4},
		"the claim is no longer there": {fault: embeddedtest.Answer("ConditionalCheckFailedException").Next(1), writes: 1, want: once.ErrStaleOwner},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWatchedClaims(t, func(c *once.Config) { c.Now = time.Now })
			w.service.clock = nil
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var ended time.Time

			_, _, err := w.Do(ctx, "k", payload, func(context.Context, *once.Claim) ([]byte, error) {
				w.calls()
				test.fault.On = []string{"UpdateItem"}
				w.transport.Inject(test.fault)

				if about == "the claim is no longer there" {
					w.sweep(t, "k")
				}

				if test.callerLeaves {
					cancel()
				}
				ended = time.Now()

				return []byte("done"), nil
			})
			if err != nil && strings.Contains(err.Error(), "%!") {
				t.Errorf("%s: the text is %q", about, err)
			}

			if took := time.Since(ended); !errors.Is(err, test.want) || took < test.least || took > test.most {
				t.Errorf("%s: after %s: %v", about, took, err)
			}

			if n := w.transport.Count("UpdateItem"); n < test.writes || test.writes < 4 && n != test.writes {
				t.Errorf("%s: %d writes, want %d", about, n, test.writes)
			}
			w.transport.Clear()

			if r, found, err := w.Get(t.Context(), "k"); test.want == nil && (err != nil || !found || r.Status != once.StatusCompleted) {
				t.Errorf("%s: %+v, %v", about, r, err)
			}
		})
	}
}
