package ledger_test

import (
	"errors"
	"testing"

	"ratchet/internal/dynamo"
	"ratchet/once/ledger"
)

// spoil gives an attribute a type that no attribute of the ledger has.
func (b *bank) spoil(t *testing.T, table string, key item, name string) {
	t.Helper()

	if _, err := b.db.UpdateItem(t.Context(), dynamo.NewUpdate(table, key).SetValue(name, dynamo.M(nil)).Input()); err != nil {
		t.Fatal(err)
	}
}

// TestAnItemOfAnotherTypeIsACorruptLedger: money that cannot be read is neither missing nor another account's, and
// a hold without its end is another hold. What was made before is replayed all the same.
func TestAnItemOfAnotherTypeIsACorruptLedger(t *testing.T) {
	account := func(id string) item { return item{"accountId": dynamo.S(id)} }

	for _, name := range []string{"available", "status", "currency", "held", "overdraft", "side"} {
		b := newBank(t)
		b.open(t, ledger.NewAccount{ID: "alice"}, 1000)
		b.open(t, ledger.NewAccount{ID: "shop"}, 0)

		if _, err := b.Post(t.Context(), ledger.Move("before", "alice", "shop", 10, "EUR")); err != nil {
			t.Fatal(err)
		}
		b.spoil(t, tables.Accounts, account("alice"), name)
		l := b.another(t)

		if p, err := l.Post(t.Context(), ledger.Move("before", "alice", "shop", 10, "EUR")); err != nil || !p.Replayed {
			t.Errorf("%s: a repeat: %+v, %v", name, p, err)
		}

		_, post := l.Post(t.Context(), ledger.Move("t", "alice", "shop", 10, "EUR"))
		_, _, read := l.Account(t.Context(), "alice")

		for verb, err := range map[string]error{"post": post, "read": read} {
			if refusal := (*ledger.RefusedError)(nil); !errors.Is(err, ledger.ErrCorrupt) || errors.As(err, &refusal) {
				t.Errorf("%s: %s: %v", name, verb, err)
			}
		}
	}

	for _, name := range []string{"status", "remaining", "parts", "expiresAt"} {
		b := newBank(t)
		b.open(t, ledger.NewAccount{ID: "alice"}, 1000)
		b.open(t, ledger.NewAccount{ID: "shop"}, 0)
		b.reserve(t, ledger.NewHold{ID: "h", Account: "alice", Amount: 700, Currency: "EUR", ExpiresAt: b.time().Add(1e12)})
		b.spoil(t, tables.Holds, item{"accountId": dynamo.S("alice"), "holdId": dynamo.S("h")}, name)

		_, post := b.Post(t.Context(), settle("s", "alice", "h", "shop", 700, false))
		_, release := b.Release(t.Context(), "alice", "h")
		_, _, reserve := b.Reserve(t.Context(), ledger.NewHold{ID: "h", Account: "alice", Amount: 700, Currency: "EUR", ExpiresAt: b.time().Add(1e12)})

		for verb, err := range map[string]error{"settle": post, "release": release, "reserve": reserve} {
			if refusal := (*ledger.RefusedError)(nil); !errors.Is(err, ledger.ErrCorrupt) || errors.As(err, &refusal) {
				t.Errorf("%s: %s: %v", name, verb, err)
			}
		}
		b.want(t, "shop", 0, 0)
	}

	b := newBank(t)
	b.open(t, ledger.NewAccount{ID: "alice"}, 1000)
	b.open(t, ledger.NewAccount{ID: "shop"}, 0)

	if _, err := b.Post(t.Context(), ledger.Move("t", "alice", "shop", 10, "EUR")); err != nil {
		t.Fatal(err)
	}
	b.spoil(t, tables.Transfers, item{"transferId": dynamo.S("t")}, "digest")

	if _, err := b.Post(t.Context(), ledger.Move("t", "alice", "shop", 10, "EUR")); !errors.Is(err, ledger.ErrCorrupt) || errors.Is(err, ledger.ErrConflict) {
		t.Errorf("a transfer: %v", err)
	}
}
