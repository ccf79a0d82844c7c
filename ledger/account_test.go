package ledger_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"ratchet/ledger"
)

func TestAnAccountIsCreatedOnce(t *testing.T) {
	b := newBank(t)
	for _, n := range []ledger.NewAccount{{ID: "a", Currency: "EUR"}, {ID: "cash:till/1", Currency: "JPY", Side: ledger.Debit, Overdraft: true, Shards: 4}} {
		a, replayed, err := b.CreateAccount(t.Context(), n)
		if err != nil || replayed || a.Status != ledger.Open || a.Balance != 0 {
			t.Fatalf("%+v, %v, %v", a, replayed, err)
		}

		again, replayed, err := b.CreateAccount(t.Context(), n)
		if err != nil || !replayed || again.Shards != max(n.Shards, 1) || again.Currency != n.Currency || again.Overdraft != n.Overdraft {
			t.Errorf("again: %+v, %v, %v", again, replayed, err)
		}

		n.Currency = "USD"
		if _, _, err := b.CreateAccount(t.Context(), n); !errors.Is(err, ledger.ErrConflict) {
			t.Errorf("another currency under the id: %v", err)
		}
	}

	if _, found, err := b.Account(t.Context(), "nobody"); found || err != nil {
		t.Errorf("%v, %v", found, err)
	}

	for says, n := range map[string]ledger.NewAccount{"id": {Currency: "EUR"}, "id: 1": {ID: "a#1", Currency: "EUR"}, "currency": {ID: "a"},
		"side": {ID: "a", Currency: "EUR", Side: "left"}, "shards 17": {ID: "a", Currency: "EUR", Shards: 17}} {
		if _, _, err := b.CreateAccount(t.Context(), n); !errors.Is(err, ledger.ErrInvalid) || !strings.Contains(err.Error(), says) {
			t.Errorf("want %q, got %v", says, err)
		}
	}
}

func TestAnAccountIsClosedWhenEmpty(t *testing.T) {
	b := newBank(t)
	b.open(t, ledger.NewAccount{ID: "a", Shards: 3}, 100)
	b.open(t, ledger.NewAccount{ID: "b"}, 0)

	if err := b.CloseAccount(t.Context(), "a"); !errors.Is(err, ledger.ErrAccountInUse) {
		t.Errorf("with a balance: %v", err)
	}

	if _, err := b.Post(t.Context(), ledger.Move("t", "a", "b", 100, "EUR")); err != nil {
		t.Fatal(err)
	}

	for range 2 {
		if err := b.CloseAccount(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
	}

	if _, err := b.Post(t.Context(), ledger.Move("u", "b", "a", 1, "EUR")); !errors.Is(err, ledger.ErrAccountClosed) {
		t.Errorf("a credit to a closed account: %v", err)
	}

	if err := b.CloseAccount(t.Context(), "nobody"); !errors.Is(err, ledger.ErrUnknownAccount) {
		t.Errorf("no such account: %v", err)
	}

	if a := b.account(t, "a"); a.Status != ledger.Closed {
		t.Errorf("status %s", a.Status)
	}
}

func TestAccountsAreListedPageByPage(t *testing.T) {
	b := newBank(t)
	for i := range 25 {
		b.open(t, ledger.NewAccount{ID: fmt.Sprint("a-", i), Shards: 1 + i%3}, 0)
	}

	seen := map[string]bool{}
	for after := ""; ; {
		page, next, err := b.Accounts(t.Context(), after, 4)
		if err != nil || len(page) > 4 {
			t.Fatal(len(page), err)
		}

		for _, a := range page {
			if seen[a.ID] || strings.Contains(a.ID, "#") {
				t.Errorf("%s twice, or a shard", a.ID)
			}
			seen[a.ID] = true
		}

		if after = next; after == "" {
			break
		}
	}

	if len(seen) != 25 {
		t.Errorf("%d of 25 accounts", len(seen))
	}
}

func TestAStatementIsPagedAndEndsInTheBalance(t *testing.T) {
	for _, shards := range []int{1, 4} {
		b := newBank(t)
		b.open(t, ledger.NewAccount{ID: "a", Shards: shards}, 1000)
		b.open(t, ledger.NewAccount{ID: "b"}, 0)

		for i := range 30 {
			if _, err := b.Post(t.Context(), ledger.Move(fmt.Sprint("t-", i), "a", "b", int64(i+1), "EUR")); err != nil {
				t.Fatal(err)
			}
		}

		var total int64
		balances, entries := map[int]int64{}, 0
		after := ledger.Cursor{}
		for more := true; more; {
			var page []ledger.Entry

			var err error
			page, after, more, err = b.Statement(t.Context(), "a", after, 7)
			if err != nil {
				t.Fatal(err)
			}

			for _, e := range page {
				if balances[e.Shard]+e.Amount != e.Balance || e.Account != "a" || e.TransferID == "" || e.At.IsZero() {
					t.Errorf("after %d comes %+v", balances[e.Shard], e)
				}
				balances[e.Shard] = e.Balance
				total += e.Amount
				entries++
			}

			back, err := ledger.ParseCursor(after.String())
			if err != nil || back != after {
				t.Errorf("cursor %v reads as %v, %v", after, back, err)
			}
		}

		if a := b.account(t, "a"); total != a.Balance || int64(entries) != a.Entries || total != 1000-30*31/2 {
			t.Errorf("%d shards: %d entries sum to %d, the account says %d and %d", shards, entries, total, a.Entries, a.Balance)
		}

		if page, next, more, err := b.Statement(t.Context(), "a", after, 7); len(page) != 0 || next != after || more || err != nil {
			t.Errorf("after the end: %v %v %v %v", page, next, more, err)
		}
	}

	b := newBank(t)
	if _, _, _, err := b.Statement(t.Context(), "nobody", ledger.Cursor{}, 1); !errors.Is(err, ledger.ErrUnknownAccount) {
		t.Errorf("got %v", err)
	}
}

func FuzzParseCursor(f *testing.F) {
	for _, seed := range []string{"", "0.0", "3.17", "-1.2", "1", "1.", ".", "99.1", "0.9223372036854775808"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ledger.ParseCursor(text)
		if err != nil {
			return
		}

		if back, err := ledger.ParseCursor(c.String()); err != nil || back != c {
			t.Errorf("%q: %v reads as %v, %v", text, c, back, err)
		}
	})
}

func TestConfigNamesTheFieldThatBreaksARule(t *testing.T) {
	b := newBank(t)
	for says, c := range map[string]ledger.Config{"DynamoDB": {Tables: tables}, "Tables": {DynamoDB: b.db}, "Attempts": {DynamoDB: b.db, Tables: tables, Attempts: -1}} {
		if _, err := ledger.New(c); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("want %q, got %v", says, err)
		}
	}
}
