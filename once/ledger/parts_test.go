package ledger_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/embedded/embeddedtest"
	"ratchet/internal/dynamo"
	"ratchet/once/ledger"
	"ratchet/once/txn"
)

// effect is a part of the caller's own: an item that must not exist.
func effect(id string) ledger.TxPart {
	return func(t *txn.Transaction) {
		t.Add("effect", types.TransactWriteItem{Put: &types.Put{
			TableName:           aws.String("effects"),
			Item:                dynamo.Item{"transferId": dynamo.S("effect/" + id)},
			ConditionExpression: aws.String("attribute_not_exists(transferId)"),
		}}, txn.FailWith(errEffect))
	}
}

var errEffect = errors.New("the effect exists")

// hasEffect reports whether the part was written.
func (b *bank) hasEffect(t *testing.T, id string) bool {
	t.Helper()

	out, err := b.db.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String("effects"), Key: dynamo.Item{"transferId": dynamo.S("effect/" + id)}})
	if err != nil {
		t.Fatal(err)
	}

	return len(out.Item) > 0
}

// The caller's parts and the ledger's parts are written together or not at all. A refusal by a
// caller's part outranks a refusal by an account.
func TestTheCallersPartsAreWrittenWithTheLedgers(t *testing.T) {
	for name, call := range map[string]func(b *bank, ctx context.Context, id string, amount int64, part ledger.TxPart) error{
		"post": func(b *bank, ctx context.Context, id string, amount int64, part ledger.TxPart) error {
			_, err := b.Post(ctx, ledger.Move(id, "alice", "shop", amount, "EUR"), part)
			return err
		},
		"reserve": func(b *bank, ctx context.Context, id string, amount int64, part ledger.TxPart) error {
			_, _, err := b.Reserve(ctx, hold(id, "alice", amount), part)
			return err
		},
		"settle": func(b *bank, ctx context.Context, id string, amount int64, part ledger.TxPart) error {
			_, err := b.Post(ctx, settle(id, "alice", "h", "shop", min(amount, 10), false), part)
			return err
		},
		"release": func(b *bank, ctx context.Context, _ string, _ int64, part ledger.TxPart) error {
			_, err := b.Release(ctx, "alice", "h", part)
			return err
		},
	} {
		b := newBank(t)
		embeddedtest.Create(t, b.db, dynamo.Table("effects", dynamo.TextKey("transferId")))
		b.open(t, ledger.NewAccount{ID: "alice"}, 1000)
		b.open(t, ledger.NewAccount{ID: "shop"}, 0)
		b.reserve(t, hold("h", "alice", 100))

		// The part is refused, and the account has too little for it, too.
		if _, err := b.Post(t.Context(), ledger.Move("first", "alice", "shop", 1, "EUR"), effect("taken")); err != nil {
			t.Fatal(err)
		}

		err := call(b, t.Context(), "refused", 5000, effect("taken"))

		var refused *txn.CanceledError
		if !errors.Is(err, errEffect) || !errors.As(err, &refused) || refused.Part != "effect" {
			t.Errorf("%s, refused by the part: %v", name, err)
		}
		b.want(t, "alice", 999, 899)

		// Only the account refuses.
		if name != "release" && name != "settle" {
			if err := call(b, t.Context(), "poor", 5000, effect("poor")); !errors.Is(err, ledger.ErrInsufficientFunds) || b.hasEffect(t, "poor") {
				t.Errorf("%s, refused by the account: %v", name, err)
			}
		}

		if err := call(b, t.Context(), "made", 10, effect("made")); err != nil || !b.hasEffect(t, "made") {
			t.Errorf("%s: %v, effect %v", name, err, b.hasEffect(t, "made"))
		}

		// A repeat writes no part again.
		if err := call(b, t.Context(), "made", 10, effect("again")); b.hasEffect(t, "again") || name != "release" && err != nil || name == "release" && !errors.Is(err, ledger.ErrHoldClosed) {
			t.Errorf("%s again: %v", name, err)
		}
		b.sound(t)
	}
}

