package embedded

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
)

// fixture is an open engine with its clients.
type fixture struct {
	t *testing.T
	*Engine
	db  *dynamodb.Client
	str *dynamodbstreams.Client
}

// open opens an engine over a new directory and closes it when the test ends.
func open(t *testing.T, edit ...func(*Config)) *fixture {
	t.Helper()
	return reopen(t, t.TempDir(), edit...)
}

func reopen(t *testing.T, dir string, edit ...func(*Config)) *fixture {
	t.Helper()

	f := openOnce(t, dir, edit...)
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})

	return f
}

// openOnce is reopen for a test that opens an engine hundreds of times: the caller closes it, and the test keeps
// none of its memory.
func openOnce(t *testing.T, dir string, edit ...func(*Config)) *fixture {
	t.Helper()

	cfg := Config{Dir: dir}
	for _, e := range edit {
		e(&cfg)
	}

	e, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}

	return newFixture(t, e)
}

func newFixture(t *testing.T, e *Engine) *fixture {
	return &fixture{t: t, Engine: e, db: dynamodb.NewFromConfig(e.AWSConfig()), str: dynamodbstreams.NewFromConfig(e.AWSConfig())}
}

type item = map[string]types.AttributeValue

func str(s string) types.AttributeValue  { return &types.AttributeValueMemberS{Value: s} }
func num(s string) types.AttributeValue  { return &types.AttributeValueMemberN{Value: s} }
func text(v types.AttributeValue) string { return v.(*types.AttributeValueMemberS).Value }

// number returns the text of a number, "" for any other value.
func number(v types.AttributeValue) string {
	n, ok := v.(*types.AttributeValueMemberN)
	if !ok {
		return ""
	}

	return n.Value
}

// table creates an on-demand table with a string key and, if rng is not empty, a string sort
// key.
func (f *fixture) table(name, hash, rng string, view types.StreamViewType) *types.TableDescription {
	f.t.Helper()

	in := &dynamodb.CreateTableInput{
		TableName:            aws.String(name),
		BillingMode:          types.BillingModePayPerRequest,
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String(hash), KeyType: types.KeyTypeHash}},
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String(hash), AttributeType: types.ScalarAttributeTypeS}},
	}
	if rng != "" {
		in.KeySchema = append(in.KeySchema, types.KeySchemaElement{AttributeName: aws.String(rng), KeyType: types.KeyTypeRange})
		in.AttributeDefinitions = append(in.AttributeDefinitions, types.AttributeDefinition{AttributeName: aws.String(rng), AttributeType: types.ScalarAttributeTypeS})
	}

	if view != "" {
		in.StreamSpecification = &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: view}
	}

	out, err := f.db.CreateTable(context.Background(), in)
	if err != nil {
		f.t.Fatal(err)
	}

	return out.TableDescription
}

// describe returns the present description of the table.
func (f *fixture) describe(table string) *types.TableDescription {
	f.t.Helper()

	out, err := f.db.DescribeTable(context.Background(), &dynamodb.DescribeTableInput{TableName: &table})
	if err != nil {
		f.t.Fatal(err)
	}

	return out.Table
}

func (f *fixture) put(table string, it item) {
	f.t.Helper()

	if _, err := f.db.PutItem(context.Background(), &dynamodb.PutItemInput{TableName: &table, Item: it}); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) get(table string, key item) item {
	f.t.Helper()

	out, err := f.db.GetItem(context.Background(), &dynamodb.GetItemInput{TableName: &table, Key: key, ConsistentRead: aws.Bool(true)})
	if err != nil {
		f.t.Fatal(err)
	}

	return out.Item
}

