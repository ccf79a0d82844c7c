package once_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/once"
	"ratchet/once/txn"
)

var errNoFunds = errors.New("insufficient funds")

func key(id string) item { return item{"idempotencyKey": &types.AttributeValueMemberS{Value: id}} }
func num(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

// deposit gives an account an amount.
func (w *watchedClaims) deposit(t testing.TB, account string, amount int64) {
	t.Helper()

	i := key(account)
	i["balance"] = num(amount)
	if _, err := w.db.Client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("business"), Item: i}); err != nil {
		t.Fatal(err)
	}
}

func (w *watchedClaims) account(t testing.TB, account string) item {
	t.Helper()

	out, err := w.db.Client.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String("business"), Key: key(account), ConsistentRead: aws.Bool(true)})
	if err != nil {
		t.Fatal(err)
	}

	return out.Item
}

// debit takes an amount from an account, as a part of a transaction.
func debit(account string, amount int64) func(*txn.Transaction) {
	return func(t *txn.Transaction) {
		t.Add("account", types.TransactWriteItem{Update: &types.Update{TableName: aws.String("business"), Key: key(account),
			UpdateExpression: aws.String("SET balance = balance - :amount"), ConditionExpression: aws.String("balance >= :amount"),
			ExpressionAttributeValues: item{":amount": num(amount)}}}, txn.FailWith(errNoFunds))
	}
}

// debitItem takes an amount from an account, as a write to the item.
func debitItem(account string, amount int64) once.ItemWrite {
	return once.ItemWrite{Table: "business", Key: key(account), Set: "balance = balance - :amount", Condition: "balance >= :amount",
		Values: item{":amount": num(amount)}, Result: []byte("debited")}
}

// modes are the two ways to store a mark together with its effect.
func (w *watchedClaims) modes() map[string]func(t testing.TB, c *once.Claims, k string, in []byte, account string) ([]byte, bool, error) {
	return map[string]func(testing.TB, *once.Claims, string, []byte, string) ([]byte, bool, error){
		"in the item": func(t testing.TB, c *once.Claims, k string, in []byte, account string) ([]byte, bool, error) {
			return c.DoInItem(t.Context(), k, in, debitItem(account, 4))
		},
		"in the transaction": func(t testing.TB, c *once.Claims, k string, in []byte, account string) ([]byte, bool, error) {
			return c.DoInTransaction(t.Context(), k, in, []byte("debited"), debit(account, 4))
		},
	}
}

func TestAMarkerIsWrittenWithItsEffect(t *testing.T) {
	for name := range (&watchedClaims{}).modes() {
		t.Run(name, func(t *testing.T) {
			w := newWatchedClaims(t)
			do := w.modes()[name]
			w.deposit(t, "a", 10)
			balance := func(want int64) {
				t.Helper()

				if got := numberOf(w.account(t, "a")["balance"]); got != want {
					t.Errorf("balance %d, want %d", got, want)
				}
			}

			for i := range 3 {
				got, replayed, err := do(t, w.Claims, "k1", payload, "a")
				if err != nil || string(got) != "debited" || replayed != (i > 0) {
					t.Errorf("call %d: %q %t %v", i, got, replayed, err)
				}
			}
			balance(6)

			if _, _, err := do(t, w.Claims, "k1", []byte("other"), "a"); !errors.Is(err, once.ErrMismatch) {
				t.Errorf("another payload: %v", err)
			}
			w.loseAnswers(1)

			if got, replayed, err := do(t, w.Claims, "k2", payload, "a"); err != nil || string(got) != "debited" || replayed {
				t.Errorf("a lost answer: %q %t %v", got, replayed, err)
			}
			w.transport.Clear()
			balance(2)

			if _, _, err := do(t, w.Claims, "k3", payload, "a"); !refusedByBusiness(err) {
				t.Errorf("no funds: %v", err)
			}
			w.deposit(t, "b", 4)

			if _, replayed, err := do(t, w.Claims, "k3", payload, "b"); err != nil || replayed {
				t.Errorf("a refusal must not leave a mark: %t %v", replayed, err)
			}
			w.transport.Around(withoutItem)

			if name == "in the item" {
				if _, replayed, err := do(t, w.Claims, "k2", payload, "a"); err != nil || !replayed {
					t.Errorf("an endpoint that does not return the item: %t %v", replayed, err)
				}
			}
		})
	}
}

func refusedByBusiness(err error) bool {
	var r *once.RefusedError
	return errors.As(err, &r) || errors.Is(err, errNoFunds)
}

