package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/embedded/embeddedtest"
	"ratchet/once/ledger"
	"ratchet/once/txn"
)

// troubled is a ledger on a transport that the test disturbs, with a hold that has expired, an
// account whose money is on two of its shards, and contradictions of each kind that make
// Verify read again.
func troubled(t *testing.T) (*bank, *embeddedtest.Transport) {
	t.Helper()

	cfg := embeddedtest.Open(t).AWSConfig()
	cfg.Retryer = embeddedtest.RetryAtOnce
	transport := embeddedtest.Intercept(&cfg)
	db := dynamodb.NewFromConfig(cfg)
	embeddedtest.Create(t, db, tables.Inputs()...)
	b := &bank{db: db}

	l := b.another(t)
	for _, n := range []ledger.NewAccount{
		{ID: "world", Currency: "EUR", Overdraft: true},
		{ID: "shop", Currency: "EUR"},
		{ID: "spread", Currency: "EUR", Shards: 4},
		{ID: "odd", Currency: "EUR"},
	} {
		if _, _, err := l.CreateAccount(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}

	if _, err := l.Post(t.Context(), ledger.Move("t-1", "world", "shop", 100, "EUR")); err != nil {
		t.Fatal(err)
	}
	b.now.Store(time.Now().UnixMilli())

	if _, _, err := l.Reserve(t.Context(), ledger.NewHold{ID: "h-1", Account: "shop", Amount: 10, Currency: "EUR", ExpiresAt: b.time().Add(time.Minute)}); err != nil {
		t.Fatal(err)
	}
	b.now.Add(time.Hour.Milliseconds())

	for _, key := range []string{"spread", "spread#3"} {
		b.tamper(t, "accounts", item{"accountId": str(key)}, "SET available = :a", item{":a": num(50)})
	}
	b.tamper(t, "accounts", item{"accountId": str("odd")}, "SET held = :h", item{":h": num(1)})
	b.tamper(t, "ledger", item{"accountId": str("odd"), "sequence": num(7)}, "SET transferId = :t", item{":t": str("never")})
	b.put(t, "holds", item{"accountId": str("due#3"), "holdId": str("000000000000001#shop#never")})

	return b, transport
}

func owned(operate func(context.Context, *ledger.Owned) error) func(context.Context, *ledger.Ledger) error {
	return func(ctx context.Context, l *ledger.Ledger) error {
		o, err := l.Owned("till")
		if err != nil {
			return err
		}

		return operate(ctx, o)
	}
}

// If DynamoDB does not answer, the error names the operation, whichever of its calls fails.
func TestFailuresOfDynamoDBAreErrors(t *testing.T) {
	operations := map[string]func(ctx context.Context, l *ledger.Ledger) error{
		"create account": func(ctx context.Context, l *ledger.Ledger) error {
			_, _, err := l.CreateAccount(ctx, ledger.NewAccount{ID: "new", Currency: "EUR"})
			return err
		},
		"create account again": func(ctx context.Context, l *ledger.Ledger) error {
			_, _, err := l.CreateAccount(ctx, ledger.NewAccount{ID: "spread", Currency: "EUR", Shards: 4})
			return err
		},
		"account":        func(ctx context.Context, l *ledger.Ledger) error { _, _, err := l.Account(ctx, "shop"); return err },
		"spread account": func(ctx context.Context, l *ledger.Ledger) error { _, _, err := l.Account(ctx, "spread"); return err },
		"accounts":       func(ctx context.Context, l *ledger.Ledger) error { _, _, err := l.Accounts(ctx, "", 10); return err },
		"close":          func(ctx context.Context, l *ledger.Ledger) error { return l.CloseAccount(ctx, "spread") },
		"release expired": func(ctx context.Context, l *ledger.Ledger) error {
			_, _, err := l.ReleaseExpired(ctx, 10)
			return err
		},
		"hold": func(ctx context.Context, l *ledger.Ledger) error { _, _, err := l.Hold(ctx, "shop", "h-1"); return err },
		"post": func(ctx context.Context, l *ledger.Ledger) error {
			_, err := l.Post(ctx, ledger.Move("t-2", "world", "shop", 1, "EUR"))
			return err
		},
		"post from several shards": func(ctx context.Context, l *ledger.Ledger) error {
			_, err := l.Post(ctx, ledger.Move("t-4", "spread", "shop", 80, "EUR"))
			return err
		},
		"reserve from several shards": func(ctx context.Context, l *ledger.Ledger) error {
			_, _, err := l.Reserve(ctx, ledger.NewHold{ID: "h-3", Account: "spread", Amount: 80, Currency: "EUR"})
			return err
		},
		"seen": owned(func(ctx context.Context, o *ledger.Owned) error {
			_, err := o.Seen(ctx, "id", "shop", "EUR")
			return err
		}),
		"require open": owned(func(ctx context.Context, o *ledger.Owned) error {
			_, err := o.RequireOpen(ctx, "id", "spread", "EUR")
			return err
		}),
		"settle": func(ctx context.Context, l *ledger.Ledger) error {
			_, err := l.Post(ctx, ledger.Transfer{ID: "t-3", Currency: "EUR", Legs: []ledger.Leg{{Account: "shop", Amount: -5, Hold: "h-1"}, {Account: "world", Amount: 5}}})
			return err
		},
		"release": func(ctx context.Context, l *ledger.Ledger) error { _, err := l.Release(ctx, "shop", "h-1"); return err },
		"reserve": func(ctx context.Context, l *ledger.Ledger) error {
			_, _, err := l.Reserve(ctx, ledger.NewHold{ID: "h-2", Account: "shop", Amount: 1, Currency: "EUR"})
			return err
		},
		"statement": func(ctx context.Context, l *ledger.Ledger) error {
			_, _, err := l.Statement(ctx, "shop", "", 10)
			return err
		},
		"transfer":  func(ctx context.Context, l *ledger.Ledger) error { _, _, err := l.Transfer(ctx, "t-1"); return err },
		"transfers": func(ctx context.Context, l *ledger.Ledger) error { _, _, err := l.Transfers(ctx, "", 10); return err },
		"verify": func(ctx context.Context, l *ledger.Ledger) error {
			_, err := l.Verify(ctx, func(ledger.Finding) error { return nil }, func(ledger.Proof) {})
			return err
		},
	}

	for name, operate := range operations {
		b, transport := troubled(t)

		calls := 0
		for struck := true; struck; calls++ {
			// The sweep releases other holds before and after the failure.
			if name == "release expired" {
				b, transport = troubled(t)
			}

			l := b.another(t)
			fault := transport.Inject(embeddedtest.Answer("AccessDeniedException").From(calls + 1).Next(1))
			err := operate(t.Context(), l)

			fault.Remove()

			if struck = fault.Strikes() > 0; struck && (err == nil || !strings.Contains(err.Error(), "AccessDenied")) {
				t.Errorf("%s: call %d failed: %v", name, calls+1, err)
			}
		}

		if calls < 2 {
			t.Errorf("%s makes no call", name)
		}
	}
}

// Pages have 1 to 1,000 entries.
func TestPagesHaveBounds(t *testing.T) {
	b := newBank(t)
	b.open(t, ledger.NewAccount{ID: "shop"}, 0)

	for limit, valid := range map[int]bool{0: false, 1: true, 1000: true, 1001: false} {
		_, _, accounts := b.Accounts(t.Context(), "", limit)
		_, _, transfers := b.Transfers(t.Context(), "", limit)
		_, _, statement := b.Statement(t.Context(), "shop", "", limit)
		_, _, expired := b.ReleaseExpired(t.Context(), limit)

		for _, err := range []error{accounts, transfers, statement, expired} {
			if valid != (err == nil) || !valid && !errors.Is(err, ledger.ErrInvalid) {
				t.Errorf("limit %d: %v", limit, err)
			}
		}
	}
}

// An id names one kind of account for good.
func TestAnAccountOfAnotherKindIsAConflict(t *testing.T) {
	b := newBank(t)
	n := ledger.NewAccount{ID: "shop", Currency: "EUR", Shards: 2}
	b.open(t, n, 0)

	for name, change := range map[string]func(n *ledger.NewAccount){
		"currency":  func(n *ledger.NewAccount) { n.Currency = "USD" },
		"side":      func(n *ledger.NewAccount) { n.Side = ledger.Debit },
		"overdraft": func(n *ledger.NewAccount) { n.Overdraft = true },
		"shards":    func(n *ledger.NewAccount) { n.Shards = 3 },
	} {
		other := n
		change(&other)

		if _, _, err := b.CreateAccount(t.Context(), other); !errors.Is(err, ledger.ErrConflict) {
			t.Errorf("another %s: %v", name, err)
		}
	}

	if a, replayed, err := b.CreateAccount(t.Context(), n); err != nil || !replayed || a.Shards != 2 {
		t.Errorf("again: %+v, %v, %v", a, replayed, err)
	}

	// The repeat of an account with shards shows all of them.
	b.open(t, ledger.NewAccount{ID: "world", Overdraft: true}, 0)

	for i := range 8 {
		if _, err := b.Post(t.Context(), ledger.Move(fmt.Sprint("t-", i), "world", "shop", 1, "EUR")); err != nil {
			t.Fatal(err)
		}
	}

	if a, _, err := b.CreateAccount(t.Context(), n); err != nil || a.Balance != 8 || a.Entries != 8 {
		t.Errorf("again, with a balance: %+v, %v", a, err)
	}
}

// Amounts and currencies are named when they break their rule.
func TestMoneyHasBounds(t *testing.T) {
	b := newBank(t)
	b.open(t, ledger.NewAccount{ID: "world", Overdraft: true}, 0)

	for amount, valid := range map[int64]bool{0: false, 1: true, ledger.MaxAmount: true, ledger.MaxAmount + 1: false, -1: false} {
		_, _, err := b.Reserve(t.Context(), ledger.NewHold{ID: fmt.Sprint("h", amount), Account: "world", Amount: amount, Currency: "EUR"})
		if valid == errors.Is(err, ledger.ErrInvalid) || !valid && !strings.Contains(err.Error(), "amount") {
			t.Errorf("hold %d: %v", amount, err)
		}
	}

	if _, _, err := b.Reserve(t.Context(), ledger.NewHold{ID: "h", Account: "world", Amount: 1, Currency: "eur"}); !errors.Is(err, ledger.ErrInvalid) || !strings.Contains(err.Error(), "currency") {
		t.Error(err)
	}
}

func TestEveryTableMustBeNamed(t *testing.T) {
	b := newBank(t)
	for name, change := range map[string]func(c *ledger.Config){
		"DynamoDB":  func(c *ledger.Config) { c.DynamoDB = nil },
		"Accounts":  func(c *ledger.Config) { c.Tables.Accounts = "" },
		"Entries":   func(c *ledger.Config) { c.Tables.Entries = "" },
		"Transfers": func(c *ledger.Config) { c.Tables.Transfers = "" },
		"Holds":     func(c *ledger.Config) { c.Tables.Holds = "" },
	} {
		c := ledger.Config{DynamoDB: b.db, Tables: tables}
		change(&c)

		if _, err := ledger.New(c); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// throttledReads answers each batch of reads with one item less than was asked for, as long
// as there are several, and reads that belong together with a conflict, first of all.
type throttledReads struct {
	*dynamodb.Client
	batches, conflicts int
	never              bool
	leave              func() // called with each conflict, if it is not nil
}

func (r *throttledReads) BatchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	r.batches++

	out := &dynamodb.BatchGetItemOutput{UnprocessedKeys: in.RequestItems}
	for table, keys := range in.RequestItems {
		if r.never {
			return out, nil
		}

		if len(keys.Keys) > 1 {
			rest := keys
			rest.Keys, keys.Keys = keys.Keys[1:], keys.Keys[:1]

			answer, err := r.Client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{table: keys}}, o...)
			if err != nil {
				return nil, err
			}
			answer.UnprocessedKeys = map[string]types.KeysAndAttributes{table: rest}

			return answer, nil
		}
	}

	return r.Client.BatchGetItem(ctx, in, o...)
}

