package once_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"ratchet/once"
)

func TestATicketGoesOnWithTheClaimElsewhere(t *testing.T) {
	w := newWorld(t)
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
		t.Error("the repeat of a completion whose answer was lost is refused")
	}
	if late, err := w.Resume("k", ticket); err != nil || late.Release(t.Context()) == nil {
		t.Error("an ended claim was released")
	}
	if replay, err := w.Claim(t.Context(), "k", []byte("p")); err != nil || string(replay.Result) != "done" || replay.Ticket() != "" {
		t.Errorf("%+v, %v", replay, err)
	}
}

func TestATicketIsWorthNothingAfterATakeover(t *testing.T) {
	w := newWorld(t)
	first, err := w.Claim(t.Context(), "k", nil)
	if err != nil {
		t.Fatal(err)
	}
	w.clock.advance(time.Hour)
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

func TestWhatIsNoTicketIsRefused(t *testing.T) {
	w := newWorld(t)
	for _, text := range []string{"", "x", "AAAAAAAAAAAAAAAAAAAAAAAAAA", "AAAAAAAAAAAAAAAAAAAAAAAAAA-1-2-3", strings.Repeat("A", 1000), "AAAAAAAAAAAAAAAAAAAAAAAAAA-1-2-3-!"} {
		if _, err := w.Resume("k", once.Ticket(text)); !errors.Is(err, once.ErrInvalid) {
			t.Errorf("%q: %v", text, err)
		}
	}
	claim, err := w.Claim(t.Context(), "k", nil)
	if err != nil {
		t.Fatal(err)
	}
	if text := fmt.Sprintf("%v %+v %#v %s", claim.Ticket(), claim.Ticket(), claim.Ticket(), claim.Ticket()); strings.Contains(text, string(claim.Ticket())[:26]) {
		t.Error("a ticket prints its secret")
	}
}

func FuzzTicket(f *testing.F) {
	f.Add("AAAAAAAAAAAAAAAAAAAAAAAAAA-1-300000-0-AAAA")
	f.Fuzz(func(t *testing.T, text string) {
		claim, err := (&once.Claims{}).Resume("k", once.Ticket(text))
		if err == nil && claim.Fence() < 0 {
			t.Errorf("%q has fence %d", text, claim.Fence())
		}
	})
}
