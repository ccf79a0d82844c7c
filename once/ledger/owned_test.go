package ledger_test

import (
	"context"
	"errors"
	"testing"

	"ratchet/once/ledger"
)

func TestOnlyTheOwnerEndsItsHoldsAndTransfers(t *testing.T) {
	b := newBank(t)
	b.open(t, ledger.NewAccount{ID: "alice"}, 1000)
	b.open(t, ledger.NewAccount{ID: "shop"}, 0)

	till, err := b.Owned("till")
	if err != nil {
		t.Fatal(err)
	}
	b.reserve(t, hold("h", "alice", 100)) // another hold than the owner's with the same id

	if _, replayed, err := till.Reserve(t.Context(), hold("h", "alice", 400)); err != nil || replayed {
		t.Fatal(replayed, err)
	}
	b.want(t, "alice", 1000, 500)

	for _, id := range []string{"h#till", "h#other"} {
		if _, err := b.Release(t.Context(), "alice", id); !errors.Is(err, ledger.ErrReserved) || !errors.Is(err, ledger.ErrInvalid) {
			t.Errorf("release of %s: %v", id, err)
		}

		if _, _, err := b.Reserve(t.Context(), hold(id, "alice", 1)); !errors.Is(err, ledger.ErrReserved) {
			t.Errorf("hold %s: %v", id, err)
		}

		if _, err := b.Post(t.Context(), settle("t", "alice", id, "shop", 1, false)); !errors.Is(err, ledger.ErrReserved) {
			t.Errorf("transfer from hold %s: %v", id, err)
		}

		if _, err := b.Post(t.Context(), ledger.Move(id, "alice", "shop", 1, "EUR")); !errors.Is(err, ledger.ErrReserved) {
			t.Errorf("transfer %s: %v", id, err)
		}
	}

	if _, err := b.Post(t.Context(), settle("p", "alice", "h", "shop", 100, false)); err != nil {
		t.Error(err)
	}

	if posted, err := till.Post(t.Context(), settle("p", "alice", "h", "shop", 150, false)); err != nil || posted.Replayed || posted.ID != "p#till" {
		t.Errorf("%+v, %v", posted, err)
	}

	if h, found, err := b.Hold(t.Context(), "alice", "h#till"); err != nil || !found || h.Remaining != 250 {
		t.Errorf("everyone can read it: %+v, %v", h, err)
	}

	if p, found, err := b.Transfer(t.Context(), "p#till"); err != nil || !found {
		t.Errorf("%+v, %v", p, err)
	}

	if _, err := till.Release(t.Context(), "alice", "h"); err != nil {
		t.Error(err)
	}
	b.want(t, "alice", 750, 750)
	b.sound(t)

	for _, owner := range []string{"", "A", "a#b", "a-name-of-more-than-twenty"} {
		if _, err := b.Owned(owner); !errors.Is(err, ledger.ErrInvalid) {
			t.Errorf("owner %q: %v", owner, err)
		}
	}
}

// What an owner names p, p/c, p/r, ... uses one shard of an account, so that a refund finds
// the money of its capture. Other names select a shard each.
func TestTheStepsOfAnOwnerUseOneShard(t *testing.T) {
	b := newBank(t)
	b.open(t, ledger.NewAccount{ID: "world", Overdraft: true}, 0)
	b.open(t, ledger.NewAccount{ID: "shop", Shards: 16}, 0)

	till, err := b.Owned("till")
	if err != nil {
		t.Fatal(err)
	}

	for owner, post := range map[string]func(context.Context, ledger.Transfer, ...ledger.TxPart) (ledger.Posted, error){"till": till.Post, "": b.Post} {
		shards := map[int]bool{}
		for _, id := range []string{"p", "p/a", "p/b", "p/c", "p/a/b", "p/d"} {
			posted, err := post(t.Context(), ledger.Move(id, "world", "shop", 1, "EUR"))
			if err != nil {
				t.Fatal(err)
			}
			shards[posted.Postings[1].Shard] = true
		}

		if (len(shards) == 1) != (owner == "till") {
			t.Errorf("owner %q: shards %v", owner, shards)
		}
	}

	// The hold finds all the money there.
	sent := b.wire.sent
	if _, _, err := till.Reserve(t.Context(), hold("p/r", "shop", 6)); err != nil || b.wire.sent != sent+1 {
		t.Errorf("%v after %d transactions", err, b.wire.sent-sent)
	}
}
