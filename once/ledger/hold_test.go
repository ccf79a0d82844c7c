package ledger_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/once/ledger"
)

func hold(id, account string, amount int64) ledger.NewHold {
	return ledger.NewHold{ID: id, Account: account, Amount: amount, Currency: "EUR"}
}

func (b *bank) reserve(t testing.TB, n ledger.NewHold) {
	t.Helper()

	if _, _, err := b.Reserve(t.Context(), n); err != nil {
		t.Fatal(err)
	}
}

// settle returns a transfer from a hold.
func settle(id, account, hold, to string, amount int64, release bool) ledger.Transfer {
	return ledger.Transfer{ID: id, Currency: "EUR", Legs: []ledger.Leg{
		{Account: account, Amount: -amount, Hold: hold, Release: release}, {Account: to, Amount: amount}}}
}

func TestHoldSetsMoneyAside(t *testing.T) {
	b := newBank(t)
	b.open(t, ledger.NewAccount{ID: "alice"}, 1000)
	b.open(t, ledger.NewAccount{ID: "shop"}, 0)

	for i := range 2 {
		h, replayed, err := b.Reserve(t.Context(), hold("h-1", "alice", 700))
		if err != nil || replayed != (i > 0) || h.Remaining != 700 {
			t.Fatalf("%+v, %v, %v", h, replayed, err)
		}
		b.want(t, "alice", 1000, 300)
	}

	if _, err := b.Post(t.Context(), ledger.Move("t", "alice", "shop", 301, "EUR")); !errors.Is(err, ledger.ErrInsufficientFunds) {
		t.Errorf("held money must not be spent otherwise: %v", err)
	}

	for want, n := range map[error]ledger.NewHold{
		ledger.ErrInsufficientFunds: hold("h-2", "alice", 301), ledger.ErrConflict: hold("h-1", "alice", 1), ledger.ErrUnknownAccount: hold("h", "nobody", 1),
		ledger.ErrCurrencyMismatch: {ID: "h-3", Account: "alice", Amount: 1, Currency: "USD"}, ledger.ErrInvalid: hold("", "alice", 1),
	} {
		if _, _, err := b.Reserve(t.Context(), n); !errors.Is(err, want) {
			t.Errorf("want %v, got %v", want, err)
		}
	}

	if err := b.CloseAccount(t.Context(), "alice"); !errors.Is(err, ledger.ErrAccountInUse) {
		t.Errorf("close with a hold: %v", err)
	}
	b.sound(t)
}

func TestHoldIsSettledInPartsAndTheRestReturned(t *testing.T) {
	b := newBank(t)
	b.open(t, ledger.NewAccount{ID: "alice"}, 1000)
	b.open(t, ledger.NewAccount{ID: "shop"}, 0)
	b.reserve(t, hold("h", "alice", 700))

	for range 2 {
		if _, err := b.Post(t.Context(), settle("s-1", "alice", "h", "shop", 200, false)); err != nil {
			t.Fatal(err)
		}
		b.want(t, "alice", 800, 300)
	}

	if _, err := b.Post(t.Context(), settle("s-2", "alice", "h", "shop", 501, false)); !errors.Is(err, ledger.ErrHoldExceeded) {
		t.Errorf("more than is left: %v", err)
	}

	if _, err := b.Post(t.Context(), settle("s-3", "alice", "h", "shop", 100, true)); err != nil {
		t.Fatal(err)
	}
	b.want(t, "alice", 700, 700)
	b.want(t, "shop", 300, 300)

	if _, err := b.Post(t.Context(), settle("s-4", "alice", "h", "shop", 1, false)); !errors.Is(err, ledger.ErrHoldClosed) {
		t.Errorf("a settled hold: %v", err)
	}

	if _, err := b.Release(t.Context(), "alice", "h"); !errors.Is(err, ledger.ErrHoldClosed) {
		t.Errorf("release of a settled hold: %v", err)
	}

	h, found, err := b.Hold(t.Context(), "alice", "h")
	if err != nil || !found || h.Status != ledger.HoldSettled || h.Remaining != 0 {
		t.Errorf("%+v, %v, %v", h, found, err)
	}

	if again, err := b.Post(t.Context(), settle("s-3", "alice", "h", "shop", 100, true)); err != nil || !again.Replayed {
		t.Errorf("again: %+v, %v", again, err)
	}
	b.reserve(t, hold("whole", "alice", 700))

	if _, err := b.Post(t.Context(), settle("s-5", "alice", "whole", "shop", 700, false)); err != nil {
		t.Fatal(err)
	}

	if h, _, _ := b.Hold(t.Context(), "alice", "whole"); h.Status != ledger.HoldSettled {
		t.Errorf("a hold with nothing left must be settled: %+v", h)
	}
	b.want(t, "alice", 0, 0)
	b.sound(t)
}

