package once_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/embedded/embeddedtest"
	"ratchet/once"
)

func TestPoint01_OneOfManyClaimsAndOneOfManyTakesOver(t *testing.T) {
	w := newWatchedClaims(t)
	race := func(want once.Outcome) {
		t.Helper()

		var won, held atomic.Int32
		var group sync.WaitGroup
		for range 50 {
			group.Go(func() {
				claim, err := w.Claim(t.Context(), "k", payload)
				switch {
				case err == nil && claim.Outcome == want:
					won.Add(1)
				case errors.Is(err, once.ErrInProgress):
					held.Add(1)
				default:
					t.Errorf("%+v, %v", claim, err)
				}
			})
		}
		group.Wait()

		if won.Load() != 1 || held.Load() != 49 {
			t.Errorf("%s: %d won, %d found it in progress", want, won.Load(), held.Load())
		}
	}
	race(once.Acquired)
	w.clock.Advance(time.Minute + 2*time.Second)
	race(once.TakenOver)
}

func TestPoint02_AnExpiredClaimIsTakenOverBeforeItsItemIsDeleted(t *testing.T) {
	w := newWatchedClaims(t) // the engine's sweep does not run
	take(t, w.Claims, "k")
	w.clock.Advance(time.Minute + 2*time.Second - time.Millisecond)
	w.calls()
	refused(t, w.Claims, "k", once.ErrInProgress)

	if sent := w.calls(); len(sent) != 1 {
		t.Errorf("the refusal suffices, but %v were sent", sent)
	}
	w.clock.Advance(time.Millisecond)

	if got := take(t, w.Claims, "k"); got.Outcome != once.TakenOver {
		t.Errorf("outcome %s", got.Outcome)
	}
	take(t, w.Claims, "other")
	w.clock.Advance(48 * time.Hour)

	if got := take(t, w.Claims, "other"); got.Outcome != once.Acquired {
		t.Errorf("after the retention the item must count as absent: %s", got.Outcome)
	}
}

func TestPoint03_AFormerHolderCannotEndItsClaim(t *testing.T) {
	for name, then := range map[string]func(*testing.T, *watchedClaims, *once.Claim){
		"while the second works": func(*testing.T, *watchedClaims, *once.Claim) {},
		"when the second has completed": func(t *testing.T, _ *watchedClaims, second *once.Claim) {
			if err := second.Complete(t.Context(), []byte("second")); err != nil {
				t.Fatal(err)
			}
		},
		"when the record was swept": func(t *testing.T, w *watchedClaims, _ *once.Claim) { w.sweep(t, "k") },
		"when an operator released it": func(t *testing.T, w *watchedClaims, _ *once.Claim) {
			r, _, err := w.Get(t.Context(), "k")
			if err == nil {
				err = w.ForceRelease(t.Context(), r, "ops", "stuck")
			}

			if err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWatchedClaims(t)
			first := take(t, w.Claims, "k")
			w.clock.Advance(time.Minute + 2*time.Second)
			then(t, w, take(t, w.Claims, "k"))

			before := w.record(t, "k")
			for verb, err := range endings(t.Context(), first) {
				if !errors.Is(err, once.ErrStaleOwner) || errors.Is(err, once.ErrLeaseExpired) {
					t.Errorf("%s: %v", verb, err)
				}
			}

			if after := w.record(t, "k"); len(before) != len(after) || textOf(before["status"]) != textOf(after["status"]) {
				t.Errorf("the record changed from %v to %v", before, after)
			}
		})
	}
}

// endings are the ways in which a holder can end its claim.
func endings(ctx context.Context, c *once.Claim) map[string]error {
	return map[string]error{
		"extend": c.Extend(ctx), "complete": c.Complete(ctx, []byte("first")), "unknown": c.Unknown(ctx),
		"fail": c.Fail(ctx, &once.Failure{Code: "Declined"}), "release": c.Release(ctx),
	}
}

func textOf(v types.AttributeValue) string {
	s, _ := v.(*types.AttributeValueMemberS)
	if s == nil {
		return ""
	}

	return s.Value
}

