package once_test

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"pgregory.net/rapid"

	"ratchet/embedded/embeddedtest"
	"ratchet/once"
	"ratchet/once/keys"
	"ratchet/once/txn"
)

// machine returns claims of another machine, whose clock is off the service's.
func (w *watchedClaims) machine(t testing.TB, off time.Duration, change ...func(*once.Config)) *once.Claims {
	return w.with(t, append(change, func(c *once.Config) { c.Now = func() time.Time { return w.clock.Now().Add(off) } })...)
}

func TestPoint16_AHolderCountsFromBeforeItsRequestAndAnObserverFromAfter(t *testing.T) {
	w := newWatchedClaims(t)
	// The request is slow: the clock moves on before it is carried out.
	sent := w.clock.Now()
	w.transport.Before(func(c *embeddedtest.Call) error {
		if c.Is("UpdateItem") {
			w.transport.Clear()
			w.clock.Advance(10 * time.Second)
		}

		return nil
	})

	held := take(t, w.Claims, "k")
	r, _, err := w.Get(t.Context(), "k")
	if err != nil || !r.LeaseUntil.Equal(sent.Add(time.Minute)) {
		t.Fatalf("lease until %s, %v", r.LeaseUntil, err)
	}
	w.clock.Advance(50 * time.Second)

	if err := held.Complete(t.Context(), nil); !errors.Is(err, once.ErrLeaseExpired) {
		t.Errorf("the lease must end a minute after the claim was sent: %v", err)
	}
}

// TestPoint17_NoTwoHoldWithinTheMargin draws two clocks and a moment around the end of the lease. The
// clocks are within the margin or, if answers state the service's time, wrong by hours.
func TestPoint17_NoTwoHoldWithinTheMargin(t *testing.T) {
	for about, row := range map[string]struct {
		dated bool
		most  int64 // ms that a clock is off
	}{"without a Date": {false, 1000}, "with a Date": {true, 3 * 3_600_000}} {
		w := newWatchedClaims(t)
		if !row.dated {
			w.service.clock = nil
		}

		n, takenOver := 0, 0
		try := func(rt rapid.TB, offA, offB, later time.Duration) {
			n++
			key := strconv.Itoa(n)
			a, b := w.machine(t, offA), w.machine(t, offB)
			end := w.clock.Now().Add(time.Minute) // by the holder's own measure, from before its request
			held := take(t, a, key)
			w.clock.Advance(later)

			second, err := b.Claim(t.Context(), key, payload)
			if errors.Is(err, once.ErrInProgress) {
				if later >= 66*time.Second {
					rt.Fatalf("%s: not taken over after %s", about, later)
				}

				return
			}

			if err != nil || second.Fence() != held.Fence()+1 {
				rt.Fatalf("%s: %+v, %v", about, second, err)
			}
			takenOver++

			if left := end.Sub(w.clock.Now()); left > 0 {
				rt.Fatalf("%s: taken over %s before its holder's own end", about, left)
			}
		}

		try(t, 0, 0, 58*time.Second)
		try(t, 0, 0, 66*time.Second)

		if takenOver != 1 {
			t.Fatalf("%s: %d of 2 were taken over, one of them late enough", about, takenOver)
		}

		rapid.Check(t, func(rt *rapid.T) {
			milliseconds := func(from, to int64, label string) time.Duration {
				return time.Duration(rapid.Int64Range(from, to).Draw(rt, label)) * time.Millisecond
			}
			try(rt, milliseconds(-row.most, row.most, "a"), milliseconds(-row.most, row.most, "b"), milliseconds(58_000, 68_000, "later"))
		})
	}
}

// wrong are differences of clocks from the service's.
var wrong = []time.Duration{-26 * time.Hour, -2 * time.Hour, -5 * time.Minute, -3 * time.Second, 3 * time.Second, 5 * time.Minute, 2 * time.Hour, 26 * time.Hour}

// near reports whether two times are as equal as a Date with whole seconds allows.
func near(a, b time.Time) bool { return a.Sub(b).Abs() <= 2*time.Second }

