package txn_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"go.uber.org/goleak"

	"ratchet/embedded/embeddedtest"
	"ratchet/txn"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// wire passes requests on to an engine, records the bodies of transactions, and injects
// faults.
type wire struct {
	client *http.Client
	mu     sync.Mutex
	bodies []string
	// before may answer the nth transaction (from 1) in place of the engine.
	before func(n int) *http.Response
	// lose is how many of the first transactions are made but have no answer.
	lose int
}

func (w *wire) Do(r *http.Request) (*http.Response, error) {
	if !strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".TransactWriteItems") {
		return w.client.Do(r)
	}

	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	w.mu.Lock()
	w.bodies = append(w.bodies, string(body))
	n := len(w.bodies)
	w.mu.Unlock()

	if w.before != nil {
		if response := w.before(n); response != nil {
			return response, nil
		}
	}

	response, err := w.client.Do(r)
	if err == nil && n <= w.lose {
		_ = response.Body.Close()
		return nil, io.ErrUnexpectedEOF
	}

	return response, err
}

func (w *wire) sent() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.bodies)
}

// answer returns an error as DynamoDB writes it.
func answer(status int, kind string, more map[string]any) *http.Response {
	body := map[string]any{"__type": "com.amazonaws.dynamodb.v20120810#" + kind, "Message": kind}
	for k, v := range more {
		body[k] = v
	}
	text, _ := json.Marshal(body) // strings and maps of strings

	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		Body: io.NopCloser(bytes.NewReader(text))}
}

// canceled returns a cancellation with these codes; "" leaves the code out.
func canceled(codes ...string) *http.Response {
	reasons := make([]map[string]any, len(codes))
	for i, c := range codes {
		reasons[i] = map[string]any{}
		if c != "" {
			reasons[i]["Code"] = c
		}
	}

	return answer(http.StatusBadRequest, "TransactionCanceledException", map[string]any{"CancellationReasons": reasons})
}

// bank is two accounts and a table of markers on an engine of its own.
type bank struct {
	*txn.Writer
	db   *dynamodb.Client
	wire *wire
}

func newBank(t testing.TB, change ...func(*txn.Config, *dynamodb.Options)) *bank {
	t.Helper()
	engine := embeddedtest.Open(t)
	b := &bank{wire: &wire{client: engine.HTTPClient()}}
	cfg := engine.AWSConfig()
	cfg.HTTPClient = b.wire
	config := txn.Config{Keys: map[string][]string{"markers": {"id"}, "accounts": {"id"}}}

	b.db = dynamodb.NewFromConfig(cfg, func(o *dynamodb.Options) {
		for _, c := range change {
			c(&config, o)
		}
	})
	config.DynamoDB = b.db
	for _, name := range []string{"markers", "accounts"} {
		embeddedtest.Create(t, b.db, &dynamodb.CreateTableInput{TableName: &name, BillingMode: types.BillingModePayPerRequest,
			AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("id"), AttributeType: types.ScalarAttributeTypeS}},
			KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("id"), KeyType: types.KeyTypeHash}}})
	}

	for id, balance := range map[string]int{"a": 10, "b": 0} {
		if _, err := b.db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("accounts"),
			Item: item{"id": str(id), "balance": num(balance)}}); err != nil {
			t.Fatal(err)
		}
	}

	var err error
	if b.Writer, err = txn.New(config); err != nil {
		t.Fatal(err)
	}

	return b
}

// noRetries disables the retries of the SDK, so that only this package retries.
func noRetries(_ *txn.Config, o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} }

// attempts sets how often a transaction is sent.
func attempts(n int) func(*txn.Config, *dynamodb.Options) {
	return func(c *txn.Config, _ *dynamodb.Options) { c.Attempts = n }
}

type item = map[string]types.AttributeValue

func str(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
func num(n int) types.AttributeValue    { return &types.AttributeValueMemberN{Value: fmt.Sprint(n)} }

func (b *bank) balance(t testing.TB, id string) string {
	t.Helper()

	out, err := b.db.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String("accounts"), Key: item{"id": str(id)}, ConsistentRead: aws.Bool(true)})
	if err != nil {
		t.Fatal(err)
	}

	n, _ := out.Item["balance"].(*types.AttributeValueMemberN)
	if n == nil {
		return ""
	}

	return n.Value
}

func (b *bank) want(t testing.TB, from, to string) {
	t.Helper()

	if gotA, gotB := b.balance(t, "a"), b.balance(t, "b"); gotA != from || gotB != to {
		t.Errorf("balances %s and %s, want %s and %s", gotA, gotB, from, to)
	}
}

func debit(id string, n int) types.TransactWriteItem {
	return types.TransactWriteItem{Update: &types.Update{TableName: aws.String("accounts"), Key: item{"id": str(id)},
		ConditionExpression: aws.String("balance >= :n"), UpdateExpression: aws.String("SET balance = balance - :n"),
		ExpressionAttributeValues: item{":n": num(n)}}}
}

func credit(id string, n int) types.TransactWriteItem {
	return types.TransactWriteItem{Update: &types.Update{TableName: aws.String("accounts"), Key: item{"id": str(id)},
		ConditionExpression: aws.String("attribute_exists(id)"), UpdateExpression: aws.String("SET balance = balance + :n"),
		ExpressionAttributeValues: item{":n": num(n)}}}
}

func marker(id string, more item) types.TransactWriteItem {
	all := item{"id": str(id)}
	for k, v := range more {
		all[k] = v
	}

	return types.TransactWriteItem{Put: &types.Put{TableName: aws.String("markers"), Item: all, ConditionExpression: aws.String("attribute_not_exists(id)")}}
}