func TestReleaseReturnsTheMoneyOnce(t *testing.T) {
	b := newBank(t)
	b.open(t, ledger.NewAccount{ID: "alice"}, 1000)
	b.open(t, ledger.NewAccount{ID: "shop"}, 0)
	b.reserve(t, hold("h", "alice", 700))

	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if h, err := b.Release(t.Context(), "alice", "h"); err != nil || h.Status != ledger.HoldReleased {
				t.Errorf("%+v, %v", h, err)
			}
		})
	}
	group.Wait()
	b.want(t, "alice", 1000, 1000)

	if _, err := b.Post(t.Context(), settle("s", "alice", "h", "shop", 1, false)); !errors.Is(err, ledger.ErrHoldClosed) {
		t.Errorf("a released hold: %v", err)
	}

	if _, err := b.Release(t.Context(), "alice", "none"); !errors.Is(err, ledger.ErrUnknownHold) {
		t.Errorf("no such hold: %v", err)
	}

	if parts, ok := b.item(t, "holds", item{"accountId": str("alice"), "holdId": str("h")})["parts"]; ok {
		t.Errorf("a hold that holds nothing has the parts %v", parts)
	}
	b.sound(t)
}

// A hold whose record is lost while it is released is unknown, and the account stays as it is.
func TestReleaseOfAHoldThatIsLostMeanwhile(t *testing.T) {
	b := newBank(t)
	b.open(t, ledger.NewAccount{ID: "alice"}, 1000)
	b.reserve(t, hold("h", "alice", 700))

	b.wire.between = func() { b.remove(t, "holds", item{"accountId": str("alice"), "holdId": str("h")}) }

	if h, err := b.Release(t.Context(), "alice", "h"); !errors.Is(err, ledger.ErrUnknownHold) || refusalOf(t, err).Op != "release" {
		t.Errorf("%+v, %v", h, err)
	}
	b.want(t, "alice", 1000, 300)
}

func TestExpiredHoldIsNotSettledAndItsMoneyReturned(t *testing.T) {
	b := newBank(t)
	b.open(t, ledger.NewAccount{ID: "alice"}, 1000)
	b.open(t, ledger.NewAccount{ID: "shop"}, 0)
	n := hold("h", "alice", 700)
	n.ExpiresAt = b.time().Add(time.Minute)
	b.reserve(t, n)
	b.reserve(t, hold("no-expiry", "alice", 100))
	b.now.Add(time.Minute.Milliseconds() - 1)

	if _, err := b.Post(t.Context(), settle("s-1", "alice", "h", "shop", 100, false)); err != nil {
		t.Errorf("a millisecond before the expiry: %v", err)
	}

	if n, _, err := b.ReleaseExpired(t.Context(), 100); n != 0 || err != nil {
		t.Errorf("%d released too early, %v", n, err)
	}
	b.now.Add(1)

	if _, err := b.Post(t.Context(), settle("s-2", "alice", "h", "shop", 100, false)); !errors.Is(err, ledger.ErrHoldExpired) {
		t.Errorf("at the expiry: %v", err)
	}
	b.want(t, "alice", 900, 200)

	released, group := atomic.Int32{}, sync.WaitGroup{}
	for range 4 {
		group.Go(func() {
			n, more, err := b.ReleaseExpired(t.Context(), 100)
			if err != nil || more {
				t.Errorf("more %v, %v", more, err)
			}
			released.Add(int32(n))
		})
	}
	group.Wait()
	b.want(t, "alice", 900, 800)

	if _, err := b.Post(t.Context(), settle("s-3", "alice", "h", "shop", 100, false)); !errors.Is(err, ledger.ErrHoldExpired) {
		t.Errorf("after its money was returned: %v", err)
	}
	b.sound(t)
}