// An account takes part only while it is open and in its own currency.
func TestAnOwnerRequiresAnOpenAccount(t *testing.T) {
	b := newBank(t)
	b.open(t, ledger.NewAccount{ID: "alice"}, 1000)
	b.open(t, ledger.NewAccount{ID: "shop", Shards: 4}, 0)
	b.open(t, ledger.NewAccount{ID: "bob"}, 0)
	b.open(t, ledger.NewAccount{ID: "closed"}, 0)

	if err := b.CloseAccount(t.Context(), "closed"); err != nil {
		t.Fatal(err)
	}

	till, err := b.Owned("till")
	if err != nil {
		t.Fatal(err)
	}

	for i, row := range []struct {
		account, currency string
		want              error
	}{
		{"bob", "EUR", nil},
		{"shop", "EUR", nil},
		{"closed", "EUR", ledger.ErrAccountClosed},
		{"bob", "USD", ledger.ErrCurrencyMismatch},
		{"shop", "USD", ledger.ErrCurrencyMismatch},
		{"nobody", "EUR", ledger.ErrUnknownAccount},
	} {
		seen, err := till.Seen(t.Context(), "id", row.account, row.currency)
		if !errors.Is(err, row.want) || err == nil && seen.ID != row.account || err != nil && refusalOf(t, err).Account != row.account {
			t.Errorf("%s in %s seen: %+v, %v", row.account, row.currency, seen, err)
		}

		id := string(rune('a' + i))

		open, err := till.RequireOpen(t.Context(), id, row.account, row.currency)
		if err != nil {
			t.Fatal(err)
		}

		_, _, err = till.Reserve(t.Context(), hold(id, "alice", 1), open)
		if !errors.Is(err, row.want) || err != nil && refusalOf(t, err).Account != row.account {
			t.Errorf("%s in %s required: %v, want %v", row.account, row.currency, err, row.want)
		}
	}
	b.want(t, "alice", 1000, 998)

	// The argument is checked before anything is sent.
	sent := b.wire.sent

	_, _, reserve := till.Reserve(t.Context(), ledger.NewHold{ID: "h#till", Account: "alice", Amount: 1, Currency: "EUR"})
	_, post := till.Post(t.Context(), ledger.Transfer{ID: "t"})
	_, release := till.Release(t.Context(), "alice", "h#till")

	for _, err := range []error{reserve, post, release} {
		if !errors.Is(err, ledger.ErrInvalid) || b.wire.sent != sent {
			t.Errorf("%v after %d requests", err, b.wire.sent-sent)
		}
	}
}

func refusalOf(t *testing.T, err error) *ledger.RefusedError {
	t.Helper()

	var r *ledger.RefusedError
	if !errors.As(err, &r) {
		t.Fatalf("%v is no refusal", err)
	}

	return r
}

// A call that waits for another one on its account ends with its caller, and leaves the
// account free.
func TestAWaitingTransferEndsWithItsCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBank(t)
		b.open(t, ledger.NewAccount{ID: "alice"}, 1000)
		b.open(t, ledger.NewAccount{ID: "shop"}, 0)

		b.wire.between = func() {
			// In virtual time the millisecond passes in a wait, and not before the first attempt.
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			defer cancel()

			if _, err := b.Post(ctx, ledger.Move("second", "shop", "alice", 1, "EUR")); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, txn.ErrContended) {
				t.Errorf("the second: %v", err)
			}
		}

		for _, id := range []string{"first", "third"} {
			if _, err := b.Post(t.Context(), ledger.Move(id, "alice", "shop", 1, "EUR")); err != nil {
				t.Errorf("%s: %v", id, err)
			}
		}
		b.want(t, "alice", 998, 998)
		b.sound(t)
	})
}

