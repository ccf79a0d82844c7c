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

// A repeat gets its first answer, also if the configuration now refuses such a call. A key that is free
// is not claimed.
func TestARecordComesBeforeWhatTheConfigurationRefuses(t *testing.T) {
	result := make([]byte, 2000)
	for about, row := range map[string]struct {
		payload []byte
		now     func(*once.Config)
		all     bool // the modes besides DoInTransaction refuse it, too
	}{
		"the results of a transaction must be smaller": {payload, func(c *once.Config) { c.Inline = 1000 }, false},
		"payloads must be JSON":                        {payload, func(c *once.Config) { c.PayloadJSON = true }, true},
		"numbers must not be that large":               {[]byte(`{"n":9007199254740993}`), func(c *once.Config) { c.PayloadJSON = true }, true},
		"keys must have an end":                        {payload, func(c *once.Config) { c.KeysExpire = true }, true},
	} {
		w := newWatchedClaims(t, func(c *once.Config) { c.Inline = 4000 })
		w.deposit(t, "a", 100)

		modes := map[string]func(c *once.Claims, key string) (bool, error){
			"DoInTransaction": func(c *once.Claims, key string) (bool, error) {
				_, replayed, err := c.DoInTransaction(t.Context(), key, row.payload, result, debit("a", 1))
				return replayed, err
			},
		}
		if row.all {
			modes["DoInItem"] = func(c *once.Claims, key string) (bool, error) {
				_, replayed, err := c.DoInItem(t.Context(), key, row.payload, debitItem("a", 1))
				return replayed, err
			}
			modes["Do"] = func(c *once.Claims, key string) (bool, error) {
				_, replayed, err := c.Do(t.Context(), key, row.payload, (&work{}).do)
				return replayed, err
			}
			modes["DoRepeatable"] = func(c *once.Claims, key string) (bool, error) {
				_, replayed, err := c.DoRepeatable(t.Context(), key, row.payload, func(context.Context) ([]byte, error) { return nil, nil })
				return replayed, err
			}
		}

		now := w.with(t, func(c *once.Config) { c.Inline = 4000; row.now(c) })
		for mode, call := range modes {
			if replayed, err := call(w.Claims, mode); replayed || err != nil {
				t.Fatal(about, mode, err)
			}

			if replayed, err := call(now, mode); !replayed || err != nil {
				t.Errorf("%s, %s: the repeat: %t, %v", about, mode, replayed, err)
			}

			if _, err := call(now, mode+" again"); !errors.Is(err, once.ErrInvalid) {
				t.Errorf("%s, %s: a free key: %v", about, mode, err)
			}

			if got := w.record(t, mode+" again"); got != nil {
				t.Errorf("%s, %s: %v", about, mode, got)
			}
		}
	}
}

// Once the record has said that the outcome is unknown, no outage lets the work run.
func TestAnOutageDoesNotOpenAKeyWithAnUnknownOutcome(t *testing.T) {
	for about, reconcile := range map[string]func(w *watchedClaims) error{
		"the far side does not answer": func(*watchedClaims) error { return errOutage },
		"DynamoDB does not answer any more": func(w *watchedClaims) error {
			w.outage("GetItem", "UpdateItem")
			return nil
		},
	} {
		w := newWatchedClaims(t)
		must(t, take(t, w.Claims, "k").Unknown(t.Context()))

		open := w.with(t, func(c *once.Config) {
			c.FailOpen = true
			c.Reconcile = func(context.Context, once.Record) (once.Resolution, error) {
				return once.Resolution{Status: once.StatusCompleted}, reconcile(w)
			}
		})

		job := &work{}
		if _, _, err := open.Do(t.Context(), "k", payload, job.do); err == nil || job.calls != 0 {
			t.Errorf("%s: %v, the work ran %d times", about, err, job.calls)
		}
	}
}

// Work without a claim leaves nothing that its key could be compared with.
func TestUntrackedWorkIsNotRemembered(t *testing.T) {
	w := newWatchedClaims(t, func(c *once.Config) { c.FailOpen, c.Cache = true, 10 })
	w.outage("UpdateItem")

	_, _, err := w.Do(t.Context(), "k", payload, func(ctx context.Context, claim *once.Claim) ([]byte, error) {
		return nil, claim.Complete(ctx, []byte("r"))
	})
	must(t, err)
	w.transport.Clear()

	if _, _, err := w.Do(t.Context(), "k", payload, (&work{}).do); err != nil {
		t.Error(err)
	}
}

// A key, and a lease, end also between two attempts of a transaction.
func TestAnEndBetweenTwoAttemptsOfATransaction(t *testing.T) {
	for about, fault := range map[string]embeddedtest.Fault{
		"throttled":           embeddedtest.Throttle("TransactWriteItems"),
		"the request is lost": embeddedtest.LoseRequest("TransactWriteItems"),
		"the answer is lost":  embeddedtest.LoseAnswer("TransactWriteItems"),
	} {
		made := about == "the answer is lost"
		for end, row := range map[string]struct {
			want error
			call func(w *watchedClaims) error
		}{
			"key": {once.ErrKeyExpired, func(w *watchedClaims) error {
				key, err := keys.Expiring("coupon", "o-1", w.clock.Now().Add(5*time.Minute))
				must(t, err)
				c := w.with(t, func(c *once.Config) { c.KeysExpire = true })
				w.slow(fault)
				_, _, err = c.DoInTransaction(t.Context(), key, payload, nil, debit("a", 1))

				return err
			}},
			"lease": {once.ErrLeaseExpired, func(w *watchedClaims) error {
				claim := take(t, w.Claims, "k")
				w.slow(fault)

				return claim.CompleteIn(t.Context(), nil, debit("a", 1))
			}},
		} {
			w := newWatchedClaims(t)
			w.deposit(t, "a", 100)
			err := row.call(w)

			if balance := numberOf(w.account(t, "a")["balance"]); made != (balance == 99) || made != (err == nil) || !made && !errors.Is(err, row.want) {
				t.Errorf("%s, %s: %v, balance %d", about, end, err, balance)
			}
		}
	}
}

// slow makes each transaction take ten minutes, and the next one fail.
func (w *watchedClaims) slow(fault embeddedtest.Fault) {
	w.transport.Inject(fault.Next(1))
	w.transport.Before(func(c *embeddedtest.Call) error {
		if c.Is("TransactWriteItems") {
			w.clock.Advance(10 * time.Minute)
		}

		return nil
	})
}
