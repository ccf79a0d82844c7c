package ledger_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"ratchet/once/ledger"
)

// findings runs Verify and returns its findings, sorted. The function found returns an error with
// the n-th finding, 0 for never.
func (b *bank) findings(t *testing.T, n int) (all []string, proof ledger.Proof, err error) {
	t.Helper()

	proof, err = b.Verify(t.Context(), func(f ledger.Finding) error {
		all = append(all, fmt.Sprintf("%s %s %s: %s", f.Kind, f.Account, f.Transfer, f.Detail))

		if len(all) == n {
			return errStop
		}

		return nil
	}, nil)
	slices.Sort(all)

	return all, proof, err
}

var errStop = errors.New("stop")

// TestVerifyTellsTheEntriesOfAlikeAccountsApart: entry 12 of the account c and entry 2 of the account c1.
func TestVerifyTellsTheEntriesOfAlikeAccountsApart(t *testing.T) {
	b := newBank(t)
	b.open(t, ledger.NewAccount{ID: "c", Side: ledger.Debit, Overdraft: true}, 0)
	b.open(t, ledger.NewAccount{ID: "c1"}, 0)

	for i := range 12 {
		if _, err := b.Post(t.Context(), ledger.Move(fmt.Sprint("t-", i), "c", "c1", int64(100+i), "EUR")); err != nil {
			t.Fatal(err)
		}
	}

	if got, proof, err := b.findings(t, 0); err != nil || len(got) > 0 || proof.Entries < 24 {
		t.Errorf("found %q, %+v, %v", got, proof, err)
	}
}

