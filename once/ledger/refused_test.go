package ledger_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"ratchet/once/ledger"
)

// What an account allows to the last unit, it allows also if the first attempt met an account
// that another process had written meanwhile.
func TestAStaleAccountDecidesNothing(t *testing.T) {
	const (
		most  = 6 * ledger.MaxAmount
		least = -9 * ledger.MaxAmount
	)

	for _, c := range []struct {
		name      string
		account   ledger.NewAccount
		available int64
		amount    int64
		want      error
	}{
		{"a debit of everything", ledger.NewAccount{}, 100, -100, nil},
		{"a debit of one unit more", ledger.NewAccount{}, 100, -101, ledger.ErrInsufficientFunds},
		{"a credit up to the limit", ledger.NewAccount{}, most - 5, 5, nil},
		{"a credit of one unit more", ledger.NewAccount{}, most - 5, 6, ledger.ErrBalanceRange},
		{"an overdraft down to the limit", ledger.NewAccount{Overdraft: true}, least + 5, -5, nil},
		{"an overdraft of one unit more", ledger.NewAccount{Overdraft: true}, least + 5, -6, ledger.ErrBalanceRange},
		{"a credit up to the balance 0 of a debit account", ledger.NewAccount{Side: ledger.Debit}, -100, 100, nil},
		{"a credit of one unit more than that", ledger.NewAccount{Side: ledger.Debit}, -100, 101, ledger.ErrInsufficientFunds},
	} {
		b := newBank(t)
		c.account.ID = "a"
		b.open(t, c.account, 0)
		b.open(t, ledger.NewAccount{ID: "other", Overdraft: true}, 0)
		b.tamper(t, "accounts", item{"accountId": str("a")}, "SET available = :a", item{":a": num(c.available)})

		b.wire.between = func() {
			b.tamper(t, "accounts", item{"accountId": str("a")}, "SET #sequence = :one", item{":one": num(1)})
		}

		if _, err := b.Post(t.Context(), ledger.Move("t", "a", "other", -c.amount, "EUR")); !errors.Is(err, c.want) || c.want == nil && err != nil {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
}

// A refused hold names the rule that stands in its way.
func TestARefusedHoldNamesItsRule(t *testing.T) {
	for _, c := range []struct {
		name            string
		account         ledger.NewAccount
		available, held int64
		want            error
	}{
		{"too little is available", ledger.NewAccount{}, 9, 0, ledger.ErrInsufficientFunds},
		{"too little is available, and as much is held as may be", ledger.NewAccount{}, 9, 3*ledger.MaxAmount - 10, ledger.ErrInsufficientFunds},
		{"one unit more is held", ledger.NewAccount{}, 9, 3*ledger.MaxAmount - 9, ledger.ErrBalanceRange},
		{"the account is at its limit", ledger.NewAccount{}, -9*ledger.MaxAmount + 10, 0, ledger.ErrInsufficientFunds},
		{"the account is one unit below", ledger.NewAccount{}, -9*ledger.MaxAmount + 9, 0, ledger.ErrBalanceRange},
		{"an overdraft down to the limit", ledger.NewAccount{Overdraft: true}, -9*ledger.MaxAmount + 10, 0, nil},
		{"an overdraft of one unit more", ledger.NewAccount{Overdraft: true}, -9*ledger.MaxAmount + 9, 0, ledger.ErrBalanceRange},
		{"as much is held as may be", ledger.NewAccount{}, 10, 3*ledger.MaxAmount - 10, nil},
	} {
		b := newBank(t)
		c.account.ID = "a"
		b.open(t, c.account, 0)
		b.tamper(t, "accounts", item{"accountId": str("a")}, "SET available = :a, held = :h", item{":a": num(c.available), ":h": num(c.held)})

		if _, _, err := b.Reserve(t.Context(), hold("h", "a", 10)); !errors.Is(err, c.want) || c.want == nil && err != nil {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
}

// An account that holds less than its hold has left contradicts it, unless the hold has
// changed meanwhile: it is read again, twice.
func TestAHoldThatItsAccountDoesNotHoldIsReadAgain(t *testing.T) {
	for _, c := range []struct {
		name   string
		held   []int64 // the account's held money before each transaction
		entry  bool    // the account gets an entry before each transaction
		want   error
		rounds int
		reads  int // of the hold
	}{
		{"it holds too little for good", []int64{699, 699, 699, 699}, false, ledger.ErrCorrupt, 3, 3},
		{"it held too little for a moment", []int64{699, 699, 700}, false, nil, 3, 3},
		{"it gets other entries", []int64{700, 700, 700, 700, 700}, true, nil, 6, 1},
	} {
		b := newBank(t)
		b.open(t, ledger.NewAccount{ID: "alice"}, 1000)
		b.open(t, ledger.NewAccount{ID: "shop"}, 0)
		b.reserve(t, hold("h", "alice", 700))

		b.race(len(c.held), func(round int) {
			b.tamper(t, "accounts", item{"accountId": str("alice")}, "SET held = :h", item{":h": num(c.held[round-1])})

			if c.entry {
				b.tamper(t, "accounts", item{"accountId": str("alice")}, "SET #sequence = :s", item{":s": num(int64(10 + round))})
			}
		})

		l, h := b.newHooked(t)
		reads := 0
		h.get = func(string) error { reads++; return nil }

		sent := b.wire.sent
		_, err := l.Post(t.Context(), settle("t", "alice", "h", "shop", 500, true))
		b.wire.between = nil

		if !errors.Is(err, c.want) || c.want == nil && err != nil || b.wire.sent-sent != c.rounds || reads != c.reads {
			t.Errorf("%s: %v after %d transactions and %d reads of the hold", c.name, err, b.wire.sent-sent, reads)
		}

		if want := fmt.Sprint("transfer t: account alice holds 699, its hold h has 700 left there: ", ledger.ErrCorrupt); c.want != nil && err.Error() != want {
			t.Errorf("%s: %q, want %q", c.name, err, want)
		}
	}
}

// A hold that another process changes meanwhile is found again, whichever shard it is on and
// whichever leg it pays.
func TestAHoldOfAnyShardAndLegIsReadAgain(t *testing.T) {
	for _, c := range []struct {
		name    string
		between func(other *ledger.Ledger) error
		want    error
	}{
		{"a part of it was settled", func(other *ledger.Ledger) error {
			_, err := other.Post(t.Context(), settle("other", "wide", "h", "shop", 10, false))
			return err
		}, nil},
		{"it was released", func(other *ledger.Ledger) error { _, err := other.Release(t.Context(), "wide", "h"); return err }, ledger.ErrHoldClosed},
	} {
		for _, reverse := range []bool{false, true} {
			b := newBank(t)
			b.open(t, ledger.NewAccount{ID: "shop"}, 0)
			b.spreadOut(t, "wide", 0, 100)
			b.reserve(t, hold("h", "wide", 100))

			other := b.another(t)
			b.wire.between = func() {
				if err := c.between(other); err != nil {
					t.Errorf("%s: %v", c.name, err)
				}
			}

			tr := settle("t", "wide", "h", "shop", 90, false)
			if reverse {
				slices.Reverse(tr.Legs)
			}

			if _, err := b.Post(t.Context(), tr); !errors.Is(err, c.want) || c.want == nil && err != nil || err != nil && refusalOf(t, err).Account != "wide" {
				t.Errorf("%s, reverse %v: %v, want %v", c.name, reverse, err, c.want)
			}
		}
	}
}

// A hold of an account that is lost pays nothing.
func TestAHoldOfALostAccountPaysNothing(t *testing.T) {
	b := newBank(t)
	b.open(t, ledger.NewAccount{ID: "alice"}, 1000)
	b.open(t, ledger.NewAccount{ID: "shop"}, 0)
	b.reserve(t, hold("h", "alice", 700))
	b.remove(t, "accounts", item{"accountId": str("alice")})

	for _, l := range []*ledger.Ledger{b.Ledger, b.another(t)} {
		if _, err := l.Post(t.Context(), settle("t", "alice", "h", "shop", 10, false)); !errors.Is(err, ledger.ErrUnknownAccount) || refusalOf(t, err).Account != "alice" {
			t.Errorf("%v", err)
		}
	}
	b.want(t, "shop", 0, 0)
}

// An entry that its account has not counted is not overwritten.
func TestAnEntryIsNotOverwritten(t *testing.T) {
	b := newBank(t)
	b.open(t, ledger.NewAccount{ID: "alice"}, 1000)
	b.open(t, ledger.NewAccount{ID: "shop"}, 0)
	b.tamper(t, "ledger", item{"accountId": str("alice"), "sequence": num(2)}, "SET #amount = :v", item{":v": num(7)})

	if _, err := b.Post(t.Context(), ledger.Move("t", "alice", "shop", 10, "EUR")); !errors.Is(err, ledger.ErrCorrupt) || !strings.HasPrefix(err.Error(), "transfer t: ") {
		t.Errorf("%v", err)
	}
	b.want(t, "alice", 1000, 1000)
	b.want(t, "shop", 0, 0)
}
