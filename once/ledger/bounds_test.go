package ledger_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"ratchet/once/ledger"
)

// A transfer at its bounds is allowed.
func TestATransferAtItsBoundsIsMade(t *testing.T) {
	b := newBank(t)
	b.open(t, ledger.NewAccount{ID: "payer", Overdraft: true}, 0)

	const legs = 24
	widest := ledger.Transfer{ID: strings.Repeat("t", 100), Currency: "EUR", Reference: strings.Repeat("r", 256)}
	widest.Legs = append(widest.Legs, ledger.Leg{Account: "payer", Amount: -(legs - 1)})

	for i := range legs - 1 {
		id := fmt.Sprint("payee-", i)
		b.open(t, ledger.NewAccount{ID: id}, 0)
		widest.Legs = append(widest.Legs, ledger.Leg{Account: id, Amount: 1})
	}

	if posted, err := b.Post(t.Context(), widest); err != nil || len(posted.Postings) != legs {
		t.Errorf("%d postings, %v", len(posted.Postings), err)
	}
	b.sound(t)
}

// spreadOut creates an account that has the amount on each of its shards.
func (b *bank) spreadOut(t *testing.T, id string, amounts ...int64) {
	t.Helper()
	b.open(t, ledger.NewAccount{ID: id, Shards: len(amounts)}, 0)

	for shard, amount := range amounts {
		key := id
		if shard > 0 {
			key = fmt.Sprint(id, "#", shard)
		}
		b.tamper(t, "accounts", item{"accountId": str(key)}, "SET available = :a", item{":a": num(amount)})
	}
}

// A transaction has 100 parts. A transfer that needs as many is made.
func TestATransferOfAHundredItemsIsMade(t *testing.T) {
	for _, c := range []struct {
		last int // shards of the last account
		want error
	}{{14, nil}, {15, ledger.ErrTooManyShards}} {
		b := newBank(t)
		b.open(t, ledger.NewAccount{ID: "sink"}, 0)
		b.spreadOut(t, "held", 10, 10)
		b.reserve(t, hold("h", "held", 20))

		// The record, the hold and its row, a shard that pays, a shard that gets money back, and the
		// sink. All but the second shard have an entry.
		big := ledger.Transfer{ID: "big", Currency: "EUR", Legs: []ledger.Leg{{Account: "held", Amount: -10, Hold: "h", Release: true}}}
		total := int64(10)

		for i, shards := range []int{16, 16, c.last} {
			amounts := make([]int64, shards)
			for shard := range amounts {
				amounts[shard] = 10
			}
			id := fmt.Sprint("s-", i)
			b.spreadOut(t, id, amounts...)
			big.Legs = append(big.Legs, ledger.Leg{Account: id, Amount: -int64(10 * shards)})
			total += int64(10 * shards)
		}
		big.Legs = append(big.Legs, ledger.Leg{Account: "sink", Amount: total})

		if _, err := b.Post(t.Context(), big); !errors.Is(err, c.want) || c.want == nil && err != nil {
			t.Errorf("%d shards: %v", c.last, err)
		}

		if c.want == nil {
			b.want(t, "held", 10, 10) // the second shard's part of the hold was returned
		}
	}
}

// A debit that is spread over shards comes from the shards with the most money, and writes no
// other shards.
func TestAsFewShardsPayAsCan(t *testing.T) {
	for _, c := range []struct {
		amount  int64
		has     []int64
		written []bool
	}{
		{80, []int64{0, 50, 0, 30, 0}, []bool{false, true, false, true, false}},
		{80, []int64{5, 20, 80, 5}, []bool{false, false, true, false}},
		{95, []int64{5, 20, 80, 5}, []bool{false, true, true, false}},
	} {
		for name, pay := range map[string]func(b *bank) error{
			"transfer": func(b *bank) error {
				_, err := b.Post(t.Context(), ledger.Move("t", "wide", "sink", c.amount, "EUR"))
				return err
			},
			"hold": func(b *bank) error { _, _, err := b.Reserve(t.Context(), hold("h", "wide", c.amount)); return err },
		} {
			b := newBank(t)
			b.open(t, ledger.NewAccount{ID: "sink"}, 0)
			b.spreadOut(t, "wide", c.has...)

			if err := pay(b); err != nil {
				t.Fatalf("%s of %d from %v: %v", name, c.amount, c.has, err)
			}

			for shard, written := range c.written {
				key := "wide"
				if shard > 0 {
					key = fmt.Sprint(key, "#", shard)
				}

				if revision := b.number(t, key, "revision"); (revision > 1) != written {
					t.Errorf("%s of %d from %v: shard %d has revision %d", name, c.amount, c.has, shard, revision)
				}
			}
		}
	}
}

