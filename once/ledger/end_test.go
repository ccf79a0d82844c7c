package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/embedded/embeddedtest"
	"ratchet/internal/dynamo"
	"ratchet/once/ledger"
	"ratchet/once/txn"
)

// held opens alice with 100, of which the hold h has 50 for a minute, and the shop.
func (b *bank) held(t testing.TB) {
	t.Helper()
	b.open(t, ledger.NewAccount{ID: "alice"}, 100)
	b.open(t, ledger.NewAccount{ID: "shop"}, 0)

	h := hold("h", "alice", 50)
	h.ExpiresAt = b.time().Add(time.Minute)
	b.reserve(t, h)
}

// delay makes the next transaction conflict, and ten minutes pass before its next attempt.
func (b *bank) delay() {
	b.wire.mu.Lock()
	defer b.wire.mu.Unlock()

	b.wire.refuse, b.wire.between = 1, func() { b.now.Add((10 * time.Minute).Milliseconds()) }
}

// note is a part of the caller's.
func note(id string) ledger.TxPart {
	return func(t *txn.Transaction) {
		t.Add("note", types.TransactWriteItem{Put: &types.Put{TableName: &tables.Transfers, Item: item{"transferId": str(id)}}}, nil)
	}
}

// After the end, every call answers and leaves the same, whether a sweep has come before or not, and
// whether the end has passed before the call or during it.
func TestNoAnswerAboutAHoldDependsOnASweep(t *testing.T) {
	for name, call := range map[string]func(*bank) error{
		"settle": func(b *bank) error {
			_, err := b.Post(t.Context(), settle("t-1", "alice", "h", "shop", 50, false))
			return err
		},
		"settle a part": func(b *bank) error {
			_, err := b.Post(t.Context(), settle("t-1", "alice", "h", "shop", 10, true))
			return err
		},
		"release": func(b *bank) error {
			_, err := b.Release(t.Context(), "alice", "h")
			return err
		},
		"release with a part": func(b *bank) error {
			_, err := b.Release(t.Context(), "alice", "h", note("n-1"))
			return err
		},
	} {
		var want []any

		for _, way := range []string{"swept", "not swept", "the end passes during the call"} {
			b := newBank(t)
			b.held(t)

			if way == "the end passes during the call" {
				b.delay()
			} else {
				b.now.Add((10 * time.Minute).Milliseconds())
			}

			if way == "swept" {
				b.sweep(t, 1)
			}

			got := []any{fmt.Sprint(call(b))}
			if _, _, err := b.ReleaseExpired(t.Context(), 10); err != nil {
				t.Error(err)
			}

			h, _, _ := b.Hold(t.Context(), "alice", "h")
			a, _, _ := b.Account(t.Context(), "alice")
			_, noted, _ := b.Transfer(t.Context(), "n-1")
			got = append(got, h.Status, h.Remaining, a.Available, a.Held, noted)

			if way == "swept" {
				want = got
			} else if !reflect.DeepEqual(got, want) {
				t.Errorf("%s, %s: %v, after a sweep %v", name, way, got, want)
			}
		}
	}
}

func (b *bank) sweep(t testing.TB, want int) {
	t.Helper()

	if n, _, err := b.ReleaseExpired(t.Context(), 10); n != want || err != nil {
		t.Fatalf("released %d, %v, want %d", n, err, want)
	}
}

func TestAHoldIsNotSettledAfterItsEnd(t *testing.T) {
	b := newBank(t)
	b.held(t)
	b.delay()

	if p, err := b.Post(t.Context(), settle("t-1", "alice", "h", "shop", 50, false)); !errors.Is(err, ledger.ErrHoldExpired) {
		t.Errorf("nine minutes after the end: %+v, %v", p, err)
	}
}