// What a machine with a wrong clock hears and stores is what a machine with the right one does, from its
// first call on.
func TestPoint17_AWrongClockChangesNothing(t *testing.T) {
	for _, off := range wrong {
		w := newWatchedClaims(t)
		must(t, take(t, w.Claims, "completed").Complete(t.Context(), []byte("r")))
		take(t, w.Claims, "left")
		take(t, w.with(t, func(c *once.Config) { c.ExpiredIsUnknown = true }), "careful")
		must(t, take(t, w.Claims, "begun").Release(t.Context()))
		w.clock.Advance(59 * time.Minute) // the retention is an hour
		held := take(t, w.Claims, "held")

		for key, want := range map[string]once.Outcome{
			"new": once.Acquired, "completed": once.Replayed, "left": once.TakenOver, "begun": once.Acquired,
		} {
			got, err := w.machine(t, off).Claim(t.Context(), key, payload)
			if err != nil || got.Outcome != want {
				t.Errorf("%s off, %s: %+v, %v", off, key, got, err)
				continue
			}

			r := w.stored(t, key)

			if want == once.Replayed {
				continue
			}

			if now := w.clock.Now(); !near(r.ClaimedAt, now) || !near(r.LeaseUntil, now.Add(time.Minute)) || want == once.Acquired && !near(r.ExpiresAt, now.Add(time.Hour)) {
				t.Errorf("%s off, %s: %+v", off, key, r)
			}

			if key == "new" && !near(time.UnixMicro(got.Fence()), w.clock.Now()) {
				t.Errorf("%s off: the fence is of %s", off, time.UnixMicro(got.Fence()))
			}
			must(t, got.Complete(t.Context(), nil))
		}

		// The first attempt has wrong times, and its answer is lost.
		w.loseAnswers(1)

		if lost := take(t, w.machine(t, off), "lost"); lost.Outcome != once.Acquired || !near(w.stored(t, "lost").LeaseUntil, w.clock.Now().Add(time.Minute)) || !near(time.UnixMicro(lost.Fence()), w.clock.Now()) {
			t.Errorf("%s off, after a lost answer: %+v", off, w.stored(t, "lost"))
		}
		w.loseAnswers(0)
		refused(t, w.machine(t, off), "held", once.ErrInProgress)
		refused(t, w.machine(t, off, func(c *once.Config) { c.ExpiredIsUnknown = true }), "careful", once.ErrUnknownOutcome)

		// The time to come back is by the clock of the caller.
		machine := w.machine(t, off)
		_, err := machine.Claim(t.Context(), "held", payload)
		if at, ok := once.RetryAt(err); !ok || !near(at, w.clock.Now().Add(off+62*time.Second)) {
			t.Errorf("%s off: come back at %s", off, at)
		}
		must(t, held.Complete(t.Context(), nil))

		w.clock.Advance(59 * time.Minute)

		if got := take(t, w.Claims, "new"); got.Outcome != once.Replayed {
			t.Errorf("%s off: the result is forgotten before its retention", off)
		}
		w.clock.Advance(time.Minute + 3*time.Second)

		if got := take(t, w.Claims, "new"); got.Outcome != once.Acquired {
			t.Errorf("%s off: the result is kept beyond its retention", off)
		}
	}
}

// A ticket is used by a process that has heard nothing from the service yet.
func TestAWrongClockChangesNoTicket(t *testing.T) {
	for _, off := range wrong {
		w := newWatchedClaims(t, func(c *once.Config) { c.Inline = 64 })
		resume := func(key string) *once.Claim {
			claim, err := w.machine(t, off, func(c *once.Config) { c.Inline = 64 }).Resume(key, take(t, w.Claims, key).Ticket())
			must(t, err)

			return claim
		}

		must(t, resume("extended").Extend(t.Context()))
		must(t, resume("completed").Complete(t.Context(), []byte("r")))
		must(t, resume("large").Complete(t.Context(), make([]byte, 1000)))
		must(t, resume("in").CompleteIn(t.Context(), nil, func(*txn.Transaction) {}))
		must(t, resume("released").Release(t.Context()))

		if r := w.stored(t, "extended"); !near(r.LeaseUntil, w.clock.Now().Add(time.Minute)) {
			t.Errorf("%s off: the lease ends at %s", off, r.LeaseUntil)
		}

		for _, key := range []string{"completed", "large", "in", "released"} {
			if r := w.stored(t, key); !near(r.ExpiresAt, w.clock.Now().Add(time.Hour)) {
				t.Errorf("%s off: %s is kept until %s", off, key, r.ExpiresAt)
			}
		}

		late := resume("late")
		w.clock.Advance(61 * time.Second)

		if err := late.Complete(t.Context(), nil); !errors.Is(err, once.ErrLeaseExpired) {
			t.Errorf("%s off: %v", off, err)
		}
	}
}