// A cursor names a shard and a number that an account can have.
func TestACursorHasBounds(t *testing.T) {
	b := newBank(t)
	b.open(t, ledger.NewAccount{ID: "a"}, 1000)

	for after, valid := range map[string]bool{"0.0": true, "0.1": true, "15.0": true, "16.0": false, "-1.0": false, "0.-1": false, "0": false, "0.": false, ".0": false, "x.0": false} {
		reads := b.wire.reads
		page, next, err := b.Statement(t.Context(), "a", after, 10)

		if read := b.wire.reads - reads; after == "0.0" && read != 2 {
			t.Errorf("%d reads for the account and the only page", read)
		}

		if valid != (err == nil) || !valid && !errors.Is(err, ledger.ErrInvalid) || next != "" {
			t.Errorf("%q: %v, %q, %v", after, page, next, err)
		}

		if valid && (len(page) == 1) != (after == "0.0") {
			t.Errorf("after %q come %+v", after, page)
		}
	}
}

// An id with an owner's name can be read; an id with another suffix is refused.
func TestAnIDIsPlainOrHasAnOwner(t *testing.T) {
	b := newBank(t)
	b.open(t, ledger.NewAccount{ID: "a"}, 0)

	for id, owned := range map[string]bool{"h": false, "h#till": true, "h#abcdefghijklmnopqrst": true} {
		_, found, hold := b.Hold(t.Context(), "a", id)
		_, made, transfer := b.Transfer(t.Context(), id)

		if hold != nil || transfer != nil || found || made {
			t.Errorf("%s: %v, %v", id, hold, transfer)
		}

		if _, err := b.Release(t.Context(), "a", id); errors.Is(err, ledger.ErrReserved) != owned || !owned && !errors.Is(err, ledger.ErrUnknownHold) {
			t.Errorf("%s: %v", id, err)
		}
	}

	for _, id := range []string{"", "h#", "h#A", "h#a#b", "#till", "a b", "a b#till", "h#abcdefghijklmnopqrstu"} {
		_, _, hold := b.Hold(t.Context(), "a", id)
		_, _, transfer := b.Transfer(t.Context(), id)
		_, release := b.Release(t.Context(), "a", id)

		for _, err := range []error{hold, transfer, release} {
			if !errors.Is(err, ledger.ErrInvalid) || errors.Is(err, ledger.ErrReserved) {
				t.Errorf("%q: %v", id, err)
			}
		}
	}

	for _, id := range []string{"", "a#1", "a b"} {
		_, _, account := b.Account(t.Context(), id)
		_, _, statement := b.Statement(t.Context(), id, "", 1)

		for _, err := range []error{account, statement, b.CloseAccount(t.Context(), id)} {
			if !errors.Is(err, ledger.ErrInvalid) || !strings.Contains(err.Error(), "account: 1 to 128 of") {
				t.Errorf("account %q: %v", id, err)
			}
		}
	}

	if _, _, err := b.Hold(t.Context(), "a#1", "h"); !errors.Is(err, ledger.ErrInvalid) || !strings.Contains(err.Error(), "account") {
		t.Errorf("the hold of a shard: %v", err)
	}
}

// A transfer that was made is replayed, even if it would not fit into one transaction any more.
func TestARepeatOfATransferMayHaveTooManyItems(t *testing.T) {
	b := newBank(t)
	b.open(t, ledger.NewAccount{ID: "sink"}, 0)

	const payers, shards = 5, 16
	first := ledger.Transfer{ID: "first", Currency: "EUR", Legs: []ledger.Leg{{Account: "sink", Amount: 10 * payers}}}
	rest := ledger.Transfer{ID: "rest", Currency: "EUR", Legs: []ledger.Leg{{Account: "sink", Amount: 90 * payers}}}

	for i := range payers {
		id, amounts := fmt.Sprint("s-", i), make([]int64, shards)
		for shard := range amounts {
			amounts[shard] = 1
		}
		amounts[0] = 100
		b.spreadOut(t, id, amounts...)
		b.reserve(t, hold("h", id, 100+shards-1))

		// After both transfers, the rest of the hold is on fifteen shards.
		first.Legs = append(first.Legs, ledger.Leg{Account: id, Amount: -10, Hold: "h"})
		rest.Legs = append(rest.Legs, ledger.Leg{Account: id, Amount: -90, Hold: "h"})
	}

	for _, transfer := range []ledger.Transfer{first, rest} {
		if _, err := b.Post(t.Context(), transfer); err != nil {
			t.Fatal(err)
		}
	}

	if again, err := b.Post(t.Context(), first); err != nil || !again.Replayed {
		t.Errorf("the repeat: %+v, %v", again, err)
	}
	first.ID = "another"

	if _, err := b.Post(t.Context(), first); !errors.Is(err, ledger.ErrTooManyShards) {
		t.Errorf("another transfer: %v", err)
	}
}
