package once_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/once"
	"ratchet/once/keys"
	"ratchet/once/txn"
)

// A key that carries its own end is used once until then, whatever ends its record. An operator's claims do
// not know that keys expire.
func TestTheRecordOfAKeyWithAnEndIsKeptUntilThen(t *testing.T) {
	for about, end := range map[string]func(t *testing.T, w *watchedClaims, operator *once.Claims, claim *once.Claim) error{
		"a completion": func(t *testing.T, _ *watchedClaims, _ *once.Claims, c *once.Claim) error {
			return c.Complete(t.Context(), nil)
		},
		"a completion after an extension": func(t *testing.T, _ *watchedClaims, _ *once.Claims, c *once.Claim) error {
			return errors.Join(c.Extend(t.Context()), c.Complete(t.Context(), nil))
		},
		"a completion in a transaction": func(t *testing.T, _ *watchedClaims, _ *once.Claims, c *once.Claim) error {
			return c.CompleteIn(t.Context(), nil, func(*txn.Transaction) {})
		},
		"a failure": func(t *testing.T, _ *watchedClaims, _ *once.Claims, c *once.Claim) error {
			return c.Fail(t.Context(), &once.Failure{Code: "Closed"})
		},
		"a completion by a ticket": func(t *testing.T, w *watchedClaims, _ *once.Claims, c *once.Claim) error {
			resumed, err := w.Resume(stored(t, w), c.Ticket())
			must(t, err)

			return resumed.Complete(t.Context(), nil)
		},
		"a resolution": func(t *testing.T, w *watchedClaims, _ *once.Claims, c *once.Claim) error {
			must(t, c.Unknown(t.Context()))
			return w.Resolve(t.Context(), w.stored(t, stored(t, w)), once.Resolution{Status: once.StatusCompleted})
		},
		"a resolution by an operator": func(t *testing.T, w *watchedClaims, operator *once.Claims, c *once.Claim) error {
			must(t, c.Unknown(t.Context()))
			return operator.Resolve(t.Context(), w.stored(t, stored(t, w)), once.Resolution{Status: once.StatusCompleted})
		},
		"a resolution of a lease that ran out": func(t *testing.T, w *watchedClaims, operator *once.Claims, _ *once.Claim) error {
			w.clock.Advance(pastLease)
			return operator.Resolve(t.Context(), w.stored(t, stored(t, w)), once.Resolution{Status: once.StatusFailed, Failure: &once.Failure{Code: "Closed"}})
		},
		"a release by an operator, and a completion": func(t *testing.T, w *watchedClaims, operator *once.Claims, _ *once.Claim) error {
			must(t, operator.ForceRelease(t.Context(), w.stored(t, stored(t, w)), "ada", "stuck"))
			return take(t, w.Claims, stored(t, w)).Complete(t.Context(), nil)
		},
	} {
		w := newWatchedClaims(t, func(c *once.Config) { c.KeysExpire = true })
		operator := w.with(t)

		key, err := keys.Expiring("coupon", "o-1", w.clock.Now().Add(48*time.Hour))
		must(t, err)
		must(t, end(t, w, operator, take(t, w.Claims, key)))

		r := w.stored(t, key)
		if least := w.clock.Now().Add(47 * time.Hour); r.ExpiresAt.Before(least) {
			t.Errorf("%s: the record of a key that ends in two days is kept until %s", about, r.ExpiresAt)
		}
		w.clock.Advance(2 * time.Hour) // the retention is an hour

		if claim, err := w.Claim(t.Context(), key, payload); err == nil && claim.Outcome != once.Replayed {
			t.Errorf("%s: the key is claimed a second time: %s", about, claim.Outcome)
		}
	}
}

// all reads the items of the claims' table.
func (w *watchedClaims) all(t *testing.T) []item {
	t.Helper()

	out, err := w.db.Client.Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String("once"), ConsistentRead: aws.Bool(true)})
	must(t, err)

	return out.Items
}

// stored returns the only key in the table.
func stored(t *testing.T, w *watchedClaims) string {
	t.Helper()

	items := w.all(t)
	if len(items) != 1 {
		t.Fatalf("%d items", len(items))
	}

	return textOf(items[0]["idempotencyKey"])
}

