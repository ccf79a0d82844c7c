package ledger_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"regexp"
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
	"ratchet/ledger"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var tables = ledger.Tables{Accounts: "accounts", Entries: "ledger", Transfers: "transfers", Holds: "holds"}

// bank is a ledger on an embedded engine of its own.
type bank struct {
	*ledger.Ledger
	db   *dynamodb.Client
	wire *wire
	now  atomic.Int64 // epoch ms
}

// wire passes requests on to an engine and injects faults into transactions.
type wire struct {
	client *http.Client
	mu     sync.Mutex
	sent   int
	// refuse is how many of the next transactions get a conflict as answer and are not
	// made, lose how many of those after them are made but have no answer.
	lose, refuse int
	// fresh gives every request a token of its own, as if ten minutes lay between them.
	fresh bool
	reads int
}

var token = regexp.MustCompile(`"ClientRequestToken":"[^"]*"`)

func (w *wire) Do(r *http.Request) (*http.Response, error) {
	if !strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".TransactWriteItems") {
		w.mu.Lock()
		w.reads++
		w.mu.Unlock()
		return w.client.Do(r)
	}

	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()

	w.sent++
	lose, refuse := w.lose > 0, w.refuse > 0
	if refuse {
		w.refuse--
	} else if lose {
		w.lose--
	}

	if w.fresh {
		body = token.ReplaceAll(body, fmt.Appendf(nil, `"ClientRequestToken":"fresh-%d"`, w.sent))
	}
	w.mu.Unlock()

	if refuse {
		return conflict(strings.Count(string(body), `"TableName"`)), nil
	}

	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	response, err := w.client.Do(r)
	if err == nil && lose {
		_ = response.Body.Close()
		return nil, io.ErrUnexpectedEOF
	}

	return response, err
}

// conflict returns the cancellation of a transaction with n parts, the last in conflict.
func conflict(n int) *http.Response {
	reasons := strings.Repeat(`{"Code":"None"},`, n-1) + `{"Code":"TransactionConflict"}`
	return &http.Response{StatusCode: http.StatusBadRequest, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		Body: io.NopCloser(strings.NewReader(`{"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException","CancellationReasons":[` + reasons + `]}`))}
}

func newBank(t testing.TB) *bank {
	t.Helper()
	engine := embeddedtest.Open(t)
	b := &bank{wire: &wire{client: engine.HTTPClient()}}
	b.now.Store(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC).UnixMilli())
	cfg := engine.AWSConfig()
	cfg.HTTPClient = b.wire
	b.db = dynamodb.NewFromConfig(cfg, func(o *dynamodb.Options) {
		o.Retryer = retry.NewStandard(func(o *retry.StandardOptions) { o.MaxBackoff = time.Millisecond })
	})
	embeddedtest.Create(t, b.db, tables.Inputs()...)
	b.Ledger = b.another(t)

	return b
}

// another returns the ledger as another process has it, with nothing in its cache.
func (b *bank) another(t testing.TB) *ledger.Ledger {
	t.Helper()

	l, err := ledger.New(ledger.Config{DynamoDB: b.db, Tables: tables, Now: func() time.Time { return time.UnixMilli(b.now.Load()) }})
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
	for _, name := range []string{"balance", "held", "amount", "reference", "available"} {
		if strings.Contains(update, "#"+name) {
			in.ExpressionAttributeNames = map[string]string{"#" + name: name}
		}
	}

	if _, err := b.db.UpdateItem(t.Context(), in); err != nil {
		t.Fatal(err)
	}
}

func (b *bank) remove(t testing.TB, table string, key item) {
	t.Helper()

	if _, err := b.db.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: aws.String(table), Key: key}); err != nil {
		t.Fatal(err)
	}
}