// The other ways to use a key compare and store ends, too. Each is the first call of its process.
func TestAWrongClockChangesNoOtherCall(t *testing.T) {
	for _, off := range wrong {
		w := newWatchedClaims(t)
		w.deposit(t, "a", 100)

		expiring := func(c *once.Config) { c.KeysExpire = true }
		key, err := keys.Expiring("coupon", "1", w.clock.Now().Add(time.Hour))
		must(t, err)
		ended, err := keys.Expiring("coupon", "2", w.clock.Now().Add(-time.Minute))
		must(t, err)

		for _, k := range []string{"t", key} {
			for i := range 2 {
				machine := w.machine(t, off, func(c *once.Config) { c.KeysExpire = k == key })
				if _, replayed, err := machine.DoInTransaction(t.Context(), k, payload, []byte("r"), debit("a", 4)); err != nil || replayed != (i == 1) {
					t.Errorf("%s off, transaction %d of %s: %t, %v", off, i, k, replayed, err)
				}
			}
		}

		if got := numberOf(w.account(t, "a")["balance"]); got != 92 {
			t.Errorf("%s off: balance %d", off, got)
		}

		for mode, do := range operationsOn(ended) {
			if err := do(t.Context(), w.machine(t, off, expiring)); !errors.Is(err, once.ErrKeyExpired) {
				t.Errorf("%s off, %s of a key that has ended: %v", off, mode, err)
			}
		}

		for i := range 3 {
			if n, err := w.machine(t, off).Count(t.Context(), "c", strconv.Itoa(i)); n != i+1 || err != nil {
				t.Errorf("%s off: count %d, %v", off, n, err)
			}
		}

		take(t, w.Claims, "held")
		seen := w.stored(t, "held")

		if err := w.machine(t, off).Resolve(t.Context(), seen, once.Resolution{Status: once.StatusReleased}); !errors.Is(err, once.ErrStaleOwner) {
			t.Errorf("%s off: a claim whose lease runs is resolved: %v", off, err)
		}

		reconciling := func(c *once.Config) {
			c.Reconcile = func(context.Context, once.Record) (once.Resolution, error) {
				return once.Resolution{Status: once.StatusReleased}, nil
			}
		}
		if swept, err := w.machine(t, off, reconciling).Sweep(t.Context(), 0); err != nil || swept.Found != 0 {
			t.Errorf("%s off: the sweep finds %+v, %v", off, swept, err)
		}
		w.clock.Advance(pastLease)

		if swept, err := w.machine(t, off, reconciling).Sweep(t.Context(), 0); err != nil || swept.Moved != 1 {
			t.Errorf("%s off: the sweep finds %+v, %v", off, swept, err)
		}
		must(t, w.machine(t, off).ForceRelease(t.Context(), w.stored(t, "t"), "ada", "wrong"))

		for _, key := range []string{"held", "t"} {
			if r := w.stored(t, key); r.Status != once.StatusReleased || !near(r.ExpiresAt, w.clock.Now().Add(time.Hour)) {
				t.Errorf("%s off: %+v", off, r)
			}
		}
	}
}

// operationsOn are the ways to do work under a key.
func operationsOn(key string) map[string]func(context.Context, *once.Claims) error {
	return map[string]func(context.Context, *once.Claims) error{
		"claim": func(ctx context.Context, c *once.Claims) error { _, err := c.Claim(ctx, key, payload); return err },
		"repeatable": func(ctx context.Context, c *once.Claims) error {
			_, _, err := c.DoRepeatable(ctx, key, payload, func(context.Context) ([]byte, error) { return nil, nil })
			return err
		},
		"transaction": func(ctx context.Context, c *once.Claims) error {
			_, _, err := c.DoInTransaction(ctx, key, payload, nil, func(*txn.Transaction) {})
			return err
		},
		"item": func(ctx context.Context, c *once.Claims) error {
			_, _, err := c.DoInItem(ctx, key, payload, debitItem("missing", 1))
			return err
		},
	}
}

// setAt returns claims of a machine that has heard the service, and whose clock is set at one of its next
// readings.
func (w *watchedClaims) setAt(t *testing.T, reading int, jump time.Duration) *once.Claims {
	readings := -1000
	claims := w.with(t, func(c *once.Config) {
		c.Now = func() time.Time {
			if readings++; readings < reading {
				return w.clock.Now()
			}

			return w.clock.Now().Add(jump)
		}
	})
	_, _, err := claims.Get(t.Context(), "other")
	must(t, err)

	readings = 0

	return claims
}