func TestPoint04_BeforeATakeoverTheErrorIsErrLeaseExpired(t *testing.T) {
	w := newWatchedClaims(t)
	held := take(t, w.Claims, "k")
	w.clock.Advance(time.Minute - time.Millisecond)

	if err := held.Extend(t.Context()); err != nil {
		t.Errorf("just before its end the lease must still run: %v", err)
	}
	w.clock.Advance(time.Minute)

	for verb, err := range map[string]error{"extend": held.Extend(t.Context()), "complete": held.Complete(t.Context(), nil),
		"unknown": held.Unknown(t.Context()), "fail": held.Fail(t.Context(), &once.Failure{Code: "Declined"})} {
		if !errors.Is(err, once.ErrLeaseExpired) || errors.Is(err, once.ErrStaleOwner) {
			t.Errorf("%s at the very end: %v", verb, err)
		}
	}

	if err := held.Release(t.Context()); err != nil {
		t.Errorf("a release after the lease, before a takeover: %v", err)
	}
}

func TestPoint05_TheFenceGrowsByOneAndSurvivesEveryEnd(t *testing.T) {
	w := newWatchedClaims(t)
	last := take(t, w.Claims, "k")
	next := func(why string) {
		t.Helper()

		claim := take(t, w.Claims, "k")
		if claim.Fence() != last.Fence()+1 {
			t.Errorf("%s: fence %d after %d", why, claim.Fence(), last.Fence())
		}
		last = claim
	}

	if err := last.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	next("after a release")
	w.clock.Advance(2 * time.Minute)
	next("after a takeover")

	if err := last.Fail(t.Context(), &once.Failure{Code: "Declined"}); err != nil {
		t.Fatal(err)
	}
	w.clock.Advance(2 * time.Hour)
	next("after a failure whose retention is over")
	w.sweep(t, "k")

	if again := take(t, w.Claims, "k"); again.Fence() <= last.Fence() {
		t.Errorf("the fence must grow past a deleted record: %d after %d", again.Fence(), last.Fence())
	}
}

func TestPoint06And07_ALostAnswerIsRecognizedWithoutARead(t *testing.T) {
	w := newWatchedClaims(t)
	type ending = func(*once.Claim) error

	for name, end := range map[string]ending{
		"complete":              func(c *once.Claim) error { return c.Complete(t.Context(), []byte("r")) },
		"complete with nothing": func(c *once.Claim) error { return c.Complete(t.Context(), nil) },
		"complete with much":    func(c *once.Claim) error { return c.Complete(t.Context(), make([]byte, 100<<10)) },
		"fail":                  func(c *once.Claim) error { return c.Fail(t.Context(), &once.Failure{Code: "Declined"}) },
		"unknown":               func(c *once.Claim) error { return c.Unknown(t.Context()) },
		"release":               func(c *once.Claim) error { return c.Release(t.Context()) },
		"extend":                func(c *once.Claim) error { return c.Extend(t.Context()) },
	} {
		t.Run(name, func(t *testing.T) {
			w.loseAnswers(1)

			held := take(t, w.Claims, name)
			if held.Outcome != once.Acquired {
				t.Errorf("the winner must learn that it won: %s", held.Outcome)
			}
			w.loseAnswers(1)

			if err := end(held); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			w.transport.Clear()

			if slices.Contains(w.calls(), "GetItem") {
				t.Error("the record was read although the answer contained it")
			}
		})
	}
	t.Run("takeover", func(t *testing.T) {
		take(t, w.Claims, "k")
		w.clock.Advance(2 * time.Minute)
		w.loseAnswers(2)

		if got := take(t, w.Claims, "k"); got.Outcome != once.TakenOver {
			t.Errorf("outcome %s", got.Outcome)
		}
	})
	t.Run("with another fence", func(t *testing.T) {
		first := take(t, w.Claims, "other")
		w.clock.Advance(2 * time.Minute)

		if err := take(t, w.Claims, "other").Complete(t.Context(), []byte("r")); err != nil {
			t.Fatal(err)
		}

		if err := first.Complete(t.Context(), []byte("r")); !errors.Is(err, once.ErrStaleOwner) {
			t.Errorf("an equal result of another holder must not count: %v", err)
		}
	})
	t.Run("ended before", func(t *testing.T) {
		held := take(t, w.Claims, "ended")
		if err := held.Complete(t.Context(), []byte("r")); err != nil {
			t.Fatal(err)
		}

		if err := held.Release(t.Context()); !errors.Is(err, once.ErrEnded) {
			t.Errorf("a release after the completion: %v", err)
		}

		if err := held.Complete(t.Context(), []byte("other")); !errors.Is(err, once.ErrEnded) {
			t.Errorf("another result after the completion: %v", err)
		}
	})
}

