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

// TestPoint17_NoTwoHoldWithinTheMargin draws two clocks within the margin and a moment
// around the end of the lease.
func TestPoint17_NoTwoHoldWithinTheMargin(t *testing.T) {
	w := newWatchedClaims(t)
	n, takenOver := 0, 0
	try := func(rt rapid.TB, offA, offB, later time.Duration) {
		n++
		key := strconv.Itoa(n)
		a, b := w.machine(t, offA), w.machine(t, offB)
		held := take(t, a, key)

		r, _, err := w.Get(t.Context(), key)
		if err != nil {
			rt.Fatal(err)
		}
		w.clock.Advance(later)

		second, err := b.Claim(t.Context(), key, payload)
		if errors.Is(err, once.ErrInProgress) {
			return
		}

		if err != nil || second.Fence() != held.Fence()+1 {
			rt.Fatalf("%+v, %v", second, err)
		}
		takenOver++

		if mine := w.clock.Now().Add(offA); mine.Before(r.LeaseUntil) {
			rt.Fatalf("taken over %s before its holder's own end", r.LeaseUntil.Sub(mine))
		}
	}

	try(t, 0, 0, 58*time.Second)
	try(t, 0, 0, 66*time.Second)

	if takenOver != 1 {
		t.Fatalf("%d of 2 were taken over, one of them late enough", takenOver)
	}

	rapid.Check(t, func(rt *rapid.T) {
		milliseconds := func(from, to int64, label string) time.Duration {
			return time.Duration(rapid.Int64Range(from, to).Draw(rt, label)) * time.Millisecond
		}
		try(rt, milliseconds(-1000, 1000, "a"), milliseconds(-1000, 1000, "b"), milliseconds(58_000, 66_000, "later"))
	})
}

func TestPoint17_AClockBeyondTheMarginIsRefused(t *testing.T) {
	w := newWatchedClaims(t)
	fast, slow := w.machine(t, 5*time.Minute), w.machine(t, -5*time.Minute)
	take(t, w.Claims, "k")
	refused(t, fast, "k", once.ErrClockSkew)
	refused(t, slow, "new", once.ErrClockSkew)

	if got := take(t, w.Claims, "new"); got.Outcome != once.Acquired {
		t.Errorf("the slow machine must release what it claimed: %s", got.Outcome)
	}
	w.clock.Advance(2 * time.Minute)

	if got := take(t, w.Claims, "k"); got.Outcome != once.TakenOver {
		t.Errorf("a machine with the right clock must take over: %s", got.Outcome)
	}
}

func TestAClockThatIsAheadDoesNotRepeatATransaction(t *testing.T) {
	w := newWatchedClaims(t)
	w.deposit(t, "a", 100)

	if _, _, err := w.DoInTransaction(t.Context(), "k", payload, []byte("r"), debit("a", 4)); err != nil {
		t.Fatal(err)
	}

	ahead := w.machine(t, 2*time.Hour) // the retention is one
	if _, _, err := ahead.DoInTransaction(t.Context(), "k", payload, []byte("r"), debit("a", 4)); !errors.Is(err, once.ErrClockSkew) {
		t.Errorf("%v", err)
	}

	if got := numberOf(w.account(t, "a")["balance"]); got != 96 {
		t.Errorf("balance %d", got)
	}
	w.clock.Advance(2 * time.Hour)

	if _, replayed, err := w.DoInTransaction(t.Context(), "k", payload, []byte("r"), debit("a", 4)); err != nil || replayed {
		t.Errorf("with the right clock, after the retention: %t %v", replayed, err)
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
	if now.Sub(before) > 3*time.Millisecond {
		t.Errorf("claimed at %s, begun at %s", now, before)
	}

	for name, want := range map[string]int64{"updatedAt": now.UnixMilli(), "leaseUntil": now.Add(time.Minute).UnixMilli(),
		"expiresAt": now.Add(time.Hour).Unix()} {
		if got := numberOf(i[name]); got != want {
			t.Errorf("%s is %d, want %d", name, got, want)
		}
	}
}

// The Date of an answer has whole seconds, so a clock is within the margin up to a second
// and the margin ahead, and up to the margin behind.
func TestTheMarginOfTheClocks(t *testing.T) {
	const lease, careful, stored = "a lease that ran out", "a lease of work that must not be repeated", "a record that has expired"

	within := map[string]error{lease: nil, stored: nil, careful: once.ErrUnknownOutcome, "released": nil}

	for off, want := range map[time.Duration]map[string]error{
		2 * time.Second: within,
		-time.Second:    within,
		// A released key is free by every clock.
		2*time.Second + time.Millisecond: {lease: once.ErrClockSkew, stored: once.ErrClockSkew, careful: once.ErrClockSkew, "released": nil},
		// A lease that ran out by a clock that is behind has ended by every clock.
		-time.Second - time.Millisecond: {lease: once.ErrClockSkew, stored: once.ErrClockSkew, careful: once.ErrUnknownOutcome, "released": once.ErrClockSkew},
	} {
		w := newWatchedClaims(t)
		take(t, w.Claims, lease)
		take(t, w.with(t, func(c *once.Config) { c.ExpiredIsUnknown = true }), careful)
		must(t, take(t, w.Claims, stored).Complete(t.Context(), nil))
		w.clock.Advance(2 * time.Hour)
		must(t, take(t, w.Claims, "released").Release(t.Context()))

		for key, err := range want {
			c := w.machine(t, off, func(c *once.Config) { c.ExpiredIsUnknown = key == careful })
			before := w.stored(t, key)

			if _, got := c.Claim(t.Context(), key, payload); !errors.Is(got, err) {
				t.Errorf("%s off, %s: %v, want %v", off, key, got, err)
			}

			if after := w.stored(t, key); errors.Is(err, once.ErrClockSkew) && off > 0 && (after.Status != before.Status || after.Fence != before.Fence) {
				t.Errorf("%s off, %s: %+v, was %+v", off, key, after, before)
			}
		}
	}
}

// The other modes hold no lease, so only a clock that is ahead matters to them.
func TestTheMarginOfTheClocksWithoutALease(t *testing.T) {
	for off, want := range map[time.Duration]error{2 * time.Second: nil, 2*time.Second + time.Millisecond: once.ErrClockSkew} {
		for _, mode := range []string{"repeatable", "transaction"} {
			w := newWatchedClaims(t)
			states["completed"](t, w)
			w.clock.Advance(2 * time.Hour) // it has expired
			w.Claims = w.machine(t, off)

			if err := operations[mode](t.Context(), w, t); !errors.Is(err, want) {
				t.Errorf("%s, %s ahead: %v, want %v", mode, off, err, want)
			}
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
		take(t, w.Claims, "k")
		w.clock.Advance(2 * time.Minute)

		ahead := w.machine(t, 5*time.Minute, func(c *once.Config) { c.DynamoDB = plainErrors{w.db, without} })
		if got, err := ahead.Claim(t.Context(), "k", payload); err != nil || got.Outcome != once.TakenOver {
			t.Errorf("%s: %+v, %v", about, got, err)
		}
	}
}