// Transfers and statements are read to their bounds, page by page.
func TestPagesTogetherHaveAllEntries(t *testing.T) {
	b := newBank(t)
	b.open(t, ledger.NewAccount{ID: "world", Overdraft: true}, 0)
	b.open(t, ledger.NewAccount{ID: "shop", Shards: 3}, 0)

	for i := range 10 {
		if _, err := b.Post(t.Context(), ledger.Move(string(rune('a'+i)), "world", "shop", int64(i+1), "EUR")); err != nil {
			t.Fatal(err)
		}
	}

	for limit := 1; limit <= 11; limit++ {
		var amounts []int64
		for after := ""; ; {
			entries, next, err := b.Statement(t.Context(), "shop", after, limit)
			if err != nil || len(entries) > limit {
				t.Fatalf("limit %d: %d entries, %v", limit, len(entries), err)
			}

			for _, e := range entries {
				amounts = append(amounts, e.Amount)
			}

			if after = next; after == "" {
				break
			}
		}
		slices.Sort(amounts)

		if !slices.Equal(amounts, []int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}) {
			t.Errorf("limit %d: %v", limit, amounts)
		}

		transfers := map[string]bool{}
		for after := ""; ; {
			page, next, err := b.Transfers(t.Context(), after, limit)
			if err != nil || len(page) > limit {
				t.Fatalf("limit %d: %d transfers, %v", limit, len(page), err)
			}

			for _, p := range page {
				transfers[p.ID] = true
			}

			if after = next; after == "" {
				break
			}
		}

		if len(transfers) != 10 {
			t.Errorf("limit %d: %d transfers", limit, len(transfers))
		}
	}
}

// Other money is another transfer.
func TestTheContentOfATransferIsItsMoney(t *testing.T) {
	b := newBank(t)
	b.open(t, ledger.NewAccount{ID: "alice"}, 1000)
	b.open(t, ledger.NewAccount{ID: "shop"}, 0)
	made := ledger.Move("t", "alice", "shop", 10, "EUR")
	made.Reference = "invoice 1"

	if _, err := b.Post(t.Context(), made); err != nil {
		t.Fatal(err)
	}
	b.reserve(t, hold("h", "alice", 10))

	for name, change := range map[string]func(t *ledger.Transfer){
		"currency":  func(t *ledger.Transfer) { t.Currency = "USD" },
		"reference": func(t *ledger.Transfer) { t.Reference = "invoice 2" },
		"amount":    func(t *ledger.Transfer) { t.Legs = ledger.Move("t", "alice", "shop", 11, "EUR").Legs },
		"hold":      func(t *ledger.Transfer) { t.Legs = settle("t", "alice", "h", "shop", 10, false).Legs },
		"direction": func(t *ledger.Transfer) { t.Legs = ledger.Move("t", "shop", "alice", 10, "EUR").Legs },
	} {
		other := made
		change(&other)

		if _, err := b.Post(t.Context(), other); !errors.Is(err, ledger.ErrConflict) {
			t.Errorf("another %s: %v", name, err)
		}
	}

	if p, err := b.Post(t.Context(), made); err != nil || !p.Replayed {
		t.Errorf("again: %+v, %v", p, err)
	}

	if _, err := b.Post(t.Context(), settle("s", "alice", "h", "shop", 1, false)); err != nil {
		t.Fatal(err)
	}

	if _, err := b.Post(t.Context(), settle("s", "alice", "h", "shop", 1, true)); !errors.Is(err, ledger.ErrConflict) {
		t.Errorf("with the return of the rest: %v", err)
	}
}

// Other money, another currency or another end is another hold.
func TestTheContentOfAHoldIsItsMoneyAndItsEnd(t *testing.T) {
	b := newBank(t)
	b.open(t, ledger.NewAccount{ID: "alice"}, 1000)

	made := hold("h", "alice", 10)
	made.ExpiresAt = b.time().Add(time.Hour)
	b.reserve(t, made)

	for name, change := range map[string]func(n *ledger.NewHold){
		"amount":   func(n *ledger.NewHold) { n.Amount = 11 },
		"currency": func(n *ledger.NewHold) { n.Currency = "USD" },
		"end":      func(n *ledger.NewHold) { n.ExpiresAt = n.ExpiresAt.Add(time.Millisecond) },
		"no end":   func(n *ledger.NewHold) { n.ExpiresAt = time.Time{} },
	} {
		other := made
		change(&other)

		if _, _, err := b.Reserve(t.Context(), other); !errors.Is(err, ledger.ErrConflict) {
			t.Errorf("another %s: %v", name, err)
		}
	}

	if h, replayed, err := b.Reserve(t.Context(), made); err != nil || !replayed || !h.ExpiresAt.Equal(made.ExpiresAt) {
		t.Errorf("again: %+v, %v, %v", h, replayed, err)
	}
}