func TestPoint29_AMarkerComesBeforeARefusal(t *testing.T) {
	for name := range (&watchedClaims{}).modes() {
		t.Run(name, func(t *testing.T) {
			w := newWatchedClaims(t)
			do := w.modes()[name]
			w.deposit(t, "a", 4)

			if _, _, err := do(t, w.Claims, "k", payload, "a"); err != nil {
				t.Fatal(err)
			}

			if got, replayed, err := do(t, w.Claims, "k", payload, "a"); err != nil || !replayed || string(got) != "debited" {
				t.Errorf("marker and funds fail: %q %t %v", got, replayed, err)
			}

			if _, _, err := do(t, w.Claims, "new", payload, "a"); !refusedByBusiness(err) {
				t.Errorf("only the funds fail: %v", err)
			}

			if len(w.record(t, "new")) != 0 {
				t.Error("a refusal left a marker")
			}
		})
	}
}

func TestConcurrentMarkersMoveTheMoneyOncePerKey(t *testing.T) {
	for name := range (&watchedClaims{}).modes() {
		t.Run(name, func(t *testing.T) {
			w := newWatchedClaims(t)
			do := w.modes()[name]
			w.deposit(t, "a", 1000)

			var group sync.WaitGroup
			var mu sync.Mutex
			first := map[string]int{}
			for i := range 60 {
				group.Go(func() {
					k := strconv.Itoa(i % 10)

					_, replayed, err := do(t, w.Claims, k, payload, "a")
					if err != nil {
						t.Error(err)
					}

					if !replayed {
						mu.Lock()
						first[k]++
						mu.Unlock()
					}
				})
			}
			group.Wait()

			if got := numberOf(w.account(t, "a")["balance"]); got != 960 || len(first) != 10 {
				t.Errorf("balance %d, %v", got, first)
			}

			for k, n := range first {
				if n != 1 {
					t.Errorf("%d callers were the first under %s", n, k)
				}
			}
		})
	}
}

// TestATransactionThatIsSentAgainWithoutItsTokenIsRecognized runs on an endpoint that
// does not keep tokens. DynamoDB keeps them for ten minutes.
func TestATransactionThatIsSentAgainWithoutItsTokenIsRecognized(t *testing.T) {
	w := newWatchedClaims(t)
	w.deposit(t, "a", 10)

	c := w.with(t, func(c *once.Config) { c.DynamoDB = forgetful{w.db} })
	got, replayed, err := c.DoInTransaction(t.Context(), "k", payload, []byte("r"), debit("a", 4))
	if err != nil || replayed || string(got) != "r" {
		t.Errorf("%q %t %v", got, replayed, err)
	}

	if err := take(t, c, "held").CompleteIn(t.Context(), []byte("r"), debit("a", 4)); err != nil {
		t.Error(err)
	}

	if got := numberOf(w.account(t, "a")["balance"]); got != 2 {
		t.Errorf("balance %d", got)
	}
}

// forgetful makes every transaction, loses the answer, and receives the transaction again.
type forgetful struct{ *meter }

func (f forgetful) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	if _, err := f.meter.TransactWriteItems(ctx, in, o...); err != nil {
		return nil, err
	}
	again := *in
	again.ClientRequestToken = aws.String("another")

	return f.meter.TransactWriteItems(ctx, &again, o...)
}

func TestWorkMayCompleteItsClaimInATransaction(t *testing.T) {
	w := newWatchedClaims(t)
	w.deposit(t, "a", 10)

	held := take(t, w.Claims, "k")
	if err := held.CompleteIn(t.Context(), nil, debit("a", 11)); !errors.Is(err, errNoFunds) {
		t.Errorf("a refusal by the caller's own part: %v", err)
	}
	w.loseAnswers(1)

	if err := held.CompleteIn(t.Context(), []byte("r"), debit("a", 4)); err != nil {
		t.Fatal(err)
	}
	w.transport.Clear()

	if err := held.CompleteIn(t.Context(), []byte("r"), debit("a", 4)); !errors.Is(err, once.ErrInvalid) {
		t.Errorf("a claim must end once: %v", err)
	}
	stale := take(t, w.Claims, "stale")
	w.clock.Advance(2 * time.Minute)
	take(t, w.Claims, "stale")

	if err := stale.CompleteIn(t.Context(), nil, debit("a", 4)); !errors.Is(err, once.ErrStaleOwner) {
		t.Errorf("a former holder: %v", err)
	}

	if got := numberOf(w.account(t, "a")["balance"]); got != 6 {
		t.Errorf("balance %d", got)
	}

	for i := range 2 {
		got, replayed, err := w.Do(t.Context(), "whole", payload, func(ctx context.Context, c *once.Claim) ([]byte, error) {
			return []byte("r"), c.CompleteIn(ctx, []byte("r"), debit("a", 1))
		})
		if string(got) != "r" || replayed != (i == 1) || err != nil {
			t.Errorf("%q %t %v", got, replayed, err)
		}
	}
}