// A memory of marks that was made smaller shrinks over several writes.
func TestASmallerMemoryOfMarks(t *testing.T) {
	w := newWatchedClaims(t)
	w.deposit(t, "a", 1000)

	write := func(key string, memory int) error {
		in := debitItem("a", 1)
		in.Memory = memory
		_, _, err := w.DoInItem(t.Context(), key, payload, in)

		return err
	}
	for i := range 256 {
		must(t, write(fmt.Sprint("k-", i), 256))
	}

	for i := range 10 {
		if err := write(fmt.Sprint("new-", i), 32); err != nil {
			t.Errorf("write %d: %v", i, err)
		}
	}

	if count := numberOf(w.account(t, "a")["once#count"]); count > 32 {
		t.Errorf("%d marks", count)
	}

	if got := numberOf(w.account(t, "a")["balance"]); got != 1000-266 {
		t.Errorf("balance %d", got)
	}
}

// One record that cannot be read does not keep a sweep from the others.
func TestASweepGoesOnAfterABrokenRecord(t *testing.T) {
	w := newWatchedClaims(t, func(c *once.Config) {
		c.Reconcile = func(context.Context, once.Record) (once.Resolution, error) {
			return once.Resolution{Status: once.StatusReleased}, nil
		}
	})
	for i := range 5 {
		must(t, take(t, w.Claims, fmt.Sprint("k-", i)).Unknown(t.Context()))
	}
	w.change(t, "broken", item{"status": dynamo.S("UNKNOWN")})

	page, next, err := w.Unsettled(t.Context(), w.clock.Now(), "", 100)
	if len(page) != 5 || next != "" || !errors.Is(err, once.ErrCorrupt) {
		t.Errorf("%d records, next %q, %v", len(page), next, err)
	}

	if swept, err := w.Sweep(t.Context(), 0); swept.Moved != 5 || !errors.Is(err, once.ErrCorrupt) {
		t.Errorf("%+v, %v", swept, err)
	}
}

// What is wrong with the call is no replay, whether the record or the cache of the process says so.
func TestAMismatchIsNoReplay(t *testing.T) {
	w := newWatchedClaims(t, func(c *once.Config) { c.Cache = 10 })
	must(t, take(t, w.Claims, "k").Complete(t.Context(), []byte("r")))
	must(t, take(t, w.Claims, "failed").Fail(t.Context(), &once.Failure{Code: "Closed"}))
	refused(t, w.Claims, "failed", &once.Failure{Code: "Closed"}) // it is in the cache now

	for about, claims := range map[string]*once.Claims{"with a cache": w.Claims, "without": w.with(t)} {
		for key, row := range map[string]struct {
			payload  []byte
			want     error
			replayed bool
		}{
			"k":      {[]byte("other"), once.ErrMismatch, false},
			"failed": {payload, &once.Failure{Code: "Closed"}, true},
		} {
			_, repeated, err := claims.DoRepeatable(t.Context(), key, row.payload, func(context.Context) ([]byte, error) { return nil, nil })
			_, written, err2 := claims.DoInTransaction(t.Context(), key, row.payload, nil, func(*txn.Transaction) {})
			_, done, err3 := claims.Do(t.Context(), key, row.payload, (&work{}).do)

			for _, err := range []error{err, err2, err3} {
				if !errors.Is(err, row.want) {
					t.Errorf("%s, %s: %v", about, key, err)
				}
			}

			if repeated != row.replayed || written != row.replayed || done != row.replayed {
				t.Errorf("%s, %s: replayed %t, %t, %t", about, key, repeated, written, done)
			}
		}
	}
}

// The item that Check leaves is deleted by TTL, which ignores times of more than five years ago.
func TestTheProbeOfCheckExpires(t *testing.T) {
	w := newWatchedClaims(t)
	_, err := w.db.UpdateTimeToLive(t.Context(), &dynamodb.UpdateTimeToLiveInput{TableName: aws.String("once"),
		TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: aws.String(once.ExpiryAttribute), Enabled: aws.Bool(true)}})
	must(t, err)
	must(t, once.Check(t.Context(), w.db.Client, "once"))

	for _, probe := range w.all(t) {
		if at := time.Unix(numberOf(probe["expiresAt"]), 0); time.Until(at).Abs() > 2*time.Hour {
			t.Errorf("%s expires at %s", textOf(probe["idempotencyKey"]), at)
		}
	}
}