func TestAWrongClockEndsNoHoldEarlyAndKeepsNoneLonger(t *testing.T) {
	for _, ahead := range []time.Duration{-72 * time.Hour, 72 * time.Hour} {
		b := newBank(t)
		b.held(t)

		if n, _, err := b.onAClock(t, ahead).ReleaseExpired(t.Context(), 10); n != 0 || err != nil {
			t.Errorf("%s ahead: released %d, %v", ahead, n, err)
		}

		if _, err := b.onAClock(t, ahead).Post(t.Context(), settle("t-1", "alice", "h", "shop", 10, false)); err != nil {
			t.Errorf("%s ahead, before the end: %v", ahead, err)
		}

		b.now.Add((10 * time.Minute).Milliseconds())

		if _, err := b.onAClock(t, ahead).Post(t.Context(), settle("t-2", "alice", "h", "shop", 10, false)); !errors.Is(err, ledger.ErrHoldExpired) {
			t.Errorf("%s ahead, after the end: %v", ahead, err)
		}

		if h, err := b.onAClock(t, ahead).Release(t.Context(), "alice", "h"); err != nil || h.Status != ledger.HoldExpired {
			t.Errorf("%s ahead: %+v, %v", ahead, h, err)
		}

		// What is stored for others is the time of the service.
		if p, _, err := b.Transfer(t.Context(), "t-1"); err != nil || p.At.Sub(b.time()).Abs() > time.Hour {
			t.Errorf("%s ahead: made at %s, %v", ahead, p.At, err)
		}
	}
}

// The first attempt of a settlement was made without an answer. Its repeat has another time and token,
// and finds its own record.
func TestAnUnansweredSettlementIsRecognized(t *testing.T) {
	b := newBank(t)
	b.held(t)
	b.wire.lose = 1

	p, err := b.Post(t.Context(), settle("t-1", "alice", "h", "shop", 50, false))
	if err != nil || p.Replayed || b.wire.lose != 0 {
		t.Errorf("%+v, %v", p, err)
	}

	h := hold("h-2", "alice", 50)
	h.ExpiresAt = b.time().Add(time.Minute)
	b.reserve(t, h)
	b.wire.lose = 1

	if h, err := b.Release(t.Context(), "alice", "h-2", note("n-1")); err != nil || h.Status != ledger.HoldReleased || b.wire.lose != 0 {
		t.Errorf("%+v, %v", h, err)
	}
}

func TestOnlyEvidenceEndsAnUnansweredCall(t *testing.T) {
	for name, call := range map[string]func(context.Context, *ledger.Ledger) error{
		"CreateAccount": func(ctx context.Context, l *ledger.Ledger) error {
			_, _, err := l.CreateAccount(ctx, ledger.NewAccount{ID: "wide", Currency: "EUR", Shards: 4})
			return err
		},
		"CloseAccount": func(ctx context.Context, l *ledger.Ledger) error { return l.CloseAccount(ctx, "shop") },
		"Reserve": func(ctx context.Context, l *ledger.Ledger) error {
			_, _, err := l.Reserve(ctx, hold("h-2", "alice", 10))
			return err
		},
		"Release": func(ctx context.Context, l *ledger.Ledger) error {
			_, err := l.Release(ctx, "alice", "h")
			return err
		},
		"Post": func(ctx context.Context, l *ledger.Ledger) error {
			_, err := l.Post(ctx, ledger.Move("t-1", "alice", "shop", 10, "EUR"))
			return err
		},
		"settle": func(ctx context.Context, l *ledger.Ledger) error {
			_, err := l.Post(ctx, settle("t-1", "alice", "h", "shop", 10, false))
			return err
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newBank(t)
			b.held(t)

			n := 0
			b.transport.Before(func(c *embeddedtest.Call) error {
				if !c.Is("TransactWriteItems") {
					return nil
				}

				if n++; n == 1 {
					return embeddedtest.ErrAnswerLost
				}

				return &embeddedtest.Error{Code: "AccessDeniedException"}
			})

			if err := call(t.Context(), b.Ledger); n < 2 || !errors.Is(err, txn.ErrUnknown) || !txn.Retryable(err) {
				t.Errorf("%s: %v after %d transactions", name, err, n)
			}
		})
	}
}

