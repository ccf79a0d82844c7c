package ledger_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"go.uber.org/goleak"

	"ratchet/embedded/embeddedtest"
	"ratchet/once/ledger"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var tables = ledger.Tables{Accounts: "accounts", Entries: "ledger", Transfers: "transfers", Holds: "holds"}

// bank is a ledger on an embedded engine of its own.
type bank struct {
	*ledger.Ledger
	db        *dynamodb.Client
	dated     *dynamodb.Client // whose answers state the time
	wire      *wire
	transport *embeddedtest.Transport
	now       atomic.Int64 // epoch ms
}

// wire counts calls and injects faults into transactions.
type wire struct {
	mu    sync.Mutex
	sent  int // transactions
	reads int // other calls
	// refuse is how many of the next transactions get a conflict as answer and are not
	// made, lose how many of those after them are made but have no answer.
	lose, refuse int
	// between is called once, before the next transaction is sent.
	between func()
	// fresh gives every request a token of its own, as if ten minutes lay between them.
	fresh bool
}

var token = regexp.MustCompile(`"ClientRequestToken":"[^"]*"`)

// intercept is a hook of the transport.
func (w *wire) intercept(c *embeddedtest.Call) error {
	if c.Is("dynamodb.TransactWriteItems") {
		w.mu.Lock()
		between := w.between
		w.between = nil
		w.mu.Unlock()

		if between != nil {
			between()
		}
	}

	w.mu.Lock()
	defer w.mu.Unlock()

	if !c.Is("dynamodb.TransactWriteItems") {
		w.reads++
		return nil
	}

	w.sent++
	if w.fresh {
		c.SetBody(token.ReplaceAll(c.Body(), fmt.Appendf(nil, `"ClientRequestToken":"fresh-%d"`, w.sent)))
	}

	switch {
	case w.refuse > 0:
		w.refuse--
		return conflict(strings.Count(string(c.Body()), `"TableName"`))
	case w.lose > 0:
		w.lose--
		return embeddedtest.ErrAnswerLost
	}

	return nil
}

// conflict returns the cancellation of a transaction with n parts, the last in conflict.
func conflict(n int) error {
	codes := slices.Repeat([]string{"None"}, n)
	codes[n-1] = "TransactionConflict"

	return embeddedtest.Canceled(codes...)
}

func newBank(t testing.TB) *bank {
	t.Helper()
	engine := embeddedtest.Open(t)
	b := &bank{wire: &wire{}}
	b.now.Store(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC).UnixMilli())
	cfg := engine.AWSConfig()
	b.transport = embeddedtest.Intercept(&cfg)
	b.transport.Before(b.wire.intercept)
	b.db = dynamodb.NewFromConfig(cfg, func(o *dynamodb.Options) {
		o.Retryer = retry.NewStandard(func(o *retry.StandardOptions) { o.MaxBackoff = time.Millisecond })
	})
	cfg.HTTPClient = embeddedtest.Dated{Doer: cfg.HTTPClient, Now: b.time}
	cfg.APIOptions = nil // the steps that an engine in the same process leaves out read the Date
	b.dated = dynamodb.NewFromConfig(cfg)
	embeddedtest.Create(t, b.db, tables.Inputs()...)
	b.Ledger = b.another(t)

	return b
}

// onAClock returns the ledger on a machine whose clock is ahead of the service's.
func (b *bank) onAClock(t testing.TB, ahead time.Duration) *ledger.Ledger {
	t.Helper()

	return b.another(t, func(c *ledger.Config) { c.DynamoDB, c.Now = b.dated, func() time.Time { return b.time().Add(ahead) } })
}

// time is the bank's clock.
func (b *bank) time() time.Time { return time.UnixMilli(b.now.Load()) }

// another returns the ledger as another process has it, with nothing in its cache.
func (b *bank) another(t testing.TB, changes ...func(*ledger.Config)) *ledger.Ledger {
	t.Helper()

	cfg := ledger.Config{DynamoDB: b.db, Tables: tables, Now: b.time}
	for _, change := range changes {
		change(&cfg)
	}

	l, err := ledger.New(cfg)
	if err != nil {
		t.Fatal(err)
	}

	return l
}

// open creates an account with a balance, which comes from an account with overdraft.
func (b *bank) open(t testing.TB, n ledger.NewAccount, balance int64) {
	t.Helper()

	if n.Currency == "" {
		n.Currency = "EUR"
	}

	if _, _, err := b.CreateAccount(t.Context(), n); err != nil {
		t.Fatal(err)
	}

	if balance == 0 {
		return
	}

	world := "world/" + n.Currency
	if _, _, err := b.CreateAccount(t.Context(), ledger.NewAccount{ID: world, Currency: n.Currency, Side: ledger.Debit, Overdraft: true}); err != nil {
		t.Fatal(err)
	}

	if _, err := b.Post(t.Context(), ledger.Move("open/"+n.ID, world, n.ID, balance, n.Currency)); err != nil {
		t.Fatal(err)
	}
}

func (b *bank) account(t testing.TB, id string) ledger.Account {
	t.Helper()

	a, found, err := b.Account(t.Context(), id)
	if err != nil || !found {
		t.Fatalf("account %s: found %v, %v", id, found, err)
	}

	return a
}

// want checks the balance and the available money of an account.
func (b *bank) want(t testing.TB, id string, balance, available int64) {
	t.Helper()

	if a := b.account(t, id); a.Balance != balance || a.Available != available || a.Held != balance-available {
		t.Errorf("account %s has balance %d, available %d, held %d; want %d and %d", id, a.Balance, a.Available, a.Held, balance, available)
	}
}

// sound fails the test if Verify finds a contradiction or balances do not sum to zero.
func (b *bank) sound(t testing.TB) ledger.Proof {
	t.Helper()

	proof, err := b.Verify(t.Context(), func(f ledger.Finding) error {
		t.Errorf("%+v", f)
		return nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}

	for currency, total := range proof.Sums {
		if total != 0 {
			t.Errorf("all balances in %s sum to %d", currency, total)
		}
	}

	return proof
}

type item = map[string]types.AttributeValue

func str(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
func num(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: fmt.Sprint(n)}
}

// tamper changes an item without the ledger.
func (b *bank) tamper(t testing.TB, table string, key item, update string, values item) {
	t.Helper()

	in := &dynamodb.UpdateItemInput{TableName: &table, Key: key, UpdateExpression: &update, ExpressionAttributeValues: values}
	for _, name := range []string{"balance", "held", "amount", "reference", "available", "sequence"} {
		if strings.Contains(update, "#"+name) {
			in.ExpressionAttributeNames = map[string]string{"#" + name: name}
		}
	}

	if _, err := b.db.UpdateItem(t.Context(), in); err != nil {
		t.Fatal(err)
	}
}

// item reads an item as it is stored.
func (b *bank) item(t interface {
	Helper()
	Fatal(args ...any)
	Context() context.Context
}, table string, key item) item {
	t.Helper()

	out, err := b.db.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &table, Key: key, ConsistentRead: aws.Bool(true)})
	if err != nil {
		t.Fatal(err)
	}

	return out.Item
}

func (b *bank) put(t testing.TB, table string, i item) {
	t.Helper()

	if _, err := b.db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &table, Item: i}); err != nil {
		t.Fatal(err)
	}
}

func (b *bank) remove(t testing.TB, table string, key item) {
	t.Helper()

	if _, err := b.db.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: aws.String(table), Key: key}); err != nil {
		t.Fatal(err)
	}
}
