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
	"pgregory.net/rapid"

	"ratchet/ledger"
	"ratchet/txn"
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

		l, err := ledger.New(ledger.Config{DynamoDB: b.db, Tables: tables, Now: func() time.Time { return time.UnixMilli(b.now.Load()).Add(skew) }})
		if err != nil {
			t.Fatal(err)
		}
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
						ExpiresAt: time.UnixMilli(b.now.Load()).Add(5 * time.Minute)})
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

// model is the ledger as plain arithmetic, for credit accounts.
type model struct {
	available map[string]int64
	transfers map[string]string // content by id
	holds     map[string]*held
}

type held struct {
	content   string
	remaining int64
	open      bool
}

// TestLedgerFollowsTheModel makes random calls, one after the other, in two processes. Every
// answer and every balance must be that of the model.
func TestLedgerFollowsTheModel(t *testing.T) {
	b := newBank(t)
	run := 0
	rapid.Check(t, func(rt *rapid.T) {
		run++
		m := model{available: map[string]int64{}, transfers: map[string]string{}, holds: map[string]*held{}}
		var ids []string
		for i := range 3 {
			id := fmt.Sprintf("run-%d/%d", run, i)
			b.open(t, ledger.NewAccount{ID: id, Shards: []int{1, 1, 4}[i]}, 100)
			m.available[id] = 100
			ids = append(ids, id)
		}

		ledgers := []*ledger.Ledger{b.Ledger, b.another(t)}
		for range rapid.IntRange(1, 25).Draw(rt, "steps") {
			l := ledgers[rapid.IntRange(0, 1).Draw(rt, "process")]
			from := rapid.IntRange(0, 2).Draw(rt, "from")
			source, target := ids[from], ids[(from+1)%3]

			id := fmt.Sprint(source, "/", rapid.IntRange(0, 3).Draw(rt, "id"))
			amount := int64(rapid.IntRange(1, 80).Draw(rt, "amount"))
			var got, want error
			switch rapid.IntRange(0, 3).Draw(rt, "step") {
			case 0:
				_, got = l.Post(t.Context(), ledger.Move(id, source, target, amount, "EUR"))
				want = m.move(id, source, target, amount, "")
			case 1:
				_, _, got = l.Reserve(t.Context(), hold(id, source, amount))
				want = m.reserve(id, source, amount)
			case 2:
				_, got = l.Post(t.Context(), settle(id, source, id, target, amount, false))
				want = m.move(id, source, target, amount, id)
			case 3:
				_, got = l.Release(t.Context(), source, id)
				want = m.release(id, source)
			}

			if !errors.Is(got, want) || want == nil && got != nil {
				rt.Fatalf("got %v, want %v", got, want)
			}

			for _, id := range ids {
				if a := b.account(t, id); a.Available != m.available[id] {
					rt.Fatalf("%s has %d available, want %d", id, a.Available, m.available[id])
				}
			}
		}
	})
	b.sound(t)
}

func (m *model) move(id, from, to string, amount int64, hold string) error {
	content := fmt.Sprint(from, to, amount, hold)
	h := m.holds[hold]
	switch {
	case m.transfers[id] == content:
		return nil
	case m.transfers[id] != "":
		return ledger.ErrConflict
	case hold == "" && m.available[from] < amount:
		return ledger.ErrInsufficientFunds
	case hold != "" && h == nil:
		return ledger.ErrUnknownHold
	case hold != "" && !h.open:
		return ledger.ErrHoldClosed
	case hold != "" && h.remaining < amount:
		return ledger.ErrHoldExceeded
	}

	m.transfers[id] = content
	m.available[to] += amount
	if hold == "" {
		m.available[from] -= amount
		return nil
	}
	h.remaining -= amount
	h.open = h.remaining > 0

	return nil
}

func (m *model) reserve(id, account string, amount int64) error {
	h := m.holds[id]
	switch {
	case h != nil && h.content == fmt.Sprint(amount):
		return nil
	case h != nil:
		return ledger.ErrConflict
	case m.available[account] < amount:
		return ledger.ErrInsufficientFunds
	}
	m.available[account] -= amount
	m.holds[id] = &held{content: fmt.Sprint(amount), remaining: amount, open: true}

	return nil
}

func (m *model) release(id, account string) error {
	h := m.holds[id]
	switch {
	case h == nil:
		return ledger.ErrUnknownHold
	case !h.open && h.remaining == 0: // settled
		return ledger.ErrHoldClosed
	case h.open:
		m.available[account] += h.remaining
		h.open, h.remaining = false, -1 // released
	}

	return nil
}
