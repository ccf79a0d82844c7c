package once_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"ratchet/once"
	"ratchet/once/keys"
)

func TestATicketContinuesTheClaimElsewhere(t *testing.T) {
	w := newWatchedClaims(t)
	claim, err := w.Claim(t.Context(), "k", []byte("p"))
	if err != nil {
		t.Fatal(err)
	}

	ticket := claim.Ticket()
	elsewhere, err := w.with(t).Resume("k", ticket)
	if err != nil || elsewhere.Fence() != claim.Fence() {
		t.Fatalf("%v", err)
	}

	if err := elsewhere.Extend(t.Context()); err != nil {
		t.Errorf("extend: %v", err)
	}

	if err := elsewhere.Complete(t.Context(), []byte("done")); err != nil {
		t.Errorf("complete: %v", err)
	}

	if again, err := w.Resume("k", ticket); err != nil || again.Complete(t.Context(), []byte("done")) != nil {
		t.Error("the repeat of a completion must succeed")
	}

	if late, err := w.Resume("k", ticket); err != nil || late.Release(t.Context()) == nil {
		t.Error("an ended claim must not be released")
	}

	if replay, err := w.Claim(t.Context(), "k", []byte("p")); err != nil || string(replay.Result) != "done" || replay.Ticket() != "" {
		t.Errorf("%+v, %v", replay, err)
	}
}

func TestATicketIsUselessAfterATakeover(t *testing.T) {
	w := newWatchedClaims(t)
	first, err := w.Claim(t.Context(), "k", nil)
	if err != nil {
		t.Fatal(err)
	}
	w.clock.Advance(time.Hour)

	if _, err := w.Claim(t.Context(), "k", nil); err != nil {
		t.Fatal(err)
	}

	late, err := w.Resume("k", first.Ticket())
	if err != nil {
		t.Fatal(err)
	}

	if err := late.Complete(t.Context(), nil); !errors.Is(err, once.ErrStaleOwner) {
		t.Errorf("%v", err)
	}
}

func TestAMalformedTicketIsRefused(t *testing.T) {
	w := newWatchedClaims(t)
	for _, text := range []string{"", "x", "AAAAAAAAAAAAAAAAAAAAAAAAAA", "AAAAAAAAAAAAAAAAAAAAAAAAAA-1-2", strings.Repeat("A", 1000), "AAAAAAAAAAAAAAAAAAAAAAAAAA-1-2-3", "AAAAAAAAAAAAAAAAAAAAAAAAAA-1-2-!"} {
		if _, err := w.Resume("k", once.Ticket(text)); !errors.Is(err, once.ErrInvalid) {
			t.Errorf("%q: %v", text, err)
		}
	}

	claim, err := w.Claim(t.Context(), "k", nil)
	if err != nil {
		t.Fatal(err)
	}

	for _, key := range []string{"", strings.Repeat("k", keys.MaxBytes+1), "lock#k"} {
		if _, err := w.Resume(key, claim.Ticket()); !errors.Is(err, once.ErrInvalid) {
			t.Errorf("a ticket for the key %.10q: %v", key, err)
		}
	}

	if text := fmt.Sprintf("%v %+v %#v %s", claim.Ticket(), claim.Ticket(), claim.Ticket(), claim.Ticket()); strings.Contains(text, string(claim.Ticket())[:26]) {
		t.Error("a ticket must not print its secret")
	}
}

func TestAForgedTicketDoesNotLengthenTheLeaseOrTheRetention(t *testing.T) {
	w := newWatchedClaims(t, func(c *once.Config) { c.KeysExpire = true })
	end := w.clock.Now().Add(10 * time.Minute)

	key, err := keys.Expiring("coupon", "o-1", end)
	if err != nil {
		t.Fatal(err)
	}
	ticket := take(t, w.Claims, key).Ticket()
	parts := strings.SplitN(string(ticket), "-", 4)
	parts[2] = "999999999999" // behind owner and fence

	forged, err := w.Resume(key, once.Ticket(strings.Join(parts, "-")))
	if err != nil {
		t.Fatal(err)
	}

	if err := forged.Extend(t.Context()); err != nil {
		t.Fatal(err)
	}

	r, _, err := w.Get(t.Context(), key)
	if err != nil || r.LeaseUntil.After(w.clock.Now().Add(time.Minute)) || r.ExpiresAt.After(w.clock.Now().Add(time.Hour)) {
		t.Errorf("lease until %s, kept until %s, %v", r.LeaseUntil, r.ExpiresAt, err)
	}
}

func TestARepeatedRequestGetsItsClaimAgain(t *testing.T) {
	w := newWatchedClaims(t)
	as := func(owner, payload string) (*once.Claim, error) {
		return w.ClaimAs(t.Context(), owner, "k", []byte(payload))
	}

	first, err := as("request-1", "p")
	if err != nil || first.Outcome != once.Acquired {
		t.Fatalf("%+v, %v", first, err)
	}

	again, err := as("request-1", "p")
	if err != nil || again.Ticket() != first.Ticket()+".t" || again.Outcome != once.TakenOver {
		t.Errorf("the repeat must be TakenOver, because its work may have begun: %+v, %v", again, err)
	}

	if strings.Contains(string(first.Ticket()), "request-1") {
		t.Error("the ticket contains the name of the request")
	}

	if _, err := as("request-2", "p"); !errors.Is(err, once.ErrInProgress) {
		t.Errorf("another request: %v", err)
	}

	if _, err := as("request-1", "other"); !errors.Is(err, once.ErrMismatch) {
		t.Errorf("another payload: %v", err)
	}

	if _, err := as("", "p"); !errors.Is(err, once.ErrInvalid) {
		t.Errorf("an empty name: %v", err)
	}
	w.clock.Advance(time.Minute + 2*time.Second)

	later, err := as("request-1", "p")
	if err != nil || later.Fence() != first.Fence()+1 || later.Outcome != once.TakenOver {
		t.Fatalf("after its lease: %+v, %v", later, err)
	}

	if err := first.Complete(t.Context(), nil); !errors.Is(err, once.ErrStaleOwner) {
		t.Errorf("under the former fence: %v", err)
	}

	if err := later.Complete(t.Context(), []byte("r")); err != nil {
		t.Fatal(err)
	}

	if got, err := as("request-1", "p"); err != nil || string(got.Result) != "r" {
		t.Errorf("after its end: %+v, %v", got, err)
	}
}

func TestACanceledRepeatDoesNotReleaseTheClaim(t *testing.T) {
	w := newWatchedClaims(t)
	first, err := w.ClaimAs(t.Context(), "request-1", "k", payload)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	w.cancelWithAnswer(cancel)

	if _, err := w.ClaimAs(ctx, "request-1", "k", payload); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}

	if err := first.Complete(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

func FuzzTicket(f *testing.F) {
	f.Add("AAAAAAAAAAAAAAAAAAAAAAAAAA-1-300000-AAAA")
	f.Fuzz(func(t *testing.T, text string) {
		claim, err := (&once.Claims{}).Resume("k", once.Ticket(text))
		if err == nil && claim.Fence() < 0 {
			t.Errorf("%q has fence %d", text, claim.Fence())
		}
	})
}