// TestVerifyFindsEveryManipulation changes the tables without the ledger. Each contradiction
// has a finding of its own, and found can end the call at each.
func TestVerifyFindsEveryManipulation(t *testing.T) {
	entry := func(account string, n int64) item { return item{"accountId": str(account), "sequence": num(n)} }
	account := func(id string) item { return item{"accountId": str(id)} }
	transfer := item{"transferId": str("t-1")}
	for _, c := range []struct {
		name   string
		tamper func(*bank)
		want   []string
	}{
		{"nothing", func(*bank) {}, nil},
		{"the balance of an account raised", func(b *bank) {
			b.tamper(t, "accounts", account("bob"), "SET available = :v", item{":v": num(900)})
		}, []string{"balance bob : the balance is 900, the entries sum to 400"}},
		{"a credit account below zero", func(b *bank) {
			b.tamper(t, "accounts", account("bob"), "SET available = :v", item{":v": num(-1)})
		}, []string{"balance bob : the balance is -1, the entries sum to 400", "overdrawn bob : the balance is -1, -1 is available"}},
		{"a credit account that holds more than its balance", func(b *bank) {
			b.tamper(t, "accounts", account("alice"), "SET held = :h, available = :a", item{":h": num(601), ":a": num(-1)})
		}, []string{"held alice : 601 is held, the active holds have 100 left", "overdrawn alice : the balance is 600, -1 is available"}},
		{"a debit account above zero", func(b *bank) {
			b.tamper(t, "accounts", account("till"), "SET available = :v", item{":v": num(1)})
		}, []string{"balance till : the balance is 1, the entries sum to 0", "overdrawn till : the balance is 1, 1 is available"}},
		{"a debit account below zero", func(b *bank) {
			b.tamper(t, "accounts", account("till"), "SET available = :v", item{":v": num(-1)})
		}, []string{"balance till : the balance is -1, the entries sum to 0"}},
		{"held raised, balance kept", func(b *bank) {
			b.tamper(t, "accounts", account("alice"), "SET held = :h, available = :a", item{":h": num(101), ":a": num(499)})
		}, []string{"held alice : 101 is held, the active holds have 100 left"}},
		{"a hold lowered", func(b *bank) {
			b.tamper(t, "holds", item{"accountId": str("alice"), "holdId": str("h")}, "SET parts[0].#amount = :v", item{":v": num(1)})
		}, []string{"held alice : 100 is held, the active holds have 1 left"}},
		{"an entry changed", func(b *bank) {
			b.tamper(t, "ledger", entry("alice", 2), "SET amount = :v", item{":v": num(-1)})
		}, []string{
			"chain alice t-1: entry 2 brings -1 to 700, before it entry 1 left 1000",
			"foreign alice t-1: entry 2 is -1 of transfer t-1",
			"foreign alice t-1: entry 2 is -1: it is not one of the transfer's; the account's last entry is 3",
		}},
		{"an entry given to another transfer", func(b *bank) {
			b.tamper(t, "ledger", entry("bob", 1), "SET transferId = :t", item{":t": str("t-2")})
		}, []string{
			"foreign bob t-1: entry 1 is 300 of transfer t-2",
			"foreign bob t-2: entry 1 is 300: it is not one of the transfer's; the account's last entry is 2",
		}},
		{"an entry deleted", func(b *bank) { b.remove(t, "ledger", entry("alice", 2)) },
			[]string{"chain alice t-2: entry 3 brings -100 to 600, before it entry 1 left 1000", "missing alice t-1: entry 2 is missing"}},
		{"the last entry deleted", func(b *bank) { b.remove(t, "ledger", entry("bob", 2)) },
			[]string{"chain bob : entry 2 is missing", "missing bob t-2: entry 2 is missing"}},
		{"an entry renumbered to come after the last", func(b *bank) {
			b.remove(t, "ledger", entry("bob", 2))
			b.tamper(t, "ledger", entry("bob", 3), "SET #amount = :a, balance = :b, transferId = :t", item{":a": num(100), ":b": num(400), ":t": str("t-2")})
		}, []string{
			"chain bob t-2: entry 3 brings 100 to 400, before it entry 1 left 300",
			"foreign bob t-2: entry 3 is 100: it is not one of the transfer's; the account's last entry is 2",
			"missing bob t-2: entry 2 is missing",
		}},
		{"the number of an account's entries lowered", func(b *bank) {
			b.tamper(t, "accounts", account("bob"), "SET #sequence = :v", item{":v": num(1)})
		}, []string{"balance bob : the balance is 400, the entries sum to 300", "chain bob t-2: the account has made 1 entry, the transfer made 2"}},
		{"a transfer deleted", func(b *bank) { b.remove(t, "transfers", transfer) }, []string{
			"foreign alice t-1: entry 2 is -300: there is no such transfer; the account's last entry is 3",
			"foreign bob t-1: entry 1 is 300: there is no such transfer; the account's last entry is 2",
		}},
		{"the text of a transfer changed", func(b *bank) {
			b.tamper(t, "transfers", transfer, "SET #reference = :v", item{":v": str("other")})
		}, []string{"content  t-1: the record was changed"}},
		{"the legs of a transfer changed", func(b *bank) {
			b.tamper(t, "transfers", transfer, "SET legs[1].#amount = :v", item{":v": num(302)})
		}, []string{"sum  t-1: the legs sum to 2"}},
		{"an account deleted", func(b *bank) { b.remove(t, "accounts", account("bob")) },
			[]string{"missing bob t-1: there is no such account", "missing bob t-2: there is no such account"}},
		{"a posting changed by one minor unit", func(b *bank) {
			b.tamper(t, "transfers", transfer, "SET postings[0].#amount = :v", item{":v": num(-301)})
		}, []string{
			"foreign alice t-1: entry 2 is -300 of transfer t-1",
			"foreign alice t-1: entry 2 is -300: it is not one of the transfer's; the account's last entry is 3",
			"sum alice t-1: the leg is -300, its entries -301",
		}},
	} {
		b := newBank(t)
		b.open(t, ledger.NewAccount{ID: "alice"}, 1000)
		b.open(t, ledger.NewAccount{ID: "bob"}, 0)
		b.open(t, ledger.NewAccount{ID: "till", Side: ledger.Debit}, 0)

		for i, amount := range []int64{300, 100} {
			if _, err := b.Post(t.Context(), ledger.Move(fmt.Sprint("t-", i+1), "alice", "bob", amount, "EUR")); err != nil {
				t.Fatal(err)
			}
		}
		b.reserve(t, hold("h", "alice", 100))
		c.tamper(b)

		got, proof, err := b.findings(t, 0)
		if err != nil || !slices.Equal(got, c.want) || proof.Findings != len(got) {
			t.Errorf("%s: found %q, want %q; %+v, %v", c.name, got, c.want, proof, err)
		}

		for n := range c.want {
			if got, _, err := b.findings(t, n+1); !errors.Is(err, errStop) || len(got) != n+1 {
				t.Errorf("%s: ended by finding %d: %q, %v", c.name, n+1, got, err)
			}
		}
	}
}

