package ledger_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/once/ledger"
	"ratchet/once/txn"
)

// people creates the accounts of the tests below: three plain ones and a sharded one.
func (b *bank) people(t testing.TB) []string {
	t.Helper()

	ids := []string{"ann", "bob", "cid", "shop"}
	for _, id := range ids {
		b.open(t, ledger.NewAccount{ID: id, Shards: map[string]int{"shop": 3}[id]}, 1000)
	}

	return ids
}

// total reads every item of every account at one moment and adds up all money.
func (b *bank) total(t testing.TB, ids ...string) (sum int64) {
	t.Helper()

	in := &dynamodb.TransactGetItemsInput{}
	for _, id := range append(ids, "world/EUR") {
		for shard := range map[string]int{"shop": 3}[id] + 1 {
			key := id
			if shard > 0 {
				key = fmt.Sprint(id, "#", shard)
			}
			in.TransactItems = append(in.TransactItems, types.TransactGetItem{Get: &types.Get{TableName: aws.String("accounts"), Key: item{"accountId": str(key)}}})
		}
	}

	out, err := b.db.TransactGetItems(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}

	for _, r := range out.Responses {
		for _, name := range []string{"available", "held"} {
			var n int64
			if v, ok := r.Item[name].(*types.AttributeValueMemberN); ok {
				fmt.Sscan(v.Value, &n)
			}
			sum += n
		}
	}

	return sum
}

// expected reports whether the calls of the tests below may fail with err.
func expected(err error) bool {
	for _, e := range []error{ledger.ErrInsufficientFunds, ledger.ErrConflict, ledger.ErrHoldClosed, ledger.ErrHoldExceeded, ledger.ErrHoldExpired, ledger.ErrUnknownHold} {
		if errors.Is(err, e) {
			return true
		}
	}

	return false
}

// TestMoneyIsConservedAtEveryMoment lets processes with different clocks transfer, hold,
// settle and release at random. Answers are lost and transactions conflict. Meanwhile the
// sum of all money must be zero at every moment.
func TestMoneyIsConservedAtEveryMoment(t *testing.T) {
	b := newBank(t)
	ids := b.people(t)
	stop, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)

		for {
			select {
			case <-stop:
				return
			default:
				if sum := b.total(t, ids...); sum != 0 {
					t.Errorf("all money sums to %d", sum)
					return
				}
			}
		}
	}()

	var group sync.WaitGroup
	for p := range 4 {
		skew := time.Duration(p-2) * 5 * time.Minute
		l := b.another(t, func(c *ledger.Config) { c.Now = func() time.Time { return b.time().Add(skew) } })

		group.Go(func() {
			r := rand.New(rand.NewPCG(uint64(p), 1))
			for i := range 60 {
				if i%10 == 0 {
					b.wire.mu.Lock()
					b.wire.lose, b.wire.refuse = 2, 2
					b.wire.mu.Unlock()
				}
				b.now.Add(1000)

				account, id := ids[r.IntN(4)], fmt.Sprint(r.IntN(40)) // few ids, so that calls meet
				other := ids[r.IntN(4)]
				var err error
				switch r.IntN(5) {
				case 0, 1:
					if other != account {
						_, err = l.Post(t.Context(), ledger.Move("t-"+id, account, other, int64(1+r.IntN(400)), "EUR"))
					}
				case 2:
					_, _, err = l.Reserve(t.Context(), ledger.NewHold{ID: id, Account: account, Amount: int64(1 + r.IntN(400)), Currency: "EUR",
						ExpiresAt: b.time().Add(5 * time.Minute)})
				case 3:
					if other != account {
						_, err = l.Post(t.Context(), settle("s-"+id+account, account, id, other, int64(1+r.IntN(200)), r.IntN(2) == 0))
					}
				case 4:
					if _, err = l.Release(t.Context(), account, id); err == nil {
						_, _, err = l.ReleaseExpired(t.Context(), 10)
					}
				}

				if err != nil && !expected(err) && !txn.Retryable(err) {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	close(stop)
	<-watched
	b.wire.mu.Lock()
	b.wire.lose, b.wire.refuse = 0, 0
	b.wire.mu.Unlock()
	b.now.Add(time.Hour.Milliseconds())

	for more := true; more; {
		var err error
		if _, more, err = b.ReleaseExpired(t.Context(), 100); err != nil {
			t.Fatal(err)
		}
	}

	if out, err := b.db.Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String("holds"), FilterExpression: aws.String("begins_with(accountId, :due)"),
		ExpressionAttributeValues: item{":due": str("due#")}}); err != nil || out.Count != 0 {
		t.Errorf("%d due rows are left, %v", out.Count, err)
	}

	for _, id := range ids {
		if a := b.account(t, id); a.Held != 0 || a.Available < 0 {
			t.Errorf("after all holds have expired: %+v", a)
		}
	}
	b.sound(t)
}