func TestReleaseExpiredContinuesAfterItsLimit(t *testing.T) {
	b := newBank(t)
	b.open(t, ledger.NewAccount{ID: "alice"}, 1000)

	for i := range 30 {
		n := hold(fmt.Sprint("h-", i), "alice", 10)
		if i%3 > 0 {
			n.ExpiresAt = b.time().Add(time.Minute)
		}
		b.reserve(t, n)
	}
	b.now.Add(time.Hour.Milliseconds())

	total, calls := 0, 0
	for more := true; more; calls++ {
		var n int
		var err error
		if n, more, err = b.ReleaseExpired(t.Context(), 7); err != nil {
			t.Fatal(err)
		}
		total += n
	}

	if total != 20 || calls < 3 {
		t.Errorf("%d of 20 holds in %d calls", total, calls)
	}
	b.want(t, "alice", 1000, 900)
	b.sound(t)
}

func TestHoldOverSeveralShardsIsSettledFromThem(t *testing.T) {
	b := newBank(t)
	b.open(t, ledger.NewAccount{ID: "alice"}, 0)
	b.open(t, ledger.NewAccount{ID: "shop", Shards: 4}, 0)

	for i := range 40 {
		b.open(t, ledger.NewAccount{ID: fmt.Sprint("c-", i)}, 25)

		if _, err := b.Post(t.Context(), ledger.Move(fmt.Sprint("pay-", i), fmt.Sprint("c-", i), "shop", 25, "EUR")); err != nil {
			t.Fatal(err)
		}
	}
	b.reserve(t, hold("h", "shop", 900))
	b.want(t, "shop", 1000, 100)

	if _, _, err := b.Reserve(t.Context(), hold("more", "shop", 101)); !errors.Is(err, ledger.ErrInsufficientFunds) {
		t.Errorf("got %v", err)
	}

	for i, c := range []struct {
		amount, balance, available int64
		release                    bool
	}{{10, 990, 100, false}, {700, 290, 100, false}, {50, 240, 240, true}} {
		if _, err := b.Post(t.Context(), settle(fmt.Sprint("s-", i), "shop", "h", "alice", c.amount, c.release)); err != nil {
			t.Fatal(err)
		}
		b.want(t, "shop", c.balance, c.available)
		b.sound(t)
	}
	b.reserve(t, hold("back", "shop", 240))

	if _, err := b.Release(t.Context(), "shop", "back"); err != nil {
		t.Fatal(err)
	}
	b.want(t, "shop", 240, 240)
	b.sound(t)
}

func TestHoldFindsAShardThatHasEnough(t *testing.T) {
	b := newBank(t)
	b.open(t, ledger.NewAccount{ID: "shop", Shards: 4}, 1000) // in one shard
	b.open(t, ledger.NewAccount{ID: "alice"}, 0)

	for i := range 5 {
		b.reserve(t, hold(fmt.Sprint("h-", i), "shop", 200))
	}

	if _, _, err := b.Reserve(t.Context(), hold("more", "shop", 1)); !errors.Is(err, ledger.ErrInsufficientFunds) {
		t.Errorf("nothing is left: %v", err)
	}

	for i := range 5 {
		if _, err := b.Post(t.Context(), settle(fmt.Sprint("s-", i), "shop", fmt.Sprint("h-", i), "alice", 150, true)); err != nil {
			t.Fatal(err)
		}
	}
	b.want(t, "shop", 250, 250)
	b.want(t, "alice", 750, 750)
	b.sound(t)
}