func TestPutGetScanSurviveReopen(t *testing.T) {
	dir := t.TempDir()
	f := reopen(t, dir)
	f.table("orders", "id", "", types.StreamViewTypeNewAndOldImages)
	f.put("orders", item{"id": str("o-1"), "n": num("1")})
	f.put("orders", item{"id": str("o-2"), "n": num("2.50")})

	if err := f.Close(); err != nil {
		t.Fatal(err)
	}

	f = reopen(t, dir)
	if got := f.get("orders", item{"id": str("o-2")}); number(got["n"]) != "2.5" {
		t.Fatalf("o-2 is %v", got)
	}

	out, err := f.db.Scan(context.Background(), &dynamodb.ScanInput{TableName: aws.String("orders")})
	if err != nil || out.Count != 2 {
		t.Fatalf("scan: %v, %v", out, err)
	}

	d, err := f.db.DescribeTable(context.Background(), &dynamodb.DescribeTableInput{TableName: aws.String("orders")})
	if err != nil || *d.Table.ItemCount != 2 || d.Table.LatestStreamArn == nil {
		t.Fatalf("describe: %+v, %v", d, err)
	}
}

// TestCallsAfterCloseAreRefused calls an engine from many goroutines while it closes: none may
// reach the closed store.
func TestCallsAfterCloseAreRefused(t *testing.T) {
	f := open(t)
	f.table("orders", "id", "", "")

	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := 0; ; i++ {
				_, err := f.db.PutItem(context.Background(), &dynamodb.PutItemInput{TableName: aws.String("orders"), Item: item{"id": str("1"), "n": num(fmt.Sprint(i))}},
					func(o *dynamodb.Options) { o.RetryMaxAttempts = 1 })
				if err == nil {
					continue
				}

				if !strings.Contains(err.Error(), "StatusCode: 503") {
					t.Errorf("after Close: %v", err)
				}

				return
			}
		})
	}

	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	wg.Wait()

	if err := f.RollShards(t.Context(), "arn"); !errors.Is(err, ErrClosed) {
		t.Errorf("a command after Close: %v", err)
	}
}

// TestCloseEndsLongPolls has a worker wait for a task: Close must not wait for its poll.
func TestCloseEndsLongPolls(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		f := reopen(t, dir)
		steps := sfn.NewFromConfig(f.AWSConfig(), func(o *sfn.Options) { o.RetryMaxAttempts = 1 })

		a, err := steps.CreateActivity(t.Context(), &sfn.CreateActivityInput{Name: aws.String("ship")})
		if err != nil {
			t.Fatal(err)
		}
		polled := make(chan error, 1)
		go func() {
			_, err := steps.GetActivityTask(t.Context(), &sfn.GetActivityTaskInput{ActivityArn: a.ActivityArn})
			polled <- err
		}()
		synctest.Wait() // the poll is waiting
		start := time.Now()

		if err := f.Close(); err != nil {
			t.Fatal(err)
		}

		if err := <-polled; time.Since(start) > time.Second {
			t.Errorf("the poll ended after %v with %v", time.Since(start), err)
		}
	})
}

// TestAnEngineInMemoryLeavesNothing: no file, also after writes, and it says so when files are asked for.
func TestAnEngineInMemoryLeavesNothing(t *testing.T) {
	t.Chdir(t.TempDir())

	e, err := OpenInMemory(Config{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}

	db := dynamodb.NewFromConfig(e.AWSConfig())
	if _, err := db.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName:            aws.String("orders"),
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("id"), AttributeType: types.ScalarAttributeTypeS}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("id"), KeyType: types.KeyTypeHash}},
		BillingMode:          types.BillingModePayPerRequest,
	}); err != nil {
		t.Fatal(err)
	}

	if _, err := e.Backup(t.Context(), io.Discard); err == nil || err.Error() != "backup: the engine keeps its data in memory" {
		t.Error(err)
	}

	if err := e.Close(); err != nil {
		t.Fatal(err)
	}

	if left, err := os.ReadDir("."); len(left) > 0 || err != nil {
		t.Errorf("there are %v, %v", left, err)
	}

	if _, err := OpenInMemory(Config{Dir: "data"}); err == nil {
		t.Error("a directory is taken, and not used")
	}
}
