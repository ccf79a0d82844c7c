package ledger_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"ratchet/once/ledger"
)

func TestShardedAccountTakesManyCreditsAndPaysFromAllShards(t *testing.T) {
	b := newBank(t)
	b.open(t, ledger.NewAccount{ID: "shop", Shards: 8}, 0)

	var group sync.WaitGroup
	for c := range 8 {
		id := fmt.Sprint("customer-", c)
		b.open(t, ledger.NewAccount{ID: id}, 1000)
		group.Go(func() {
			for i := range 10 {
				if _, err := b.Post(t.Context(), ledger.Move(fmt.Sprint(id, "/", i), id, "shop", 100, "EUR")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	b.want(t, "shop", 8000, 8000)
	b.open(t, ledger.NewAccount{ID: "bank"}, 0)
	// More than any shard has: the debit takes from several in one transaction.
	sent := b.wire.sent

	posted, err := b.Post(t.Context(), ledger.Move("payout", "shop", "bank", 7500, "EUR"))
	if err != nil || len(posted.Postings) < 5 {
		t.Fatalf("%+v, %v", posted, err)
	}

	if b.wire.sent-sent > 3 {
		t.Errorf("%d transactions", b.wire.sent-sent)
	}
	b.want(t, "shop", 500, 500)

	if _, err := b.Post(t.Context(), ledger.Move("too-much", "shop", "bank", 501, "EUR")); !errors.Is(err, ledger.ErrInsufficientFunds) {
		t.Errorf("the shards together have 500: %v", err)
	}

	if again, err := b.Post(t.Context(), ledger.Move("payout", "shop", "bank", 7500, "EUR")); err != nil || !again.Replayed {
		t.Errorf("again: %+v, %v", again, err)
	}

	if _, err := b.Post(t.Context(), ledger.Move("rest", "shop", "bank", 500, "EUR")); err != nil {
		t.Fatal(err)
	}
	b.want(t, "shop", 0, 0)
	b.sound(t)
}

func TestConcurrentProcessesNeverOverdraw(t *testing.T) {
	for _, shards := range []int{1, 4} {
		b := newBank(t)
		b.open(t, ledger.NewAccount{ID: "shared", Shards: shards}, 700)
		b.open(t, ledger.NewAccount{ID: "sink", Overdraft: true, Shards: 4}, 0)

		var spent, refused atomic.Int32
		var group sync.WaitGroup
		for p := range 3 {
			l := b.another(t) // shares only the tables with the others
			for g := range 4 {
				group.Go(func() {
					for i := range 5 {
						_, err := l.Post(t.Context(), ledger.Move(fmt.Sprint(p, "-", g, "-", i), "shared", "sink", 100, "EUR"))
						switch {
						case err == nil:
							spent.Add(1)
						case errors.Is(err, ledger.ErrInsufficientFunds):
							refused.Add(1)
						default:
							t.Error(err)
						}
					}
				})
			}
		}
		group.Wait()

		if spent.Load() != 7 || refused.Load() != 53 {
			t.Errorf("%d shards: %d spent and %d refused, want 7 and 53", shards, spent.Load(), refused.Load())
		}
		b.want(t, "shared", 0, 0)
		b.sound(t)
	}
}

func TestConcurrentPostsOfOneTransferMakeItOnce(t *testing.T) {
	b := newBank(t)
	b.open(t, ledger.NewAccount{ID: "alice"}, 1000)
	b.open(t, ledger.NewAccount{ID: "bob"}, 0)

	var made, replayed atomic.Int32
	var group sync.WaitGroup
	for range 20 {
		l := b.another(t)
		group.Go(func() {
			posted, err := l.Post(t.Context(), ledger.Move("t", "alice", "bob", 100, "EUR"))
			switch {
			case err != nil:
				t.Error(err)
			case posted.Replayed:
				replayed.Add(1)
			default:
				made.Add(1)
			}
		})
	}
	group.Wait()

	if made.Load() != 1 || replayed.Load() != 19 {
		t.Errorf("%d calls made the transfer, %d replayed it", made.Load(), replayed.Load())
	}
	b.want(t, "bob", 100, 100)
}