func TestPoint08_AFailedConditionWithoutItsItemIsReadAndAnAbsentRecordIsClaimed(t *testing.T) {
	w := newWatchedClaims(t)
	w.transport.Around(withoutItem)
	held := take(t, w.Claims, "k")
	refused(t, w.Claims, "k", once.ErrInProgress)

	if err := held.Complete(t.Context(), []byte("r")); err != nil {
		t.Fatal(err)
	}

	if got := take(t, w.Claims, "k"); string(got.Result) != "r" {
		t.Errorf("result %q", got.Result)
	}

	// The record is deleted between the failed condition and the read.
	swept := false
	w.transport.Before(func(c *embeddedtest.Call) error {
		if c.Is("GetItem") && !swept {
			swept = true
			w.sweep(t, "k")
		}

		return nil
	})

	if got := take(t, w.Claims, "k"); got.Outcome != once.Acquired {
		t.Errorf("an absent record must be free, not in progress: %s", got.Outcome)
	}
}

// withoutItem is an endpoint that does not know ReturnValuesOnConditionCheckFailure.
func withoutItem(_ *embeddedtest.Call, send embeddedtest.Sender) (*http.Response, error) {
	r, err := send()
	if err != nil || r.StatusCode != http.StatusBadRequest {
		return r, err
	}

	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}

	if i := bytes.Index(body, []byte(`,"Item"`)); i > 0 {
		body = append(body[:i], '}')
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	r.Header.Set("Content-Length", "")
	r.Header.Del("X-Amz-Crc32")

	return r, nil
}

func TestPoint09_AnotherPayloadIsRefusedBeforeAnythingElse(t *testing.T) {
	w := newWatchedClaims(t)
	other := func(why string, want error) {
		t.Helper()

		if _, err := w.Claim(t.Context(), "k", []byte("other")); !errors.Is(err, want) {
			t.Errorf("%s: %v", why, err)
		}
	}
	held := take(t, w.Claims, "k")
	other("in progress", once.ErrMismatch)
	w.clock.Advance(2 * time.Minute)
	other("with an expired lease", once.ErrMismatch)

	if err := held.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	other("released", once.ErrMismatch)

	if err := take(t, w.Claims, "k").Complete(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	other("completed", once.ErrMismatch)
	w.clock.Advance(2 * time.Hour)
	other("past the retention", nil)
}

// The test lets a takeover arrive twice, the second time after its holder has released the
// key.
func TestPoint10_ATakeoverIsConditionalOnTheFenceItSaw(t *testing.T) {
	w := newWatchedClaims(t)
	take(t, w.Claims, "k")
	w.clock.Advance(2 * time.Minute)
	var late *dynamodb.UpdateItemInput
	spy := &recorder{meter: w.db, seen: func(in *dynamodb.UpdateItemInput) { late = in }}

	second := take(t, w.with(t, func(c *once.Config) { c.DynamoDB = spy }), "k")
	if err := second.Release(t.Context()); err != nil {
		t.Fatal(err)
	}

	var failed *types.ConditionalCheckFailedException
	if _, err := w.db.UpdateItem(t.Context(), late); !errors.As(err, &failed) {
		t.Errorf("a takeover that arrives again: %v", err)
	}

	if got := take(t, w.Claims, "k"); got.Fence() != second.Fence()+1 {
		t.Errorf("fence %d after %d", got.Fence(), second.Fence())
	}
}

// recorder keeps the updates that are conditional on a fence.
type recorder struct {
	*meter
	seen func(*dynamodb.UpdateItemInput)
}

func (r *recorder) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	if strings.Contains(aws.ToString(in.ConditionExpression), ":seen") {
		r.seen(in)
	}
	return r.meter.UpdateItem(ctx, in, o...)
}

func TestPoint11_IdentityIsComputedOnce(t *testing.T) {
	w := newWatchedClaims(t)
	mine := []byte("mine")

	other := w.with(t, func(c *once.Config) { c.Operation = "inner" })
	_, _, err := w.Do(t.Context(), "outer", mine, func(ctx context.Context, c *once.Claim) ([]byte, error) {
		copy(mine, "XXXX")

		_, _, err := other.Do(ctx, "inner", mine, func(context.Context, *once.Claim) ([]byte, error) { return []byte("inner"), nil })
		if err != nil {
			return nil, err
		}
		_, _, err = w.Do(ctx, "nested", mine, func(context.Context, *once.Claim) ([]byte, error) { return []byte("nested"), nil })

		return []byte("outer"), err
	})
	if err != nil {
		t.Fatal(err)
	}

	for key, c := range map[string]*once.Claims{"outer": w.Claims, "nested": w.Claims, "inner": other} {
		in := []byte("XXXX")
		if key == "outer" {
			in = []byte("mine")
		}

		got, err := c.Claim(t.Context(), key, in)
		if err != nil || string(got.Result) != key {
			t.Errorf("%s: %+v, %v", key, got, err)
		}
	}
}