func TestReleaseExpiredSkipsAHoldThatCannotBeReleased(t *testing.T) {
	b := newBank(t)
	b.open(t, ledger.NewAccount{ID: "alice"}, 1000)
	b.open(t, ledger.NewAccount{ID: "gone"}, 1000)

	for i := range 40 {
		n := hold(fmt.Sprint("h-", i), "alice", 10)
		if i%2 == 0 {
			n.Account = "gone"
		}
		n.ExpiresAt = b.time().Add(time.Minute)
		b.reserve(t, n)
	}
	b.remove(t, "accounts", item{"accountId": str("gone")})

	for _, row := range []string{"000000000000001#alice#none", "000000000000002#alice#h-done"} { // stale rows
		if _, err := b.db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("holds"), Item: item{"accountId": str("due#0"), "holdId": str(row)}}); err != nil {
			t.Fatal(err)
		}
	}
	b.reserve(t, hold("h-done", "alice", 1))

	if _, err := b.Release(t.Context(), "alice", "h-done"); err != nil {
		t.Fatal(err)
	}
	b.now.Add(time.Hour.Milliseconds())

	released, calls := 0, 0
	for more := true; more; calls++ {
		if calls == 50 {
			t.Fatal("the sweep does not end")
		}
		var n int
		var err error
		n, more, err = b.ReleaseExpired(t.Context(), 3)
		released += n

		if !more && (err == nil || !errors.Is(err, ledger.ErrCorrupt) || len(err.Error()) > 4000) {
			t.Errorf("the last call must report the holds that cannot be released: %v", err)
		}
	}

	if released != 20 {
		t.Errorf("%d of 20 released", released)
	}
	b.want(t, "alice", 1000, 1000)

	out, err := b.db.Query(t.Context(), &dynamodb.QueryInput{TableName: aws.String("holds"), KeyConditionExpression: aws.String("accountId = :due AND holdId < :soon"),
		ExpressionAttributeValues: item{":due": str("due#0"), ":soon": str("000000000000003")}})
	if err != nil || len(out.Items) != 0 {
		t.Errorf("stale due rows are left: %v, %v", out, err)
	}
}

// TestHoldIsEndedAsItIsNow lets another process settle a part of a hold after this one has
// read the hold, and before it writes.
func TestHoldIsEndedAsItIsNow(t *testing.T) {
	for _, c := range []struct {
		name               string
		do                 func(*bank) error
		remaining          int64
		balance, available int64
	}{
		{
			name: "settle a part",
			do: func(b *bank) error {
				_, err := b.Post(t.Context(), settle("s-2", "alice", "h", "shop", 100, false))
				return err
			},
			remaining: 400,
			balance:   700, available: 0,
		},
		{
			name: "settle a part and release the rest",
			do: func(b *bank) error {
				_, err := b.Post(t.Context(), settle("s-2", "alice", "h", "shop", 100, true))
				return err
			},
			remaining: 0,
			balance:   700, available: 400,
		},
		{
			name:      "release",
			do:        func(b *bank) error { _, err := b.Release(t.Context(), "alice", "h"); return err },
			remaining: 0,
			balance:   800, available: 500,
		},
	} {
		b := newBank(t)
		b.open(t, ledger.NewAccount{ID: "alice"}, 1000)
		b.open(t, ledger.NewAccount{ID: "shop"}, 0)
		b.reserve(t, hold("h", "alice", 700))
		b.reserve(t, hold("other", "alice", 300)) // so that the account holds more than h has

		other := b.another(t)
		b.wire.between = func() {
			if _, err := other.Post(t.Context(), settle("s-1", "alice", "h", "shop", 200, false)); err != nil {
				t.Errorf("%s: the other process: %v", c.name, err)
			}
		}

		if err := c.do(b); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}

		if h, _, err := b.Hold(t.Context(), "alice", "h"); err != nil || h.Remaining != c.remaining {
			t.Errorf("%s: %+v, %v; want %d left", c.name, h, err, c.remaining)
		}

		b.want(t, "alice", c.balance, c.available)
		b.sound(t)
	}
}

