package ledger_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"ratchet/once/ledger"
)

func TestPostIsIdempotent(t *testing.T) {
	b := newBank(t)
	b.open(t, ledger.NewAccount{ID: "alice"}, 1000)
	b.open(t, ledger.NewAccount{ID: "bob"}, 0)
	move := ledger.Move("t-1", "alice", "bob", 400, "EUR")
	move.Reference = "invoice 7"

	first, err := b.Post(t.Context(), move)
	if err != nil || first.Replayed {
		t.Fatalf("%+v, %v", first, err)
	}

	want := []ledger.Posting{{Account: "alice", Amount: -400, Sequence: 2, Balance: 600}, {Account: "bob", Amount: 400, Sequence: 1, Balance: 400}}
	if fmt.Sprint(first.Postings) != fmt.Sprint(want) {
		t.Errorf("postings %+v, want %+v", first.Postings, want)
	}
	b.now.Add(24 * time.Hour.Milliseconds())

	for _, l := range []*ledger.Ledger{b.Ledger, b.another(t)} {
		again, err := l.Post(t.Context(), move)
		if err != nil || !again.Replayed || fmt.Sprint(again.Postings) != fmt.Sprint(want) || !again.At.Equal(first.At) || again.Reference != "invoice 7" {
			t.Errorf("again: %+v, %v", again, err)
		}
	}
	b.want(t, "alice", 600, 600)
	b.want(t, "bob", 400, 400)

	read, found, err := b.Transfer(t.Context(), "t-1")
	if err != nil || !found || fmt.Sprint(read) != fmt.Sprint(first) {
		t.Errorf("read %+v, wrote %+v, %v", read, first, err)
	}

	if _, found, err := b.Transfer(t.Context(), "t-2"); found || err != nil {
		t.Errorf("a transfer that was never made: %v, %v", found, err)
	}
	b.sound(t)
}

func TestEachRefusalHasItsOwnError(t *testing.T) {
	b := newBank(t)
	b.open(t, ledger.NewAccount{ID: "alice"}, 1000)
	b.open(t, ledger.NewAccount{ID: "bob"}, 10)
	b.open(t, ledger.NewAccount{ID: "dollars", Currency: "USD"}, 1000)
	b.open(t, ledger.NewAccount{ID: "closed"}, 0)
	b.open(t, ledger.NewAccount{ID: "cash", Side: ledger.Debit}, 0)
	b.open(t, ledger.NewAccount{ID: "full", Overdraft: true}, 0)

	for i := range 9 {
		if _, err := b.Post(t.Context(), ledger.Move(fmt.Sprint("fill-", i), "world/EUR", "full", ledger.MaxAmount, "EUR")); err != nil {
			b.open(t, ledger.NewAccount{ID: "unused"}, 0)

			if i < 6 || !errors.Is(err, ledger.ErrBalanceRange) {
				t.Fatal(i, err)
			}
		}
	}

	if err := b.CloseAccount(t.Context(), "closed"); err != nil {
		t.Fatal(err)
	}

	if _, err := b.Post(t.Context(), ledger.Move("made", "alice", "bob", 1, "EUR")); err != nil {
		t.Fatal(err)
	}

	for name, c := range map[string]struct {
		transfer ledger.Transfer
		want     error
		account  string
	}{
		"insufficient funds":         {ledger.Move("x", "alice", "bob", 1000, "EUR"), ledger.ErrInsufficientFunds, "alice"},
		"an unknown destination":     {ledger.Move("x", "alice", "nobody", 1, "EUR"), ledger.ErrUnknownAccount, "nobody"},
		"an unknown source":          {ledger.Move("x", "nobody", "bob", 1, "EUR"), ledger.ErrUnknownAccount, "nobody"},
		"a closed account":           {ledger.Move("x", "alice", "closed", 1, "EUR"), ledger.ErrAccountClosed, "closed"},
		"another currency":           {ledger.Move("x", "alice", "dollars", 1, "EUR"), ledger.ErrCurrencyMismatch, "dollars"},
		"both have another currency": {ledger.Move("x", "alice", "bob", 1, "USD"), ledger.ErrCurrencyMismatch, "alice"},
		"the balance's range":        {ledger.Move("x", "world/EUR", "full", ledger.MaxAmount, "EUR"), ledger.ErrBalanceRange, "full"},
		"the other side":             {ledger.Move("x", "alice", "cash", 1, "EUR"), ledger.ErrInsufficientFunds, "cash"},
		"an unknown hold": {ledger.Transfer{ID: "x", Currency: "EUR", Legs: []ledger.Leg{{Account: "alice", Amount: -1, Hold: "none"}, {Account: "bob", Amount: 1}}},
			ledger.ErrUnknownHold, "alice"},
		"the id with other content":             {ledger.Move("made", "alice", "bob", 2, "EUR"), ledger.ErrConflict, ""},
		"the id with other content, no account": {ledger.Move("made", "alice", "nobody", 1, "EUR"), ledger.ErrConflict, ""},
	} {
		_, err := b.Post(t.Context(), c.transfer)
		var refusal *ledger.RefusedError
		if !errors.As(err, &refusal) || !errors.Is(err, c.want) || refusal.Account != c.account {
			t.Errorf("%s: got %v, want %v by %q", name, err, c.want, c.account)
		}
	}

	if _, found, err := b.Transfer(t.Context(), "x"); found || err != nil {
		t.Errorf("a refusal left a record: %v, %v", found, err)
	}
	b.sound(t)
}

