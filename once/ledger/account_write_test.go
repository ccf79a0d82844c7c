package ledger_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/once/ledger"
)

// number reads a number of a stored account.
func (b *bank) number(t *testing.T, account, name string) (n int64) {
	t.Helper()

	if v, ok := b.item(t, "accounts", item{"accountId": str(account)})[name].(*types.AttributeValueMemberN); ok {
		fmt.Sscan(v.Value, &n)
	}

	return n
}

// Every write of an account gives it the next revision, by which caches and Verify know a
// newer one, and the time of the write.
func TestEveryWriteOfAnAccountIsItsNextRevision(t *testing.T) {
	b := newBank(t)
	b.open(t, ledger.NewAccount{ID: "alice"}, 1000)
	b.open(t, ledger.NewAccount{ID: "shop"}, 0)
	b.open(t, ledger.NewAccount{ID: "empty", Shards: 2}, 0)

	expiring := hold("expires", "alice", 1)
	expiring.ExpiresAt = b.time().Add(time.Second)

	for _, c := range []struct {
		name    string
		account string
		write   func() error
	}{
		{"a debit", "alice", func() error { _, err := b.Post(t.Context(), ledger.Move("t", "alice", "shop", 10, "EUR")); return err }},
		{"a credit", "alice", func() error { _, err := b.Post(t.Context(), ledger.Move("u", "shop", "alice", 1, "EUR")); return err }},
		{"a hold", "alice", func() error { _, _, err := b.Reserve(t.Context(), hold("h", "alice", 10)); return err }},
		{"a part of a hold", "alice", func() error { _, err := b.Post(t.Context(), settle("s", "alice", "h", "shop", 1, false)); return err }},
		{"a hold and the return of its rest", "alice", func() error { _, err := b.Post(t.Context(), settle("r", "alice", "h", "shop", 1, true)); return err }},
		{"another hold", "alice", func() error { _, _, err := b.Reserve(t.Context(), hold("i", "alice", 10)); return err }},
		{"a release", "alice", func() error { _, err := b.Release(t.Context(), "alice", "i"); return err }},
		{"a hold that expires", "alice", func() error { _, _, err := b.Reserve(t.Context(), expiring); return err }},
		{"an expiry", "alice", func() error { _, _, err := b.ReleaseExpired(t.Context(), 10); return err }},
		{"the end of an account", "empty", func() error { return b.CloseAccount(t.Context(), "empty") }},
		{"the end of its other shard", "empty#1", func() error { return b.CloseAccount(t.Context(), "empty") }},
	} {
		before := b.number(t, c.account, "revision")
		b.now.Add(1000)

		if err := c.write(); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}

		if after, at := b.number(t, c.account, "revision"), b.number(t, c.account, "updatedAt"); after != before+1 || at != b.now.Load() {
			t.Errorf("%s: revision %d after %d, at %d; want %d", c.name, after, before, at, b.now.Load())
		}
	}
	b.sound(t)
}

// An account that has lost an item is not created again over its other items.
func TestAnAccountThatHasLostAnItemIsNotCreated(t *testing.T) {
	b := newBank(t)
	n := ledger.NewAccount{ID: "shop", Currency: "EUR", Shards: 2}
	b.open(t, n, 0)

	for _, lost := range []string{"shop#1", "shop"} {
		b.remove(t, "accounts", item{"accountId": str(lost)})

		if lost == "shop#1" {
			if _, _, err := b.Account(t.Context(), "shop"); !errors.Is(err, ledger.ErrCorrupt) || !strings.Contains(err.Error(), "read account shop: ") || !strings.HasSuffix(err.Error(), ": shard 1 is missing") {
				t.Errorf("without %s: %v", lost, err)
			}
			b.put(t, "accounts", item{"accountId": str("shop#1"), "shard": num(1), "shards": num(2), "currency": str("EUR"), "side": str("credit")})

			continue
		}

		if _, _, err := b.CreateAccount(t.Context(), n); !errors.Is(err, ledger.ErrCorrupt) || !strings.HasPrefix(err.Error(), "create account shop: ") {
			t.Errorf("without %s: %v", lost, err)
		}
	}
}

// What a transfer, a hold or its end leaves is known to the process that made it: the next
// transfer needs one transaction and no read. A debit account without overdraft assumes all
// of its figures.
func TestTheNextTransferKnowsWhatTheLastOneLeft(t *testing.T) {
	b := newBank(t)
	b.open(t, ledger.NewAccount{ID: "sales", Overdraft: true}, 0)
	b.open(t, ledger.NewAccount{ID: "till", Side: ledger.Debit}, 0)

	for _, tr := range []ledger.Transfer{
		ledger.Move("in", "till", "sales", 1000, "EUR"),
		ledger.Move("back", "sales", "till", 1, "EUR"),
	} {
		if _, err := b.Post(t.Context(), tr); err != nil {
			t.Fatal(err)
		}
	}
	b.reserve(t, hold("h", "till", 100))

	for i, c := range []struct {
		transfer ledger.Transfer
		reads    int // of the hold
		sent     int
	}{
		{ledger.Move("1", "sales", "till", 1, "EUR"), 0, 2}, // learns of the hold
		{ledger.Move("2", "sales", "till", 1, "EUR"), 1, 1}, // reads the account after the second attempt
		{settle("3", "till", "h", "sales", 10, false), 1, 1},
		{ledger.Move("4", "sales", "till", 1, "EUR"), 0, 1},
		{settle("5", "till", "h", "sales", 10, true), 1, 1},
		{ledger.Move("6", "sales", "till", 1, "EUR"), 0, 1},
		{ledger.Move("7", "sales", "till", 1015, "EUR"), 0, 1},
	} {
		reads, sent := b.wire.reads, b.wire.sent
		if _, err := b.Post(t.Context(), c.transfer); err != nil || b.wire.reads-reads != c.reads || b.wire.sent-sent != c.sent {
			t.Errorf("transfer %d: %v after %d reads and %d transactions", i+1, err, b.wire.reads-reads, b.wire.sent-sent)
		}
	}
	b.want(t, "till", 0, 0)
	b.sound(t)
}
