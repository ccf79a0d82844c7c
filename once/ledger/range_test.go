package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"ratchet/once/ledger"
)

// TestDebitAccountStaysOnItsSideDespiteHolds holds money of a debit account without
// overdraft: the hold lowers what is available, and makes no room for credits.
func TestDebitAccountStaysOnItsSideDespiteHolds(t *testing.T) {
	for _, shards := range []int{1, 4} {
		b := newBank(t)
		b.open(t, ledger.NewAccount{ID: "sales"}, 1000)
		b.open(t, ledger.NewAccount{ID: "till", Side: ledger.Debit, Shards: shards}, 0)

		post := func(id, from, to string, amount int64) error {
			_, err := b.Post(t.Context(), ledger.Move(id, from, to, amount, "EUR"))
			return err
		}
		if err := post("in", "till", "sales", 60); err != nil {
			t.Fatal(err)
		}
		b.reserve(t, hold("h", "till", 100))

		if err := post("more", "sales", "till", 61); !errors.Is(err, ledger.ErrInsufficientFunds) {
			t.Errorf("%d shards: a credit above the balance: %v", shards, err)
		}

		// A process that has not seen the hold decides alike.
		if _, err := b.another(t).Post(t.Context(), ledger.Move("other", "sales", "till", 61, "EUR")); !errors.Is(err, ledger.ErrInsufficientFunds) {
			t.Errorf("%d shards: from another process: %v", shards, err)
		}

		if err := post("out", "sales", "till", 60); err != nil {
			t.Errorf("%d shards: a credit of the balance: %v", shards, err)
		}
		b.want(t, "till", 0, -100)

		if _, err := b.Release(t.Context(), "till", "h"); err != nil {
			t.Fatal(err)
		}
		b.want(t, "till", 0, 0)
		b.sound(t)
	}
}

// TestHoldIsSeenByTheCreditItRacesWith makes a hold between the reading of a debit account
// and the credit: the credit was planned for another amount of held money.
func TestHoldIsSeenByTheCreditItRacesWith(t *testing.T) {
	b := newBank(t)
	b.open(t, ledger.NewAccount{ID: "sales"}, 1000)
	b.open(t, ledger.NewAccount{ID: "till", Side: ledger.Debit}, 0)

	if _, err := b.Post(t.Context(), ledger.Move("in", "till", "sales", 60, "EUR")); err != nil {
		t.Fatal(err)
	}

	other := b.another(t)
	b.wire.between = func() {
		if _, _, err := other.Reserve(t.Context(), hold("h", "till", 100)); err != nil {
			t.Error(err)
		}
	}

	if _, err := b.Post(t.Context(), ledger.Move("more", "sales", "till", 61, "EUR")); !errors.Is(err, ledger.ErrInsufficientFunds) {
		t.Errorf("%v", err)
	}
	b.want(t, "till", -60, -160)
	b.sound(t)
}

// TestBalanceIsBoundedDespiteHolds fills an account, holds as much as is allowed, fills the account
// again and releases everything. The balance stays below 2^53, and the account is not stuck.
func TestBalanceIsBoundedDespiteHolds(t *testing.T) {
	b := newBank(t)
	b.open(t, ledger.NewAccount{ID: "a"}, 0)
	b.open(t, ledger.NewAccount{ID: "sink", Overdraft: true}, 0)

	for i := range 2 {
		b.open(t, ledger.NewAccount{ID: fmt.Sprint("world-", i), Side: ledger.Debit, Overdraft: true}, 0)
	}

	made, holds := 0, 0
	for round := range 3 {
		for i := range 9 {
			if _, err := b.Post(t.Context(), ledger.Move(fmt.Sprintf("t-%d-%d", round, i), fmt.Sprint("world-", made/9), "a", ledger.MaxAmount, "EUR")); err == nil {
				made++
			} else if !errors.Is(err, ledger.ErrBalanceRange) {
				t.Fatal(err)
			}
		}

		for i := range 9 {
			if _, _, err := b.Reserve(t.Context(), hold(fmt.Sprintf("h-%d-%d", round, i), "a", ledger.MaxAmount)); err == nil {
				holds++
			} else if !errors.Is(err, ledger.ErrBalanceRange) && !errors.Is(err, ledger.ErrInsufficientFunds) {
				t.Fatal(err)
			}
		}
	}

	if made != 9 || holds != 3 {
		t.Errorf("%d credits and %d holds of the largest amount", made, holds)
	}
	b.want(t, "a", 9*ledger.MaxAmount, 6*ledger.MaxAmount)

	for i := range 3 {
		if _, err := b.Release(t.Context(), "a", fmt.Sprint("h-0-", i)); err != nil {
			t.Fatal(err)
		}
	}
	b.want(t, "a", 9*ledger.MaxAmount, 9*ledger.MaxAmount)

	if _, err := b.Post(t.Context(), ledger.Move("back", "a", "sink", 1, "EUR")); err != nil {
		t.Errorf("a debit of the full account: %v", err)
	}
	b.sound(t)
}