// TestHoldGivesNoMoreThanItsAccountHolds changes what an account holds without the ledger. A
// hold that claims more is not paid out.
func TestHoldGivesNoMoreThanItsAccountHolds(t *testing.T) {
	b := newBank(t)
	b.open(t, ledger.NewAccount{ID: "alice"}, 1000)
	b.open(t, ledger.NewAccount{ID: "shop"}, 0)
	b.reserve(t, hold("h", "alice", 700))
	b.tamper(t, "accounts", item{"accountId": str("alice")}, "SET held = :h, available = :a", item{":h": num(699), ":a": num(301)})

	l, err := ledger.New(ledger.Config{DynamoDB: b.db, Tables: tables}.WithAttempts(2))
	if err != nil {
		t.Fatal(err)
	}

	if _, err := l.Release(t.Context(), "alice", "h"); !errors.Is(err, ledger.ErrCorrupt) {
		t.Errorf("release: %v", err)
	}

	if _, err := b.Post(t.Context(), settle("s", "alice", "h", "shop", 700, false)); !errors.Is(err, ledger.ErrCorrupt) {
		t.Errorf("settle: %v", err)
	}

	b.want(t, "alice", 1000, 301)
	b.want(t, "shop", 0, 0)
}

// TestHoldsKeepTheRangeOfAnAccount lowers what is available of an account with overdraft to
// its lower limit.
func TestHoldsKeepTheRangeOfAnAccount(t *testing.T) {
	b := newBank(t)
	b.open(t, ledger.NewAccount{ID: "world", Side: ledger.Debit, Overdraft: true}, 0)

	for i := range 3 {
		b.reserve(t, hold(fmt.Sprint("h-", i), "world", ledger.MaxAmount))
	}

	if _, _, err := b.Reserve(t.Context(), hold("more", "world", 1)); !errors.Is(err, ledger.ErrBalanceRange) {
		t.Errorf("more than may be held: %v", err)
	}

	b.want(t, "world", 0, -3*ledger.MaxAmount)

	b.open(t, ledger.NewAccount{ID: "sink", Overdraft: true}, 0)

	for i := range 6 {
		if _, err := b.Post(t.Context(), ledger.Move(fmt.Sprint("t-", i), "world", "sink", ledger.MaxAmount, "EUR")); err != nil {
			t.Fatal(err)
		}
	}

	if _, err := b.Release(t.Context(), "world", "h-0"); err != nil {
		t.Fatal(err)
	}

	if _, err := b.Post(t.Context(), settle("s", "world", "h-1", "till", ledger.MaxAmount, true)); !errors.Is(err, ledger.ErrUnknownAccount) {
		t.Fatal(err)
	}

	b.want(t, "world", -6*ledger.MaxAmount, -8*ledger.MaxAmount)

	if _, err := b.Post(t.Context(), ledger.Move("last", "world", "sink", 1, "EUR")); !errors.Is(err, ledger.ErrBalanceRange) {
		t.Errorf("the sink has %+v: %v", b.account(t, "sink"), err)
	}

	b.reserve(t, hold("to-the-limit", "world", ledger.MaxAmount))

	if _, _, err := b.Reserve(t.Context(), hold("below", "world", 1)); !errors.Is(err, ledger.ErrBalanceRange) {
		t.Errorf("below the limit: %v", err)
	}

	b.want(t, "world", -6*ledger.MaxAmount, -9*ledger.MaxAmount)
	b.sound(t)
}
