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
	"ratchet/once/keys"
	"ratchet/once/txn"
)

// A claim that is extended outlives the retention, and a claim that must be resolved does not
// expire.
func TestAnExtendedClaimDoesNotExpireBeforeItsLease(t *testing.T) {
	w := newWatchedClaims(t)
	careful := w.with(t, func(c *once.Config) { c.ExpiredIsUnknown = true })
	plain, kept := take(t, w.Claims, "plain"), take(t, careful, "kept")

	for range 3 * 60 { // three times the retention
		w.clock.Advance(time.Minute - time.Millisecond)
		must(t, plain.Extend(t.Context()))
		must(t, kept.Extend(t.Context()))
	}
	refused(t, w.Claims, "plain", once.ErrInProgress)
	refused(t, careful, "kept", once.ErrInProgress)

	if r := w.stored(t, "plain"); !r.ExpiresAt.Equal(w.clock.Now().Add(time.Hour).Truncate(time.Second)) {
		t.Errorf("it expires at %s", r.ExpiresAt)
	}

	if r := w.stored(t, "kept"); !r.ExpiresAt.IsZero() {
		t.Errorf("work that must not be repeated is forgotten at %s", r.ExpiresAt)
	}
}

// An outcome that is unknown stays so until it is resolved, under any configuration.
func TestAnUnknownOutcomeIsNotForgotten(t *testing.T) {
	w := newWatchedClaims(t)
	careful := w.with(t, func(c *once.Config) { c.ExpiredIsUnknown = true })
	take(t, w.Claims, "left by a claim that would be taken over")
	must(t, take(t, w.Claims, "said so").Unknown(t.Context()))
	w.clock.Advance(pastLease)

	for _, key := range []string{"left by a claim that would be taken over", "said so"} {
		refused(t, careful, key, once.ErrUnknownOutcome)

		if r := w.stored(t, key); !r.ExpiresAt.IsZero() {
			t.Errorf("%s: it expires at %s", key, r.ExpiresAt)
		}
	}
	w.clock.Advance(24 * time.Hour)
	refused(t, w.Claims, "left by a claim that would be taken over", once.ErrUnknownOutcome)
}

// Every change of a record says when it was made.
func TestARecordSaysWhenItWasChanged(t *testing.T) {
	w := newWatchedClaims(t)
	careful := w.with(t, func(c *once.Config) { c.ExpiredIsUnknown = true })
	changed := func(about string) {
		t.Helper()

		if r := w.stored(t, "k"); !r.UpdatedAt.Equal(w.clock.Now()) {
			t.Errorf("%s at %s, not at %s", about, w.clock.Now(), r.UpdatedAt)
		}
		w.clock.Advance(time.Second)
	}

	claim := take(t, careful, "k")
	changed("claimed")
	must(t, claim.Extend(t.Context()))
	changed("extended")
	w.clock.Advance(pastLease)
	refused(t, careful, "k", once.ErrUnknownOutcome)
	changed("its lease ran out")
	must(t, w.Resolve(t.Context(), w.stored(t, "k"), once.Resolution{Status: once.StatusReleased}))
	changed("resolved")
	take(t, careful, "k")
	changed("claimed again")
	must(t, w.ForceRelease(t.Context(), w.stored(t, "k"), "ada", "stuck"))
	changed("freed")

	w.sweep(t, "k")

	ctx, cancel := context.WithCancel(t.Context())
	w.cancelWithAnswer(func() { w.clock.Advance(time.Second); cancel() })

	if _, err := careful.Claim(ctx, "k", payload); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	changed("canceled")
}

