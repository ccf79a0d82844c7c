package ledger_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"ratchet/once/ledger"
)

func TestCreateAccountIsIdempotent(t *testing.T) {
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

func TestOnlyAnEmptyAccountIsClosed(t *testing.T) {
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

// TestAccountWithOnlyHeldMoneyIsNotClosed holds everything, so that nothing is available.
func TestAccountWithOnlyHeldMoneyIsNotClosed(t *testing.T) {
	for _, shards := range []int{1, 4} {
		b := newBank(t)
		b.open(t, ledger.NewAccount{ID: "a", Shards: shards}, 100)
		b.reserve(t, hold("h", "a", 100))
		b.want(t, "a", 100, 0)

		if err := b.CloseAccount(t.Context(), "a"); !errors.Is(err, ledger.ErrAccountInUse) {
			t.Errorf("%d shards: %v", shards, err)
		}

		if a := b.account(t, "a"); a.Status != ledger.Open {
			t.Errorf("%d shards: the account is %s", shards, a.Status)
		}
	}
}

func TestAccountsListsEveryAccountOnce(t *testing.T) {
	b := newBank(t)
	for i := range 25 {
		b.open(t, ledger.NewAccount{ID: fmt.Sprint("a-", i), Shards: 1 + i%3}, 0)
	}

	b.spreadOut(t, "spread", 1, 2, 3)

	seen := map[string]bool{}
	for after := ""; ; {
		page, next, err := b.Accounts(t.Context(), after, 4)
		if err != nil || len(page) > 4 || next != "" && len(page) < 4 {
			t.Fatal(len(page), next, err)
		}

		for _, a := range page {
			if (a.Balance == 6) != (a.ID == "spread") {
				t.Errorf("%s has %d on its shards", a.ID, a.Balance)
			}

			if seen[a.ID] || strings.Contains(a.ID, "#") {
				t.Errorf("%s twice, or a shard", a.ID)
			}
			seen[a.ID] = true
		}

		if after = next; after == "" {
			break
		}
	}

	if len(seen) != 26 {
		t.Errorf("%d of 26 accounts", len(seen))
	}
}

func TestStatementPagesSumToTheBalance(t *testing.T) {
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
		for after, more := "", true; more; more = after != "" {
			page, next, err := b.Statement(t.Context(), "a", after, 7)
			if err != nil {
				t.Fatal(err)
			}

			after = next

			for _, e := range page {
				if balances[e.Shard]+e.Amount != e.Balance || e.Account != "a" || e.TransferID == "" || e.At.IsZero() {
					t.Errorf("after %d comes %+v", balances[e.Shard], e)
				}
				balances[e.Shard] = e.Balance
				total += e.Amount
				entries++
			}
		}

		if a := b.account(t, "a"); total != a.Balance || int64(entries) != a.Entries || total != 1000-30*31/2 {
			t.Errorf("%d shards: %d entries sum to %d, the account says %d and %d", shards, entries, total, a.Entries, a.Balance)
		}

		end := fmt.Sprint(shards-1, ".", 1000)
		if page, next, err := b.Statement(t.Context(), "a", end, 7); len(page) != 0 || next != "" || err != nil {
			t.Errorf("after the end: %v %q %v", page, next, err)
		}
	}

	b := newBank(t)
	if _, _, err := b.Statement(t.Context(), "nobody", "", 1); !errors.Is(err, ledger.ErrUnknownAccount) {
		t.Errorf("got %v", err)
	}

	for _, c := range []struct {
		after string
		limit int
	}{{"", 0}, {"", 1001}, {"page 2", 1}, {"16.1", 1}} {
		if _, _, err := b.Statement(t.Context(), "nobody", c.after, c.limit); !errors.Is(err, ledger.ErrInvalid) {
			t.Errorf("after %q, limit %d: %v", c.after, c.limit, err)
		}
	}
}

func TestNewNamesEveryFieldThatBreaksARule(t *testing.T) {
	_, err := ledger.New(ledger.Config{})
	if err == nil {
		t.Fatal("New accepted the configuration")
	}

	for _, field := range []string{"DynamoDB", "Tables"} {
		if !strings.Contains(err.Error(), field) {
			t.Errorf("the error does not name %s: %v", field, err)
		}
	}
}
