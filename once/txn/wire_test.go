package txn_test

import (
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"go.uber.org/goleak"

	"ratchet/embedded/embeddedtest"
	"ratchet/once/txn"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// transact is the operation that this package sends.
const transact = "TransactWriteItems"

// bank is two accounts and a table of markers on an engine of its own.
type bank struct {
	*txn.Writer
	db        *dynamodb.Client
	transport *embeddedtest.Transport
}

// sent returns how many transactions were sent.
func (b *bank) sent() int { return b.transport.Count(transact) }

// refuse answers the next n transactions with err in place of the engine; 0 means all.
func (b *bank) refuse(n int, err error) {
	b.transport.Clear()
	b.transport.Inject(embeddedtest.Fault{On: []string{transact}, Times: n, Err: err})
}

// canceled is a transaction of three parts, of which the middle one was canceled.
func canceled(code string) error { return embeddedtest.Canceled("None", code, "None") }

func newBank(t testing.TB, change ...func(*txn.Config, *dynamodb.Options)) *bank {
	t.Helper()
	cfg := embeddedtest.Open(t).AWSConfig()
	b := &bank{transport: embeddedtest.Intercept(&cfg)}
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