func TestReplayOutranksEveryRefusal(t *testing.T) {
	b := newBank(t)
	b.open(t, ledger.NewAccount{ID: "alice"}, 100)
	b.open(t, ledger.NewAccount{ID: "bob"}, 0)

	if _, err := b.Post(t.Context(), ledger.Move("t", "alice", "bob", 100, "EUR")); err != nil {
		t.Fatal(err)
	}

	if err := b.CloseAccount(t.Context(), "alice"); err != nil {
		t.Fatal(err)
	}

	if again, err := b.Post(t.Context(), ledger.Move("t", "alice", "bob", 100, "EUR")); err != nil || !again.Replayed {
		t.Errorf("alice is empty and closed: %+v, %v", again, err)
	}
}

func TestInvalidTransfersAreNotSent(t *testing.T) {
	b := newBank(t)

	leg := func(account string, amount int64) ledger.Leg { return ledger.Leg{Account: account, Amount: amount} }
	many := make([]ledger.Leg, 25)
	for i := range many {
		many[i] = leg(fmt.Sprint("a-", i), 1)
	}

	sent := b.wire.sent
	for says, transfer := range map[string]ledger.Transfer{
		"id: 1 to 128":             ledger.Move("", "a", "b", 1, "EUR"),
		"id: 1 to 128 of":          ledger.Move("a b", "a", "b", 1, "EUR"),
		"currency":                 ledger.Move("x", "a", "b", 1, "eur"),
		"account a twice":          ledger.Move("x", "a", "a", 1, "EUR"),
		"amount 0":                 ledger.Move("x", "a", "b", 0, "EUR"),
		"amount 1000000000000001":  ledger.Move("x", "b", "a", -ledger.MaxAmount-1, "EUR"),
		"amount -1000000000000001": ledger.Move("x", "a", "b", ledger.MaxAmount+1, "EUR"),
		"legs: account":            ledger.Move("x", "a#1", "b", 1, "EUR"),
		"they sum to 1":            {ID: "x", Currency: "EUR", Legs: []ledger.Leg{leg("a", -1), leg("b", 2)}},
		"1 legs":                   {ID: "x", Currency: "EUR", Legs: []ledger.Leg{leg("a", 1)}},
		"25 legs":                  {ID: "x", Currency: "EUR", Legs: many},
		"release without a hold":   {ID: "x", Currency: "EUR", Legs: []ledger.Leg{{Account: "a", Amount: -1, Release: true}, leg("b", 1)}},
		"a hold is debited":        {ID: "x", Currency: "EUR", Legs: []ledger.Leg{{Account: "a", Amount: 1, Hold: "h"}, leg("b", -1)}},
		"reference":                {ID: "x", Currency: "EUR", Legs: []ledger.Leg{leg("a", 1), leg("b", -1)}, Reference: strings.Repeat("x", 257)},
	} {
		if _, err := b.Post(t.Context(), transfer); !errors.Is(err, ledger.ErrInvalid) || !strings.Contains(err.Error(), says) {
			t.Errorf("want %q, got %v", says, err)
		}
	}

	if b.wire.sent != sent {
		t.Errorf("%d transactions were sent", b.wire.sent-sent)
	}
}