// A claim that has ended has no ticket, and Do does not end it again.
func TestAClaimEndsOnce(t *testing.T) {
	w := newWatchedClaims(t)

	_, _, err := w.Do(t.Context(), "k", payload, func(ctx context.Context, c *once.Claim) ([]byte, error) {
		if c.Ticket() == "" {
			t.Error("a claim that is held has no ticket")
		}
		must(t, c.Release(ctx))

		if c.Ticket() != "" {
			t.Error("a claim that was released has a ticket")
		}
		w.calls()

		return nil, nil
	})
	if sent := w.calls(); err != nil || len(sent) > 0 {
		t.Errorf("%v, %v", sent, err)
	}
}

// The same step again, after its answer was lost, is the step, whatever the size of a result.
func TestACompletionMayBeRepeated(t *testing.T) {
	w := newWatchedClaims(t)
	for about, size := range map[string]int{"no result": 0, "a small result": 100, "a large result": 100 << 10} {
		held := take(t, w.Claims, about)
		for range 2 {
			if err := held.Complete(t.Context(), make([]byte, size)); err != nil {
				t.Errorf("%s: %v", about, err)
			}
		}

		if err := held.Complete(t.Context(), []byte("another")); !errors.Is(err, once.ErrEnded) {
			t.Errorf("%s, then another: %v", about, err)
		}
	}
}

// A replay holds no claim: its steps are refused before anything is sent.
func TestAReplayHasNoSteps(t *testing.T) {
	w := newWatchedClaims(t)
	must(t, take(t, w.Claims, "k").Complete(t.Context(), nil))
	replay := take(t, w.Claims, "k")
	w.calls()

	steps := endings(t.Context(), replay)
	steps["complete with a large result"] = replay.Complete(t.Context(), make([]byte, 100<<10))
	steps["complete in a transaction"] = replay.CompleteIn(t.Context(), nil, func(*txn.Transaction) {})

	for step, err := range steps {
		if !errors.Is(err, once.ErrInvalid) || !strings.Contains(err.Error(), "the claim is not held") {
			t.Errorf("%s: %v", step, err)
		}
	}

	if sent := w.calls(); len(sent) > 0 {
		t.Errorf("sent %v", sent)
	}
}

// The fence of a claim can be guessed. The secret of a ticket is its owner.
func TestATicketOfAnotherOwnerEndsNothing(t *testing.T) {
	w := newWatchedClaims(t)
	ticket := string(take(t, w.Claims, "k").Ticket())
	owner, rest, _ := strings.Cut(ticket, "-")

	forged, err := w.Resume("k", once.Ticket(strings.Repeat("A", len(owner))+"-"+rest))
	must(t, err)

	for step, err := range endings(t.Context(), forged) {
		if !errors.Is(err, once.ErrStaleOwner) {
			t.Errorf("%s: %v", step, err)
		}
	}

	if r := w.stored(t, "k"); r.Status != once.StatusInProgress {
		t.Errorf("the record is %s", r.Status)
	}
}

// RetryAt says when the key becomes free.
func TestRetryAtIsWhenTheKeyBecomesFree(t *testing.T) {
	w := newWatchedClaims(t)
	take(t, w.Claims, "k")

	_, err := w.Claim(t.Context(), "k", payload)
	at, ok := once.RetryAt(err)
	if !ok || !strings.Contains(err.Error(), "until "+at.UTC().Format(time.RFC3339)) {
		t.Fatal(at, err)
	}
	w.clock.Set(at.Add(-time.Millisecond))
	refused(t, w.Claims, "k", once.ErrInProgress)
	w.clock.Set(at)
	take(t, w.Claims, "k")
}

// A key may end while a caller waits for it.
func TestAKeyMayEndDuringTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWatchedClaims(t, func(c *once.Config) { c.KeysExpire, c.Now = true, time.Now })
		w.service.clock = nil

		key, err := keys.Expiring("coupon", "1", time.Now().Add(30*time.Second))
		must(t, err)
		take(t, w.Claims, key)

		if _, err := w.Waiting(time.Hour).Claim(t.Context(), key, payload); !errors.Is(err, once.ErrKeyExpired) {
			t.Error(err)
		}
	})
}

