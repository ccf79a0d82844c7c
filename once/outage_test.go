package once_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"ratchet/embedded/embeddedtest"
	"ratchet/once"
	"ratchet/once/keys"
	"ratchet/once/txn"
)

// operations are the calls that need an answer of DynamoDB, each on the key k, whose record
// the state has left.
var operations = map[string]func(ctx context.Context, w *watchedClaims, t testing.TB) error{
	"claim": func(ctx context.Context, w *watchedClaims, _ testing.TB) error {
		_, err := w.Claim(ctx, "k", payload)
		return err
	},
	"repeatable": func(ctx context.Context, w *watchedClaims, _ testing.TB) error {
		_, _, err := w.DoRepeatable(ctx, "k", payload, func(context.Context) ([]byte, error) { return nil, nil })
		return err
	},
	"transaction": func(ctx context.Context, w *watchedClaims, _ testing.TB) error {
		_, _, err := w.DoInTransaction(ctx, "k", payload, nil, func(*txn.Transaction) {})
		return err
	},
	"item": func(ctx context.Context, w *watchedClaims, _ testing.TB) error {
		_, _, err := w.DoInItem(ctx, "k", payload, debitItem("missing", 1))
		return err
	},
	"count": func(ctx context.Context, w *watchedClaims, _ testing.TB) error {
		_, err := w.Count(ctx, "k", "event")
		return err
	},
	"get": func(ctx context.Context, w *watchedClaims, _ testing.TB) error {
		_, _, err := w.Get(ctx, "k")
		return err
	},
	"lock": func(ctx context.Context, w *watchedClaims, t testing.TB) error {
		_, err := w.locks(t).Acquire(ctx, "k", "me")
		return err
	},
	"read lock": func(ctx context.Context, w *watchedClaims, t testing.TB) error {
		_, _, err := w.locks(t).Get(ctx, "k")
		return err
	},
}

// states are what a key may be in.
var states = map[string]func(t *testing.T, w *watchedClaims){
	"free":     func(*testing.T, *watchedClaims) {},
	"held":     func(t *testing.T, w *watchedClaims) { take(t, w.Claims, "k") },
	"left":     func(t *testing.T, w *watchedClaims) { take(t, w.Claims, "k"); w.clock.Advance(pastLease) },
	"released": func(t *testing.T, w *watchedClaims) { must(t, take(t, w.Claims, "k").Release(t.Context())) },
	"completed": func(t *testing.T, w *watchedClaims) {
		must(t, take(t, w.Claims, "k").Complete(t.Context(), []byte("r")))
	},
	"failed": func(t *testing.T, w *watchedClaims) {
		must(t, take(t, w.Claims, "k").Fail(t.Context(), &once.Failure{Code: "Closed"}))
	},
	"unknown": func(t *testing.T, w *watchedClaims) { must(t, take(t, w.Claims, "k").Unknown(t.Context())) },
	"locked": func(t *testing.T, w *watchedClaims) {
		_, err := w.locks(t).Acquire(t.Context(), "k", "another")
		must(t, err)
	},
	"counted and expired": func(t *testing.T, w *watchedClaims) {
		_, err := w.Count(t.Context(), "k", "former")
		must(t, err)
		w.clock.Advance(2 * time.Hour)
	},
}

// What DynamoDB refuses to do is an error of the call, whichever of its calls that is, and
// neither a result nor a claim.
func TestFailuresOfDynamoDBAreErrors(t *testing.T) {
	for operation, operate := range operations {
		for state, prepare := range states {
			w := newWatchedClaims(t)

			// The first run says how many calls there are.
			prepare(t, w)
			w.calls()
			_ = operate(t.Context(), w, t)
			calls := len(w.calls())

			for failing := range calls {
				w := newWatchedClaims(t)
				prepare(t, w)

				w.transport.Inject(embeddedtest.Answer("AccessDeniedException").From(failing + 1).Next(1))

				if err := operate(t.Context(), w, t); err == nil || !strings.Contains(err.Error(), "AccessDenied") {
					t.Errorf("%s of a key that is %s, call %d of %d failed: %v", operation, state, failing+1, calls, err)
				}
			}
		}
	}
}

// Every way to do work under a key respects the records of the other ways.
func TestEveryModeHonorsTheRecord(t *testing.T) {
	for state, want := range map[string]error{
		"free": nil, "released": nil, "held": once.ErrInProgress, "unknown": once.ErrUnknownOutcome, "completed": nil,
	} {
		for _, mode := range []string{"claim", "repeatable", "transaction"} {
			w := newWatchedClaims(t)
			states[state](t, w)

			if err := operations[mode](t.Context(), w, t); !errors.Is(err, want) {
				t.Errorf("%s of a key that is %s: %v, want %v", mode, state, err, want)
			}
		}
	}

	// A holder whose lease ran out may have begun the work.
	for mode, want := range map[string]error{"claim": once.ErrUnknownOutcome, "repeatable": once.ErrUnknownOutcome, "transaction": once.ErrUnknownOutcome} {
		w := newWatchedClaims(t, func(c *once.Config) { c.ExpiredIsUnknown = true })
		states["left"](t, w)

		if err := operations[mode](t.Context(), w, t); !errors.Is(err, want) {
			t.Errorf("%s after a lease that ran out: %v, want %v", mode, err, want)
		}
	}

	// By the clock of the service the lease still runs.
	for _, mode := range []string{"claim", "repeatable"} {
		w := newWatchedClaims(t)
		service := embeddedtest.Clock{}
		service.Set(w.clock.Now())
		w.service.clock = &service
		states["left"](t, w)

		if err := operations[mode](t.Context(), w, t); !errors.Is(err, once.ErrInProgress) {
			t.Errorf("%s with a clock that is ahead: %v", mode, err)
		}
	}
}