func TestTransferOfSeveralLegsIsOneTransaction(t *testing.T) {
	b := newBank(t)
	b.open(t, ledger.NewAccount{ID: "customer"}, 1000)

	for _, id := range []string{"merchant", "fees", "tax"} {
		b.open(t, ledger.NewAccount{ID: id}, 0)
	}

	sent := b.wire.sent
	split := ledger.Transfer{ID: "sale", Currency: "EUR", Legs: []ledger.Leg{{Account: "customer", Amount: -1000}, {Account: "merchant", Amount: 800},
		{Account: "fees", Amount: 30}, {Account: "tax", Amount: 170}}}
	if _, err := b.Post(t.Context(), split); err != nil {
		t.Fatal(err)
	}

	if b.wire.sent != sent+1 {
		t.Errorf("%d transactions", b.wire.sent-sent)
	}

	for id, want := range map[string]int64{"customer": 0, "merchant": 800, "fees": 30, "tax": 170} {
		b.want(t, id, want, want)
	}
	b.sound(t)
}

func TestCachedAccountIsNotReadAgain(t *testing.T) {
	b := newBank(t)
	b.open(t, ledger.NewAccount{ID: "alice"}, 1000)
	b.open(t, ledger.NewAccount{ID: "bob"}, 0)
	move := func(l *ledger.Ledger, id string) {
		t.Helper()

		if _, err := l.Post(t.Context(), ledger.Move(id, "alice", "bob", 1, "EUR")); err != nil {
			t.Fatal(err)
		}
	}
	move(b.Ledger, "t-1")
	reads, sent := b.wire.reads, b.wire.sent
	move(b.Ledger, "t-2")

	if b.wire.reads != reads || b.wire.sent != sent+1 {
		t.Errorf("%d reads and %d writes for a transfer between known accounts", b.wire.reads-reads, b.wire.sent-sent)
	}
	// Another process makes a transfer. The cache is stale, and the failed condition returns
	// the present account.
	other := b.another(t)
	move(other, "t-3")
	reads, sent = b.wire.reads, b.wire.sent
	move(b.Ledger, "t-4")

	if b.wire.reads != reads || b.wire.sent != sent+2 {
		t.Errorf("%d reads and %d writes after another process wrote", b.wire.reads-reads, b.wire.sent-sent)
	}
	b.sound(t)
}

func TestLostAnswerIsRecognized(t *testing.T) {
	for _, fresh := range []bool{false, true} {
		b := newBank(t)
		b.open(t, ledger.NewAccount{ID: "alice"}, 1000)
		b.open(t, ledger.NewAccount{ID: "bob"}, 0)

		b.wire.lose, b.wire.fresh = 2, fresh
		posted, err := b.Post(t.Context(), ledger.Move("t-1", "alice", "bob", 400, "EUR"))
		if err != nil || posted.Replayed || len(posted.Postings) != 2 {
			t.Errorf("fresh tokens %v: the call made the transfer itself: %+v, %v", fresh, posted, err)
		}
		b.want(t, "alice", 600, 600)
		b.wire.lose = 2

		hold, replayed, err := b.Reserve(t.Context(), ledger.NewHold{ID: "h", Account: "alice", Amount: 100, Currency: "EUR"})
		if err != nil || replayed || hold.Remaining != 100 {
			t.Errorf("hold: %+v, %v, %v", hold, replayed, err)
		}
		b.want(t, "alice", 600, 500)

		b.wire.lose = 2
		if hold, err := b.Release(t.Context(), "alice", "h"); err != nil || hold.Status != ledger.HoldReleased {
			t.Errorf("release: %+v, %v", hold, err)
		}
		b.want(t, "alice", 600, 600)

		b.wire.lose = 2
		if _, replayed, err := b.CreateAccount(t.Context(), ledger.NewAccount{ID: "carol", Currency: "EUR"}); err != nil || replayed {
			t.Errorf("create: %v, %v", replayed, err)
		}
		b.sound(t)
	}
}

func TestConflictsAreTriedAgain(t *testing.T) {
	b := newBank(t)
	b.open(t, ledger.NewAccount{ID: "alice"}, 1000)
	b.open(t, ledger.NewAccount{ID: "bob"}, 0)

	b.wire.refuse = 4
	if _, err := b.Post(t.Context(), ledger.Move("t-1", "alice", "bob", 400, "EUR")); err != nil {
		t.Fatal(err)
	}
	b.want(t, "bob", 400, 400)
}