// TestAccountsOutOfRangeCanComeBack has rows that someone changed by hand: balances beyond
// the range, and a debit account with a positive balance. What brings such an account
// back is allowed, what brings it further away is refused.
func TestAccountsOutOfRangeCanComeBack(t *testing.T) {
	const most = 9 * ledger.MaxAmount
	b := newBank(t)
	b.open(t, ledger.NewAccount{ID: "world", Side: ledger.Debit, Overdraft: true}, 0)

	for id, n := range map[string]ledger.NewAccount{"full": {}, "low": {Overdraft: true}, "till": {Side: ledger.Debit}} {
		n.ID = id
		b.open(t, n, 0)
	}

	for _, id := range []string{"full", "low"} {
		b.tamper(t, "accounts", item{"accountId": str(id)}, "SET available = :a", item{":a": num(ledger.MaxAmount)})
		b.reserve(t, hold("settled", id, 500))
		b.reserve(t, hold("released", id, 500))
	}

	b.tamper(t, "accounts", item{"accountId": str("full")}, "SET available = :a, held = :h", item{":a": num(most), ":h": num(most)})
	b.tamper(t, "accounts", item{"accountId": str("low")}, "SET available = :a", item{":a": num(-most - 1)})
	b.tamper(t, "accounts", item{"accountId": str("till")}, "SET available = :a, held = :h", item{":a": num(50), ":h": num(50)})

	for _, c := range []struct {
		name string
		do   func(*ledger.Ledger) error
		want error
	}{
		{"settle a hold of a full account", move(settle("s-1", "full", "settled", "world", 500, false)), nil},
		{"settle a hold of a low account", move(settle("s-2", "low", "settled", "world", 500, false)), nil},
		{"release a hold of a full account", func(l *ledger.Ledger) error { _, err := l.Release(t.Context(), "full", "released"); return err }, nil},
		{"release a hold of a low account", func(l *ledger.Ledger) error { _, err := l.Release(t.Context(), "low", "released"); return err }, nil},
		{"debit a full account", move(ledger.Move("d-1", "full", "world", 1000, "EUR")), nil},
		{"credit a full account", move(ledger.Move("c-1", "world", "full", 1, "EUR")), ledger.ErrBalanceRange},
		{"credit a low account", move(ledger.Move("c-2", "world", "low", 1, "EUR")), nil},
		{"debit a low account", move(ledger.Move("d-2", "low", "world", 1000, "EUR")), ledger.ErrBalanceRange},
		{"debit a debit account that is positive", move(ledger.Move("d-3", "till", "world", 99, "EUR")), nil},
		{"credit it", move(ledger.Move("c-3", "world", "till", 1, "EUR")), ledger.ErrInsufficientFunds},
		{"debit it further", move(ledger.Move("d-4", "till", "world", 2, "EUR")), nil},
		{"credit it up to zero", move(ledger.Move("c-4", "world", "till", 1, "EUR")), nil},
	} {
		if err := c.do(b.Ledger); !errors.Is(err, c.want) || c.want == nil && err != nil {
			t.Errorf("%s: got %v, want %v", c.name, err, c.want)
		}
	}
}

func move(t ledger.Transfer) func(*ledger.Ledger) error {
	return func(l *ledger.Ledger) error { _, err := l.Post(context.Background(), t); return err }
}

// TestTransferOverTooManyShardsNamesTheRule debits four accounts of 16 shards, each of which
// has too little on any one shard.
func TestTransferOverTooManyShardsNamesTheRule(t *testing.T) {
	b := newBank(t)
	b.open(t, ledger.NewAccount{ID: "sink"}, 0)

	big := ledger.Transfer{ID: "big", Currency: "EUR"}
	for i := range 4 {
		id := fmt.Sprint("s-", i)
		b.open(t, ledger.NewAccount{ID: id, Shards: 16}, 0)

		for shard := range 16 {
			key := id
			if shard > 0 {
				key = fmt.Sprint(id, "#", shard)
			}
			b.tamper(t, "accounts", item{"accountId": str(key)}, "SET available = :a", item{":a": num(10)})
		}
		big.Legs = append(big.Legs, ledger.Leg{Account: id, Amount: -160})
	}
	big.Legs = append(big.Legs, ledger.Leg{Account: "sink", Amount: 640})

	var refusal *ledger.RefusedError
	_, err := b.Post(t.Context(), big)
	if !errors.Is(err, ledger.ErrTooManyShards) || !errors.Is(err, ledger.ErrInvalid) || !errors.As(err, &refusal) || !strings.Contains(err.Error(), "131 items, at most 100") {
		t.Errorf("%v", err)
	}

	// Whether it was made before cannot be told without its record.
	l, h := b.newHooked(t)
	lost := errors.New("lost")
	h.get = func(table string) error { return map[string]error{"transfers": lost}[table] }

	if _, err := l.Post(t.Context(), big); !errors.Is(err, lost) || !strings.HasPrefix(err.Error(), "read transfer big: ") {
		t.Errorf("%v", err)
	}

	// Two of the accounts fit, and a repeat is answered by the record.
	big.ID, big.Legs = "two", []ledger.Leg{big.Legs[0], big.Legs[1], {Account: "sink", Amount: 320}}
	for _, replayed := range []bool{false, true} {
		if posted, err := b.Post(t.Context(), big); err != nil || posted.Replayed != replayed || len(posted.Postings) != 33 {
			t.Errorf("%+v, %v", posted, err)
		}
	}
}

// TestRestoredAccountIsReadAgain puts back an account as it was before, as a restored backup
// does: the process that remembers a newer one goes on with what is there.
func TestRestoredAccountIsReadAgain(t *testing.T) {
	b := newBank(t)
	b.open(t, ledger.NewAccount{ID: "alice"}, 1000)
	b.open(t, ledger.NewAccount{ID: "bob"}, 0)
	before := b.item(t, "accounts", item{"accountId": str("alice")})

	for i := range 3 {
		if _, err := b.Post(t.Context(), ledger.Move(fmt.Sprint("t-", i), "alice", "bob", 100, "EUR")); err != nil {
			t.Fatal(err)
		}
	}

	for seq := range 3 {
		b.remove(t, "ledger", item{"accountId": str("alice"), "sequence": num(int64(2 + seq))})
	}
	b.put(t, "accounts", before)

	if _, err := b.Post(t.Context(), ledger.Move("after", "alice", "bob", 100, "EUR")); err != nil {
		t.Error(err)
	}
	b.want(t, "alice", 900, 900)
}