// A clock may be set at any moment of a call: before each of its readings. The holder keeps its claim,
// and no time that is stored is wrong.
func TestAClockThatIsSetDuringACall(t *testing.T) {
	for _, jump := range []time.Duration{-2 * time.Hour, 2 * time.Hour} {
		for reading := 1; reading <= 24; reading++ {
			w := newWatchedClaims(t)
			held := take(t, w.Claims, "held")
			refused(t, w.setAt(t, reading, jump), "held", once.ErrInProgress)
			refused(t, w.setAt(t, reading, jump).Waiting(time.Nanosecond), "held", once.ErrInProgress)
			must(t, held.Complete(t.Context(), []byte("r")))

			ended := w.with(t, func(c *once.Config) { c.ExpiredIsUnknown = true })
			take(t, ended, "careful")
			take(t, w.Claims, "left")
			w.clock.Advance(pastLease + 2*time.Second) // for the precision of a Date
			refused(t, ended, "careful", once.ErrUnknownOutcome)

			for _, key := range []string{"new", "left"} {
				machine := w.setAt(t, reading, jump)

				claim, err := machine.Claim(t.Context(), key, payload)
				// An answer during which the clock was set says nothing. The next one does.
				if errors.Is(err, once.ErrInProgress) {
					claim, err = machine.Claim(t.Context(), key, payload)
				}
				must(t, err)
				must(t, claim.Extend(t.Context()))

				if r := w.stored(t, key); !near(r.LeaseUntil, w.clock.Now().Add(time.Minute)) || key == "new" && !near(r.ExpiresAt, w.clock.Now().Add(time.Hour)) {
					t.Errorf("%s at reading %d: %s: %+v", jump, reading, key, r)
				}
				must(t, claim.Complete(t.Context(), nil))

				if r := w.stored(t, key); !near(r.ExpiresAt, w.clock.Now().Add(time.Hour)) {
					t.Errorf("%s at reading %d: %s is kept until %s", jump, reading, key, r.ExpiresAt)
				}
			}
		}
	}
}

func TestPoint18_SecondsAndMillisecondsAreDifferentAttributesFromOneReading(t *testing.T) {
	w := newWatchedClaims(t)
	c := w.with(t, func(c *once.Config) {
		c.Now = func() time.Time { w.clock.Advance(time.Millisecond); return w.clock.Now() } // no two readings are equal
	})
	w.clock.Advance(999 * time.Millisecond)
	before := w.clock.Now()

	if _, err := c.Claim(t.Context(), "k", payload); err != nil {
		t.Fatal(err)
	}

	i := w.record(t, "k")
	now := time.UnixMilli(numberOf(i["claimedAt"]))
	if now.Sub(before) > 8*time.Millisecond {
		t.Errorf("claimed at %s, begun at %s", now, before)
	}

	for name, want := range map[string]int64{"updatedAt": now.UnixMilli(), "leaseUntil": now.Add(time.Minute).UnixMilli(),
		"expiresAt": now.Add(time.Hour).Unix()} {
		if got := numberOf(i[name]); got != want {
			t.Errorf("%s is %d, want %d", name, got, want)
		}
	}
}

// A clock that is ahead does not hide what has ended, or who works.
func TestAClockThatIsAheadReads(t *testing.T) {
	w := newWatchedClaims(t, func(c *once.Config) { c.Lease = 30 * time.Minute })
	ahead := w.machine(t, 5*time.Minute)
	take(t, w.Claims, "held")
	must(t, take(t, w.Claims, "completed").Complete(t.Context(), []byte("r")))
	must(t, take(t, w.Claims, "unknown").Unknown(t.Context()))

	if got := take(t, ahead, "completed"); string(got.Result) != "r" {
		t.Errorf("%+v", got)
	}
	refused(t, ahead, "held", once.ErrInProgress)
	refused(t, ahead, "unknown", once.ErrUnknownOutcome)
}

// plainErrors answers a failed condition as an error without an HTTP answer, as a client
// that is not the SDK's does.
type plainErrors struct {
	*meter
	err error
}

func (p plainErrors) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	out, err := p.meter.UpdateItem(ctx, in, o...)
	if failed := (*types.ConditionalCheckFailedException)(nil); errors.As(err, &failed) {
		return nil, errors.Join(failed, p.err)
	}

	return out, err
}

// Without the time of the service, clocks are not compared.
func TestWithoutADateClocksAreNotCompared(t *testing.T) {
	for about, without := range map[string]error{"no answer": nil, "an empty answer": &awshttp.ResponseError{ResponseError: &smithyhttp.ResponseError{}}} {
		w := newWatchedClaims(t)
		w.service.clock = nil
		take(t, w.Claims, "k")
		w.clock.Advance(2 * time.Minute)

		ahead := w.machine(t, 5*time.Minute, func(c *once.Config) { c.DynamoDB = plainErrors{w.db, without} })
		if got, err := ahead.Claim(t.Context(), "k", payload); err != nil || got.Outcome != once.TakenOver {
			t.Errorf("%s: %+v, %v", about, got, err)
		}
	}
}