// TestVerifyFindsEveryEntryWithoutItsTransfer plants entries where no account's own entries
// lead to them. Each must be found, and named by its account, number and transfer.
func TestVerifyFindsEveryEntryWithoutItsTransfer(t *testing.T) {
	for _, c := range []struct {
		name, account string
		sequence      int64
		transfer      string
		want          string
	}{
		{
			name:    "after the account's last entry, of a transfer that never was",
			account: "bob", sequence: 2, transfer: "never",
			want: "foreign bob never: entry 2 is 77: there is no such transfer; the account's last entry is 1",
		},
		{
			name:    "after the account's last entry, of a transfer that has other entries",
			account: "bob", sequence: 9, transfer: "t-1",
			want: "foreign bob t-1: entry 9 is 77: it is not one of the transfer's; the account's last entry is 1",
		},
		{
			name:    "before the account's first entry",
			account: "bob", sequence: 0, transfer: "never",
			want: "foreign bob never: entry 0 is 77: there is no such transfer; the account's last entry is 1",
		},
		{
			name:    "of an account that does not exist",
			account: "ghost", sequence: 1, transfer: "never",
			want: "foreign ghost never: entry 1 is 77: there is no such transfer; there is no such account",
		},
		{
			name:    "of a shard that the account does not have",
			account: "bob#3", sequence: 1, transfer: "t-1",
			want: "foreign bob#3 t-1: entry 1 is 77: it is not one of the transfer's; there is no such account",
		},
		{
			name:    "without the name of a transfer",
			account: "bob", sequence: 2, transfer: "",
			want: "foreign bob : entry 2 is 77: there is no such transfer; the account's last entry is 1",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBank(t)
			b.open(t, ledger.NewAccount{ID: "alice"}, 1000)
			b.open(t, ledger.NewAccount{ID: "bob"}, 0)

			if _, err := b.Post(t.Context(), ledger.Move("t-1", "alice", "bob", 300, "EUR")); err != nil {
				t.Fatal(err)
			}

			b.tamper(t, "ledger", item{"accountId": str(c.account), "sequence": num(c.sequence)},
				"SET #amount = :v, balance = :v, transferId = :t", item{":v": num(77), ":t": str(c.transfer)})

			got, proof, err := b.findings(t, 0)
			if err != nil || !slices.Equal(got, []string{c.want}) || proof.Findings != 1 {
				t.Errorf("found %q, want %q; %+v, %v", got, c.want, proof, err)
			}
		})
	}
}

// TestVerifyFindsOrphansAfterABrokenChain plants them behind another contradiction of the
// same account.
func TestVerifyFindsOrphansAfterABrokenChain(t *testing.T) {
	b := newBank(t)
	b.open(t, ledger.NewAccount{ID: "alice"}, 1000)
	b.open(t, ledger.NewAccount{ID: "bob"}, 0)

	for i := range 4 {
		if _, err := b.Post(t.Context(), ledger.Move(fmt.Sprint("t-", i+1), "alice", "bob", 10, "EUR")); err != nil {
			t.Fatal(err)
		}
	}

	b.remove(t, "ledger", item{"accountId": str("bob"), "sequence": num(1)})

	for _, n := range []int64{4, 5} { // the account has counted 4 entries
		b.tamper(t, "ledger", item{"accountId": str("bob"), "sequence": num(n)}, "SET transferId = :t", item{":t": str("never")})
	}

	var orphans []string
	_, err := b.Verify(t.Context(), func(f ledger.Finding) error {
		if f.Transfer == "never" {
			orphans = append(orphans, f.Kind+" "+f.Account)
		}

		return nil
	}, nil)
	if err != nil || !slices.Equal(orphans, []string{"foreign bob", "foreign bob"}) {
		t.Errorf("found %q, %v", orphans, err)
	}
}

func TestVerifyRunsDuringTransfers(t *testing.T) {
	b := newBank(t)
	b.open(t, ledger.NewAccount{ID: "alice"}, 100_000)
	b.open(t, ledger.NewAccount{ID: "bob"}, 0)

	var group sync.WaitGroup
	for g := range 4 {
		group.Go(func() {
			for i := range 60 {
				id := fmt.Sprint(g, "-", i)
				if _, err := b.Post(t.Context(), ledger.Move(id, "alice", "bob", 1, "EUR")); err != nil {
					t.Error(err)
				}

				if _, _, err := b.Reserve(t.Context(), hold(id, "alice", 1)); err != nil {
					t.Error(err)
				}
			}
		})
	}

	for range 5 {
		proof, err := b.Verify(t.Context(), func(f ledger.Finding) error {
			t.Errorf("%+v", f)
			return nil
		}, func(ledger.Proof) {})
		if err != nil || proof.Findings != 0 {
			t.Errorf("%+v, %v", proof, err)
		}
	}
	group.Wait()

	if proof := b.sound(t); proof.Transfers != 241 || proof.Entries != 482 || proof.Accounts != 3 || proof.Holds != 240 {
		t.Errorf("%+v", proof)
	}
	stop := errors.New("stop")
	b.remove(t, "transfers", item{"transferId": str("0-0")})

	if _, err := b.Verify(t.Context(), func(ledger.Finding) error { return stop }, nil); !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
}