func TestPoint12_OperationsShareATableButNeitherSettingsNorResults(t *testing.T) {
	w := newWatchedClaims(t)
	refund := w.with(t, func(c *once.Config) { c.Operation, c.Lease = "refund/v1", time.Second })
	charge := w.with(t, func(c *once.Config) { c.Operation, c.Lease = "charge/v1", 10*time.Minute })
	take(t, refund, "r")
	take(t, charge, "c")
	w.clock.Advance(5 * time.Second)

	if got := take(t, refund, "r"); got.Outcome != once.TakenOver {
		t.Errorf("the short lease must have ended: %s", got.Outcome)
	}
	refused(t, charge, "c", once.ErrInProgress)
	refused(t, charge, "r", once.ErrMismatch)
	refused(t, w.with(t, func(c *once.Config) { c.Operation = "refund/v2" }), "r", once.ErrMismatch)
}

func TestPoint13_BadKeysAreRefused(t *testing.T) {
	w := newWatchedClaims(t)
	for name, key := range map[string]string{"empty": "", "too long": strings.Repeat("k", 2049), "not UTF-8": "\xff",
		"a lock's": "lock#k", "a chunk's": "result#k", "the probe's": "probe#k"} {
		if _, err := w.Claim(t.Context(), key, nil); !errors.Is(err, once.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	take(t, w.Claims, strings.Repeat("k", 2048))
}

func TestPoint15_TheLeaseIsNeverZeroAndNeverEndless(t *testing.T) {
	w := newWatchedClaims(t)
	cfg := w.config()
	for name, change := range map[string]func(*once.Config){
		"a negative lease":                 func(c *once.Config) { c.Lease = -1 },
		"a lease as long as the retention": func(c *once.Config) { c.Lease = c.Retention },
	} {
		bad := cfg
		change(&bad)

		if _, err := once.New(bad); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	unset := w.with(t, func(c *once.Config) { c.Lease = 0 })
	take(t, unset, "default")

	if r, _, _ := w.Get(t.Context(), "default"); r.LeaseUntil.Sub(r.ClaimedAt) != 5*time.Minute {
		t.Errorf("the default lease is %s", r.LeaseUntil.Sub(r.ClaimedAt))
	}

	over, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	w.calls()

	_, _, err := w.Do(over, "over", nil, nil)
	if !errors.Is(err, context.DeadlineExceeded) || len(w.calls()) != 0 {
		t.Errorf("with no time left nothing is claimed: %v", err)
	}
	short, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()

	_, _, err = w.Do(short, "short", nil, func(context.Context, *once.Claim) ([]byte, error) {
		r, _, err := w.Get(t.Context(), "short")
		if lease := r.LeaseUntil.Sub(r.ClaimedAt); lease > 30*time.Second || lease < 25*time.Second {
			t.Errorf("20 s are left, and the lease is %s", lease)
		}

		return nil, err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestPoint27_ReadsAfterARefusalAreConsistent(t *testing.T) {
	w := newWatchedClaims(t)
	w.deposit(t, "a", 10)
	spy := &readings{meter: w.db}
	c := w.with(t, func(c *once.Config) { c.DynamoDB, c.Inline = spy, 1 })
	w.transport.Around(withoutItem) // so that every refusal is followed by a read

	if err := take(t, c, "k").Complete(t.Context(), []byte("large")); err != nil {
		t.Fatal(err)
	}
	take(t, c, "k")

	if _, err := c.Waiting(time.Millisecond).Claim(t.Context(), "k", payload); err != nil {
		t.Fatal(err)
	}

	for range 2 {
		if _, _, err := c.DoInItem(t.Context(), "i", payload, debitItem("a", 1)); err != nil {
			t.Fatal(err)
		}
	}

	locks := newLocks(t, once.LocksConfig{DynamoDB: spy, Table: "once"})
	for _, holder := range []string{"first", "second"} {
		if _, err := locks.Acquire(t.Context(), "l", holder); err != nil {
			t.Fatal(err)
		}
	}

	if spy.consistent < 5 || spy.eventual != 0 {
		t.Errorf("%d consistent reads, %d others", spy.consistent, spy.eventual)
	}
}

// readings counts reads.
type readings struct {
	*meter
	consistent, eventual int
}

func (r *readings) GetItem(ctx context.Context, in *dynamodb.GetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	if aws.ToBool(in.ConsistentRead) {
		r.consistent++
	} else {
		r.eventual++
	}

	return r.meter.GetItem(ctx, in, o...)
}