// A caller that finds another record at each of its writes gives up, and says that the key
// is in use.
func TestARecordThatChangesAtEachWriteIsInProgress(t *testing.T) {
	for mode, operate := range operations {
		if mode != "claim" && mode != "repeatable" && mode != "transaction" {
			continue
		}
		w := newWatchedClaims(t)
		must(t, take(t, w.Claims, "k").Release(t.Context()))

		writes, inside := 0, false
		w.transport.Before(func(c *embeddedtest.Call) error {
			if inside || !c.Is("UpdateItem", "TransactWriteItems") {
				return nil
			}
			writes++
			inside = true
			must(t, take(t, w.Claims, "k").Release(t.Context()))
			inside = false

			return nil
		})

		if err := operate(t.Context(), w, t); !errors.Is(err, once.ErrInProgress) || writes != 4 {
			t.Errorf("%s: %v after %d writes", mode, err, writes)
		}
	}
}

// What this process has stored or read of a key that has ended, it need not ask for again.
func TestWhatHasEndedIsAskedForOnce(t *testing.T) {
	add := func(*txn.Transaction) {}
	for about, first := range map[string]func(t *testing.T, w *watchedClaims, cached *once.Claims) error{
		"read": func(t *testing.T, w *watchedClaims, cached *once.Claims) error {
			must(t, take(t, w.Claims, "k").Complete(t.Context(), nil))
			_, err := cached.Claim(t.Context(), "k", payload)

			return err
		},
		"completed": func(t *testing.T, _ *watchedClaims, cached *once.Claims) error {
			return take(t, cached, "k").Complete(t.Context(), nil)
		},
		"completed in a transaction": func(t *testing.T, _ *watchedClaims, cached *once.Claims) error {
			return take(t, cached, "k").CompleteIn(t.Context(), nil, add)
		},
		"written in a transaction": func(t *testing.T, _ *watchedClaims, cached *once.Claims) error {
			_, _, err := cached.DoInTransaction(t.Context(), "k", payload, nil, add)
			return err
		},
		"repeatable": func(t *testing.T, _ *watchedClaims, cached *once.Claims) error {
			_, _, err := cached.DoRepeatable(t.Context(), "k", payload, func(context.Context) ([]byte, error) { return nil, nil })
			return err
		},
	} {
		w := newWatchedClaims(t)
		cached := w.with(t, func(c *once.Config) { c.Cache = 1 })
		must(t, first(t, w, cached))
		w.calls()

		_, claimErr := cached.Claim(t.Context(), "k", payload)
		_, _, repeatErr := cached.DoRepeatable(t.Context(), "k", payload, nil)
		_, replayed, err := cached.DoInTransaction(t.Context(), "k", payload, nil, nil)
		if err := errors.Join(claimErr, repeatErr, err); err != nil || !replayed {
			t.Errorf("%s: %t %v", about, replayed, err)
		}

		if sent := w.calls(); len(sent) > 0 {
			t.Errorf("%s: asked again: %v", about, sent)
		}

		// Another payload is refused by the cache, too.
		_, _, repeatErr = cached.DoRepeatable(t.Context(), "k", []byte("other"), nil)
		if _, _, err := cached.DoInTransaction(t.Context(), "k", []byte("other"), nil, nil); !errors.Is(err, once.ErrMismatch) || !errors.Is(repeatErr, once.ErrMismatch) {
			t.Errorf("%s, another payload: %v, %v", about, err, repeatErr)
		}
	}
}

// A claim that was refused by the service was not made, so there is nothing to undo.
func TestARefusedClaimIsNotUndone(t *testing.T) {
	w := newWatchedClaims(t)
	w.transport.Inject(embeddedtest.Answer("AccessDeniedException", "UpdateItem"))
	w.calls()

	if _, err := w.Claim(t.Context(), "k", payload); err == nil || w.transport.Count() != 1 {
		t.Errorf("%d requests, %v", w.transport.Count(), err)
	}
}