// The account was created by the first attempt, and its other shards cannot be read: the call knows
// all the same that it has created the account.
func TestAnAccountThatWasCreatedWithoutAnAnswerNeedsNoMoreReads(t *testing.T) {
	b := newBank(t)
	n := 0
	b.transport.Before(func(c *embeddedtest.Call) error {
		if n++; n == 1 {
			return embeddedtest.ErrAnswerLost
		}

		if !c.Is("TransactWriteItems") {
			return &embeddedtest.Error{Code: "AccessDeniedException"}
		}
		// DynamoDB has forgotten the token.
		c.SetBody(token.ReplaceAll(c.Body(), []byte(`"ClientRequestToken":"fresh"`)))

		return nil
	})

	a, replayed, err := b.CreateAccount(t.Context(), ledger.NewAccount{ID: "wide", Currency: "EUR", Shards: 4})
	if err != nil || replayed || a.Shards != 4 || n != 2 {
		t.Errorf("%+v, %v, %v after %d calls", a, replayed, err, n)
	}
}

// While its hold is in conflict, shards that hold too little tell nothing: another call has settled
// the hold. A hold on three shards was once taken for a contradiction at once.
func TestALockedHoldIsNoContradictionOfItsShards(t *testing.T) {
	b := newBank(t)
	b.open(t, ledger.NewAccount{ID: "wide", Shards: 3}, 0)
	b.open(t, ledger.NewAccount{ID: "shop"}, 0)
	b.open(t, ledger.NewAccount{ID: "bank", Overdraft: true}, 0)

	// Credits go to the shard that the id selects.
	for i := range 12 {
		for shard := range 3 {
			if id := fmt.Sprint("t-", i); dynamo.Shard(id, 3) == shard {
				if _, err := b.Post(t.Context(), ledger.Move(id, "bank", "wide", 10, "EUR")); err != nil {
					t.Fatal(err)
				}
			}
		}
	}

	b.reserve(t, hold("h", "wide", 120))

	n := 0
	b.transport.Before(func(c *embeddedtest.Call) error {
		if !c.Is("TransactWriteItems") {
			return nil
		}

		if n++; n > 1 {
			return nil
		}
		// Another call settles all of it between the read and the write of this one.
		if _, err := b.another(t).Post(t.Context(), settle("other", "wide", "h", "shop", 120, false)); err != nil {
			t.Error(err)
		}

		// The record, the hold, and an account and entry of each shard, and of the shop.
		return embeddedtest.Canceled("None", "TransactionConflict",
			"ConditionalCheckFailed", "None", "ConditionalCheckFailed", "None", "ConditionalCheckFailed", "None", "None", "None")
	})

	if _, err := b.Post(t.Context(), settle("t-late", "wide", "h", "shop", 120, false)); !errors.Is(err, ledger.ErrHoldClosed) {
		t.Errorf("%v after %d transactions", err, n)
	}
}

// A release that finds its hold expired ends it, and its parts are not written. If the answer to that is
// lost, the expiry does not count as the release.
func TestAnUnansweredExpiryIsNoReleaseWithParts(t *testing.T) {
	b := newBank(t)
	b.held(t)
	b.now.Add((10 * time.Minute).Milliseconds())
	b.wire.lose = 1

	if h, err := b.Release(t.Context(), "alice", "h", note("n-1")); !errors.Is(err, ledger.ErrHoldClosed) || b.wire.lose != 0 {
		t.Errorf("%+v, %v", h, err)
	}

	if _, noted, err := b.Transfer(t.Context(), "n-1"); noted || err != nil {
		t.Errorf("the part was written: %t, %v", noted, err)
	}
}