// A key that carries its own end is refused from then on, in every mode.
func TestAKeyThatHasEndedIsRefusedInEveryMode(t *testing.T) {
	w := newWatchedClaims(t, func(c *once.Config) { c.KeysExpire, c.Cache = true, 10 })

	key, err := keys.Expiring("job", "1", w.clock.Now().Add(time.Minute))
	must(t, err)

	modes := map[string]func() error{
		"claim": func() error { _, err := w.Claim(t.Context(), key, payload); return err },
		"repeatable": func() error {
			_, _, err := w.DoRepeatable(t.Context(), key, payload, func(context.Context) ([]byte, error) { return nil, nil })
			return err
		},
		"transaction": func() error {
			_, _, err := w.DoInTransaction(t.Context(), key, payload, nil, func(*txn.Transaction) {})
			return err
		},
	}
	must(t, modes["repeatable"]())
	w.clock.Advance(2 * time.Minute)
	w.calls()

	for name, mode := range modes {
		if err := mode(); !errors.Is(err, once.ErrKeyExpired) {
			t.Errorf("%s: %v", name, err)
		}
	}

	if sent := w.calls(); len(sent) > 0 {
		t.Errorf("sent %v", sent)
	}
}

// What this call has written itself is no replay, although its answer was lost.
func TestALostAnswerIsNoReplay(t *testing.T) {
	for mode, do := range map[string]func(w *watchedClaims) (bool, error){
		"item": func(w *watchedClaims) (bool, error) {
			_, replayed, err := w.DoInItem(t.Context(), "k", payload, once.ItemWrite{Table: "business", Key: key("a"), Add: "n :one", Values: item{":one": num(1)}})
			return replayed, err
		},
		"repeatable": func(w *watchedClaims) (bool, error) {
			_, replayed, err := w.DoRepeatable(t.Context(), "k", payload, func(context.Context) ([]byte, error) { return []byte("r"), nil })
			return replayed, err
		},
		"transaction": func(w *watchedClaims) (bool, error) {
			_, replayed, err := w.DoInTransaction(t.Context(), "k", payload, []byte("r"), func(*txn.Transaction) {})
			return replayed, err
		},
	} {
		for _, lost := range []int{0, 1} {
			w := newWatchedClaims(t)
			w.loseAnswers(lost)

			if replayed, err := do(w); replayed || err != nil {
				t.Errorf("%s, %d answers lost: replayed %v, %v", mode, lost, replayed, err)
			}

			if got := w.outcomes(); len(got) != 1 || got[0] != "completed" {
				t.Errorf("%s, %d answers lost: observed %v", mode, lost, got)
			}

			if replayed, err := do(w); !replayed || err != nil {
				t.Errorf("%s again: replayed %v, %v", mode, replayed, err)
			}

			if got := w.outcomes(); len(got) != 1 || got[0] != once.Replayed {
				t.Errorf("%s again: observed %v", mode, got)
			}
		}
	}
}