func TestATransactionDoesNotFinishTheWorkOfALeaseHolder(t *testing.T) {
	w := newWatchedClaims(t)
	w.deposit(t, "a", 10)
	take(t, w.Claims, "k")

	if _, _, err := w.DoInTransaction(t.Context(), "k", payload, nil, debit("a", 4)); !errors.Is(err, once.ErrInProgress) {
		t.Errorf("in progress: %v", err)
	}
	w.clock.Advance(2 * time.Minute)

	if _, _, err := w.DoInTransaction(t.Context(), "k", payload, nil, debit("a", 4)); !errors.Is(err, once.ErrUnknownOutcome) {
		t.Errorf("its lease has ended: %v", err)
	}

	r, _, err := w.Get(t.Context(), "k")
	if err == nil {
		err = w.Resolve(t.Context(), r, once.Resolution{Status: once.StatusReleased})
	}

	if err != nil {
		t.Fatal(err)
	}

	for i := range 2 {
		if got, replayed, err := w.DoInTransaction(t.Context(), "k", payload, []byte("r"), debit("a", 4)); err != nil || replayed != (i == 1) || string(got) != "r" {
			t.Errorf("released: %q %t %v", got, replayed, err)
		}
	}
}

// TestPoint51_EachPathCostsWhatIsDocumented measures the costs that docs/reference/costs.md states.
func TestPoint51_EachPathCostsWhatIsDocumented(t *testing.T) {
	w := newWatchedClaims(t)
	w.deposit(t, "a", 1000)
	var table strings.Builder
	table.WriteString("| path | write units | read units | requests |\n|---|---|---|---|\n")
	spend := func(path string, write, read float64, do func() error) {
		t.Helper()
		w.db.spent()
		w.calls()

		if err := do(); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		gotWrite, gotRead := w.db.spent()
		fmt.Fprintf(&table, "| %s | %g | %g | %d |\n", path, gotWrite, gotRead, len(w.calls()))

		if gotWrite != write || gotRead != read {
			t.Errorf("%s: %g WCU %g RCU, want %g and %g", path, gotWrite, gotRead, write, read)
		}
	}
	do := func(k string, result []byte) func() error {
		return func() error {
			_, _, err := w.Do(t.Context(), k, payload, (&work{result: result}).do)
			return err
		}
	}
	spend("own record, first", 2, 0, do("k", []byte("r")))
	spend("own record, duplicate", 1, 0, do("k", []byte("r")))
	held := take(t, w.Claims, "held")
	spend("heartbeat", 1, 0, func() error { return held.Extend(t.Context()) })
	spend("release", 1, 0, func() error { return held.Release(t.Context()) })
	spend("own record, after a release", 3, 0, do("held", nil))
	take(t, w.Claims, "crashed")
	w.clock.Advance(2 * time.Minute)
	spend("own record, takeover", 3, 0, do("crashed", nil))
	big := make([]byte, 100<<10)
	spend("own record, 100 KiB elsewhere, first", 2+101, 0, do("big", big))
	spend("own record, 100 KiB elsewhere, duplicate", 1, 26, do("big", big))
	spend("marker in the item, first", 1, 0, func() error { _, _, err := w.DoInItem(t.Context(), "i", payload, debitItem("a", 1)); return err })
	spend("marker in the item, duplicate", 1, 0, func() error { _, _, err := w.DoInItem(t.Context(), "i", payload, debitItem("a", 1)); return err })
	spend("marker in the transaction, one part, first", 4, 0, func() error {
		_, _, err := w.DoInTransaction(t.Context(), "t", payload, nil, debit("a", 1))
		return err
	})
	spend("once-lock, first", 1, 0, func() error {
		_, err := w.locks(t).Acquire(t.Context(), "l", "h")
		return err
	})
	spend("once-lock, held", 1, 0, func() error {
		_, err := w.locks(t).Acquire(t.Context(), "l", "other")
		return err
	})

	cached := w.with(t, func(c *once.Config) { c.Cache = 1 })
	if _, _, err := cached.Do(t.Context(), "c", payload, (&work{}).do); err != nil {
		t.Fatal(err)
	}
	spend("own record, duplicate from the cache", 0, 0, func() error {
		_, _, err := cached.Do(t.Context(), "c", payload, (&work{}).do)
		return err
	})
	onPage(t, "costs.md", table.String())
}

// onPage checks that the page of docs/reference contains the measured table.
func onPage(t *testing.T, name, table string) {
	t.Helper()

	page, err := os.ReadFile("../docs/reference/" + name)
	if err != nil {
		t.Fatal(err)
	}

	if !strings.Contains(string(page), table) {
		t.Errorf("docs/reference/%s does not contain this table:\n%s", name, table)
	}
}