func (r *throttledReads) TransactGetItems(ctx context.Context, in *dynamodb.TransactGetItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactGetItemsOutput, error) {
	if r.leave != nil {
		r.leave()
	}

	if r.conflicts++; r.never || r.conflicts < 3 {
		return nil, &types.TransactionCanceledException{}
	}

	return r.Client.TransactGetItems(ctx, in, o...)
}

// A throttled DynamoDB answers with a part, or not at all. The rest is read again.
func TestThrottledReadsAreContinued(t *testing.T) {
	b := newBank(t)
	b.open(t, ledger.NewAccount{ID: "world", Overdraft: true}, 0)
	b.open(t, ledger.NewAccount{ID: "shop", Shards: 3}, 0)
	b.open(t, ledger.NewAccount{ID: "other"}, 0)

	reads := &throttledReads{Client: b.db}
	cfg := ledger.Config{DynamoDB: reads, Tables: tables}.WithAttempts(4)

	l, err := ledger.New(cfg)
	if err != nil {
		t.Fatal(err)
	}

	if _, err := l.Post(t.Context(), ledger.Transfer{ID: "t-1", Currency: "EUR", Legs: []ledger.Leg{{Account: "world", Amount: -3}, {Account: "shop", Amount: 1}, {Account: "other", Amount: 2}}}); err != nil || reads.batches < 3 {
		t.Errorf("%v after %d reads", err, reads.batches)
	}

	if a, _, err := l.Account(t.Context(), "shop"); err != nil || a.Balance != 1 || reads.conflicts != 3 {
		t.Errorf("%+v, %v after %d reads", a, err, reads.conflicts)
	}

	reads = &throttledReads{Client: b.db, never: true}
	cfg.DynamoDB = reads

	if l, err = ledger.New(cfg); err != nil {
		t.Fatal(err)
	}

	if _, err := l.Post(t.Context(), ledger.Move("t-2", "world", "other", 1, "EUR")); !errors.Is(err, txn.ErrContended) || reads.batches != 4 {
		t.Errorf("%v after %d reads", err, reads.batches)
	}

	if _, _, err := l.Account(t.Context(), "shop"); err == nil || reads.conflicts != 4 {
		t.Errorf("%v after %d reads", err, reads.conflicts)
	}

	// A caller that leaves waits no longer.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	reads.batches, reads.conflicts = 0, 0

	if _, err := l.Post(ctx, ledger.Move("t-3", "world", "other", 1, "EUR")); !errors.Is(err, context.Canceled) || reads.batches != 1 {
		t.Errorf("%v after %d reads", err, reads.batches)
	}

	ctx, cancel = context.WithCancel(t.Context())
	reads.leave = cancel

	if _, _, err := l.Account(ctx, "shop"); !errors.Is(err, context.Canceled) || !errors.Is(err, txn.ErrContended) || reads.conflicts != 1 {
		t.Errorf("%v after %d reads", err, reads.conflicts)
	}
}