// Names, results and times have bounds.
func TestOnceHasBounds(t *testing.T) {
	w := newWatchedClaims(t, func(c *once.Config) { c.Inline = 10 })
	text := func(n int) string { return strings.Repeat("x", n) }

	for name, row := range map[string]struct {
		call  func(n int) error
		most  int
		error error
	}{
		"a result of repeatable work": {func(n int) error {
			_, _, err := w.DoRepeatable(t.Context(), text(20), payload, func(context.Context) ([]byte, error) { return []byte(text(n)), nil })
			return err
		}, 10, once.ErrInvalid},
		"a result in a transaction": {func(n int) error {
			_, _, err := w.DoInTransaction(t.Context(), text(21), payload, []byte(text(n)), func(*txn.Transaction) {})
			return err
		}, 10, once.ErrInvalid},
		"a result of a resolution": {func(n int) error {
			key := text(100 + n)
			must(t, take(t, w.Claims, key).Unknown(t.Context()))

			return w.Resolve(t.Context(), w.stored(t, key), once.Resolution{Status: once.StatusCompleted, Result: []byte(text(n))})
		}, 10, once.ErrInvalid},
		"a result in a mark": {func(n int) error {
			_, _, err := w.DoInItem(t.Context(), text(n), payload, once.ItemWrite{Table: "business", Key: key("a"), Set: "x = :x", Values: item{":x": num(1)}, Result: []byte(text(n))})
			return err
		}, 256, once.ErrInvalid},
		"marks of an item": {func(n int) error {
			_, _, err := w.DoInItem(t.Context(), text(n), payload, once.ItemWrite{Table: "business", Key: key("b"), Set: "x = :x", Values: item{":x": num(1)}, Memory: n})
			return err
		}, 256, once.ErrInvalid},
		"a result in the transaction of a claim": {func(n int) error {
			return take(t, w.Claims, text(200+n)).CompleteIn(t.Context(), []byte(text(n)), func(*txn.Transaction) {})
		}, 10, once.ErrInvalid},
		"an event": {func(n int) error { _, err := w.Count(t.Context(), "k", text(n)); return err }, 64, once.ErrInvalid},
		"the key of a count": {func(n int) error { _, err := w.Count(t.Context(), text(n), "e"); return err }, keys.MaxBytes - len("counted#"),
			once.ErrInvalid},
		"a holder":          {func(n int) error { _, err := w.locks(t).Acquire(t.Context(), "h"+text(n), text(n)); return err }, 256, once.ErrInvalid},
		"the key of a lock": {func(n int) error { _, _, err := w.locks(t).Get(t.Context(), text(n)); return err }, keys.MaxBytes - len("lock#"), once.ErrInvalid},
	} {
		if err := row.call(row.most + 1); !errors.Is(err, row.error) {
			t.Errorf("%s of %d bytes: %v", name, row.most+1, err)
		}

		if err := row.call(row.most); err != nil {
			t.Errorf("%s of %d bytes: %v", name, row.most, err)
		}
	}

	for i := range 130 {
		if n, err := w.Count(t.Context(), "many", fmt.Sprint("event-", i)); n != min(i+1, 128) || err != nil {
			t.Fatalf("event %d: %d, %v", i, n, err)
		}
	}
}

// A failure keeps as much of its message as fits, in whole characters.
func TestTheMessageOfAFailureIsShortened(t *testing.T) {
	for name, message := range map[string]string{
		"short":          "the account is closed",
		"as long as may": strings.Repeat("x", 1024),
		"long":           strings.Repeat("x", 10_000),
		"wide and long":  strings.Repeat("ü", 10_000),
		"invalid":        "closed \xff",
	} {
		w := newWatchedClaims(t)
		must(t, take(t, w.Claims, "k").Fail(t.Context(), &once.Failure{Code: "Closed", Message: message}))

		_, err := w.Claim(t.Context(), "k", payload)
		message = strings.ToValidUTF8(message, "?")

		var f *once.Failure
		if !errors.As(err, &f) || f.Code != "Closed" || !strings.HasPrefix(message, f.Message) || f.Message == "" || len(f.Message) < min(len(message), 1024)-1 || name == "as long as may" && f.Message != message {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Some endpoints do not return the item that failed a condition. It is then read, and if
// that fails, so does the call. Where it is returned, nothing is read.
func TestTheItemThatFailedAConditionIsReadIfItIsNotReturned(t *testing.T) {
	for _, mode := range []string{"claim", "transaction"} {
		w := newWatchedClaims(t)
		states["completed"](t, w)
		w.calls()
		must(t, operations[mode](t.Context(), w, t))

		if n := w.transport.Count("GetItem"); n != 0 {
			t.Errorf("%s: %d reads", mode, n)
		}
		w.transport.Before(func(c *embeddedtest.Call) error {
			c.SetBody(bytes.ReplaceAll(c.Body(), []byte(`"ALL_OLD"`), []byte(`"NONE"`)))
			return nil
		})
		must(t, operations[mode](t.Context(), w, t))

		if n := w.transport.Count("GetItem"); n != 1 {
			t.Errorf("%s without the item: %d reads", mode, n)
		}
		w.transport.Inject(embeddedtest.Answer("AccessDeniedException", "GetItem"))

		if err := operations[mode](t.Context(), w, t); err == nil || !strings.Contains(err.Error(), "AccessDenied") {
			t.Errorf("%s without the item, which cannot be read: %v", mode, err)
		}
	}
}

// A key that ends during the call is refused from then on.
func TestAKeyMayEndDuringTheCall(t *testing.T) {
	for operation, mode := range map[string]func(w *watchedClaims, key string) error{
		"GetItem": func(w *watchedClaims, key string) error {
			_, _, err := w.DoRepeatable(t.Context(), key, payload, func(context.Context) ([]byte, error) { return nil, nil })
			return err
		},
		"TransactWriteItems": func(w *watchedClaims, key string) error {
			_, _, err := w.DoInTransaction(t.Context(), key, payload, nil, func(*txn.Transaction) {})
			return err
		},
	} {
		w := newWatchedClaims(t, func(c *once.Config) { c.KeysExpire = true })

		key, err := keys.Expiring("job", "1", w.clock.Now().Add(time.Minute))
		must(t, err)
		must(t, take(t, w.Claims, key).Release(t.Context()))
		w.beforeCall(operation, 1, func() { w.clock.Advance(2 * time.Minute) })

		if err := mode(w, key); !errors.Is(err, once.ErrKeyExpired) {
			t.Errorf("%s: %v", operation, err)
		}
	}
}
