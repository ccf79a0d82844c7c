package embedded

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	stypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// transfer moves n from one account to the other if the balance is sufficient.
func transfer(from, to string, n int, token *string) *dynamodb.TransactWriteItemsInput {
	values := item{":n": num(fmt.Sprint(n))}

	return &dynamodb.TransactWriteItemsInput{ClientRequestToken: token, TransactItems: []types.TransactWriteItem{
		{Update: &types.Update{TableName: aws.String("accounts"), Key: item{"id": str(from)},
			UpdateExpression: aws.String("SET balance = balance - :n"), ConditionExpression: aws.String("balance >= :n"),
			ExpressionAttributeValues: values, ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld}},
		{Update: &types.Update{TableName: aws.String("accounts"), Key: item{"id": str(to)},
			UpdateExpression: aws.String("SET balance = balance + :n"), ConditionExpression: aws.String("attribute_exists(id)"),
			ExpressionAttributeValues: values}},
	}}
}

func TestTransactionCancellation(t *testing.T) {
	f := open(t)
	f.table("accounts", "id", "", "")
	f.put("accounts", item{"id": str("a"), "balance": num("10")})
	f.put("accounts", item{"id": str("b"), "balance": num("0")})

	_, err := f.db.TransactWriteItems(t.Context(), transfer("a", "b", 11, nil))
	c := as[*types.TransactionCanceledException](t, err)
	if c.ErrorMessage() != "Transaction cancelled, please refer cancellation reasons for specific reasons [ConditionalCheckFailed, None]" {
		t.Errorf("message %q", c.ErrorMessage())
	}
	same(t, "reasons", c.CancellationReasons, []types.CancellationReason{
		{Code: aws.String("ConditionalCheckFailed"), Message: aws.String("The conditional request failed"), Item: item{"id": str("a"), "balance": num("10")}},
		{Code: aws.String("None")},
	})
	// A type error is a cancellation reason at the position of its action, too.
	in := transfer("a", "b", 1, nil)
	in.TransactItems = append(in.TransactItems, types.TransactWriteItem{Update: &types.Update{TableName: aws.String("accounts"),
		Key: item{"id": str("c")}, UpdateExpression: aws.String("SET x = absent + :n"), ExpressionAttributeValues: item{":n": num("1")}}})

	_, err = f.db.TransactWriteItems(t.Context(), in)
	c = as[*types.TransactionCanceledException](t, err)
	if len(c.CancellationReasons) != 3 || *c.CancellationReasons[2].Code != "ValidationError" {
		t.Errorf("reasons %+v", c.CancellationReasons)
	}

	for id, want := range map[string]string{"a": "10", "b": "0"} {
		if got := number(f.get("accounts", item{"id": str(id)})["balance"]); got != want {
			t.Errorf("balance of %s is %s after cancelled transfers", id, got)
		}
	}
	twice := transfer("a", "a", 1, nil)
	_, err = f.db.TransactWriteItems(t.Context(), twice)
	refused(t, err, "ValidationException", "Transaction request cannot include multiple operations on one item")
	_, err = f.db.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: make([]types.TransactWriteItem, 101)})
	refused(t, err, "ValidationException", "Member must have length less than or equal to 100")
}

func TestTransactionVerbs(t *testing.T) {
	f := open(t)
	arn := *f.table("orders", "id", "", types.StreamViewTypeNewAndOldImages).LatestStreamArn
	f.put("orders", item{"id": str("checked"), "ok": num("1")})
	f.put("orders", item{"id": str("deleted")})

	out, err := f.db.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{
		ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
		TransactItems: []types.TransactWriteItem{
			{ConditionCheck: &types.ConditionCheck{TableName: aws.String("orders"), Key: item{"id": str("checked")}, ConditionExpression: aws.String("ok = :one"), ExpressionAttributeValues: item{":one": num("1")}}},
			{Put: &types.Put{TableName: aws.String("orders"), Item: item{"id": str("put")}, ConditionExpression: aws.String("attribute_not_exists(id)")}},
			{Update: &types.Update{TableName: aws.String("orders"), Key: item{"id": str("updated")}, UpdateExpression: aws.String("SET v = :one"), ExpressionAttributeValues: item{":one": num("1")}}},
			{Delete: &types.Delete{TableName: aws.String("orders"), Key: item{"id": str("deleted")}}},
		}})
	if err != nil {
		t.Fatal(err)
	}

	if c := out.ConsumedCapacity; len(c) != 1 || *c[0].CapacityUnits != 8 || *c[0].WriteCapacityUnits != 8 {
		t.Errorf("four small writes in a transaction cost %+v, want 8", c)
	}

	got, err := f.db.TransactGetItems(t.Context(), &dynamodb.TransactGetItemsInput{TransactItems: []types.TransactGetItem{
		{Get: &types.Get{TableName: aws.String("orders"), Key: item{"id": str("updated")}, ProjectionExpression: aws.String("v")}},
		{Get: &types.Get{TableName: aws.String("orders"), Key: item{"id": str("deleted")}}},
		{Get: &types.Get{TableName: aws.String("orders"), Key: item{"id": str("put")}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "updated", got.Responses[0].Item, item{"v": num("1")})

	if got.Responses[1].Item != nil {
		t.Errorf("deleted: %v", got.Responses[1].Item)
	}
	same(t, "put", got.Responses[2].Item, item{"id": str("put")})
	count := 0
	f.readForest(arn, func(stypes.Record) { count++ })

	if count != 5 { // two puts before, then three of the transaction
		t.Errorf("%d stream records, want 5", count)
	}
}

// TestClientRequestToken runs in a bubble, where the ten minutes of a token pass at once. A
// restart must not forget the token.
func TestClientRequestToken(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		f := reopen(t, dir)
		f.table("accounts", "id", "", "")
		f.put("accounts", item{"id": str("a"), "balance": num("10")})
		f.put("accounts", item{"id": str("b"), "balance": num("0")})
		do := func(n int) error {
			_, err := f.db.TransactWriteItems(t.Context(), transfer("a", "b", n, aws.String("token-1")))
			return err
		}
		balance := func(want string) {
			t.Helper()

			if got := number(f.get("accounts", item{"id": str("b")})["balance"]); got != want {
				t.Errorf("balance is %s, want %s", got, want)
			}
		}
		// A canceled transaction leaves the token free.
		as[*types.TransactionCanceledException](t, do(11))

		for range 3 {
			if err := do(1); err != nil {
				t.Fatal(err)
			}
		}
		balance("1")
		as[*types.IdempotentParameterMismatchException](t, do(2))

		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		f = reopen(t, dir)
		time.Sleep(9 * time.Minute)

		if err := do(1); err != nil {
			t.Fatal(err)
		}
		balance("1")
		time.Sleep(2 * time.Minute)

		if err := do(1); err != nil {
			t.Fatal(err)
		}
		balance("2")
	})
}

// TestTransfersConserveMoney moves money between accounts in many goroutines while a reader
// adds up all balances. The sum must be the same at every moment.
func TestTransfersConserveMoney(t *testing.T) {
	const accounts, workers, moves = 8, 24, 40
	f := open(t)
	f.table("accounts", "id", "", "")

	var gets []types.TransactGetItem
	for i := range accounts {
		f.put("accounts", item{"id": str(fmt.Sprint(i)), "balance": num("5")})
		gets = append(gets, types.TransactGetItem{Get: &types.Get{TableName: aws.String("accounts"), Key: item{"id": str(fmt.Sprint(i))}}})
	}
	sum := func() (total int) {
		out, err := f.db.TransactGetItems(t.Context(), &dynamodb.TransactGetItemsInput{TransactItems: gets})
		if err != nil {
			t.Error(err)
			return 0
		}

		for _, r := range out.Responses {
			n := 0
			if _, err := fmt.Sscan(number(r.Item["balance"]), &n); err != nil || n < 0 {
				t.Errorf("balance %v", r.Item)
			}
			total += n
		}

		return total
	}

	var moved atomic.Int64
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := range moves {
				_, err := f.db.TransactWriteItems(t.Context(), transfer(fmt.Sprint((w+i)%accounts), fmt.Sprint((w*3+i*5+1)%accounts), 1+i%4, nil))
				if err == nil {
					moved.Add(1)
				}
			}
		})
	}

	for range 50 {
		if got := sum(); got != 5*accounts {
			t.Fatalf("sum %d, want %d", got, 5*accounts)
		}
	}
	wg.Wait()

	if got := sum(); got != 5*accounts || moved.Load() == 0 {
		t.Fatalf("sum %d after %d transfers, want %d", got, moved.Load(), 5*accounts)
	}
}

// TestOneWinner lets many goroutines race for the same transitions. Each transition must have
// exactly one winner, and the others must see the winner's item.
func TestOneWinner(t *testing.T) {
	const orders, steps = 5, 10

	goroutines := 200
	if testing.Short() {
		goroutines = 30
	}

	f := open(t)

	arn := *f.table("orders", "id", "", types.StreamViewTypeNewImage).LatestStreamArn
	var wins [orders][steps]atomic.Int64
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			for step := range steps {
				for o := range orders {
					_, err := f.db.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
						TableName: aws.String("orders"), Key: item{"id": str(fmt.Sprint(o))},
						ConditionExpression:                 aws.String("(attribute_not_exists(id) AND :id = :first) OR transitionId = :before"),
						UpdateExpression:                    aws.String("SET transitionId = :id"),
						ExpressionAttributeValues:           item{":id": num(fmt.Sprint(step + 1)), ":before": num(fmt.Sprint(step)), ":first": num("1")},
						ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
					})
					if err == nil {
						wins[o][step].Add(1)
						continue
					}

					if lost := as[*types.ConditionalCheckFailedException](t, err); lost.Item == nil {
						t.Error("a loser does not see the item")
					}
				}
			}
		})
	}
	wg.Wait()

	for o := range orders {
		for step := range steps {
			if n := wins[o][step].Load(); n != 1 {
				t.Errorf("order %d, step %d: %d winners", o, step+1, n)
			}
		}
	}
	seen := map[string]string{}
	f.readForest(arn, func(r stypes.Record) {
		id := r.Dynamodb.Keys["id"].(*stypes.AttributeValueMemberS).Value
		seen[id] += r.Dynamodb.NewImage["transitionId"].(*stypes.AttributeValueMemberN).Value + " "
	})

	for id, got := range seen {
		if got != "1 2 3 4 5 6 7 8 9 10 " {
			t.Errorf("order %s in the stream: %s", id, got)
		}
	}
}

func TestBatches(t *testing.T) {
	f := open(t)
	f.table("orders", "id", "", "")
	f.table("other", "id", "", "")
	f.put("other", item{"id": str("gone")})

	writes := map[string][]types.WriteRequest{"other": {{DeleteRequest: &types.DeleteRequest{Key: item{"id": str("gone")}}}}}
	var keys []map[string]types.AttributeValue
	for i := range 24 {
		id := str(fmt.Sprint(i))
		writes["orders"] = append(writes["orders"], types.WriteRequest{PutRequest: &types.PutRequest{Item: item{"id": id, "v": num(fmt.Sprint(i))}}})
		keys = append(keys, item{"id": id})
	}

	out, err := f.db.BatchWriteItem(t.Context(), &dynamodb.BatchWriteItemInput{RequestItems: writes, ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal})
	if err != nil || len(out.UnprocessedItems) != 0 || len(out.ConsumedCapacity) != 2 || *out.ConsumedCapacity[0].CapacityUnits != 24 {
		t.Fatalf("%+v, %v", out, err)
	}

	got, err := f.db.BatchGetItem(t.Context(), &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{
		"orders": {Keys: append(keys, item{"id": str("missing")})}, "other": {Keys: []map[string]types.AttributeValue{{"id": str("gone")}}},
	}})
	if err != nil || len(got.Responses["orders"]) != 24 || len(got.Responses["other"]) != 0 || len(got.UnprocessedKeys) != 0 {
		t.Fatalf("%+v, %v", got, err)
	}
	_, err = f.db.BatchGetItem(t.Context(), &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{"orders": {Keys: append(keys, keys[0])}}})
	refused(t, err, "ValidationException", "Provided list of item keys contains duplicates")
	writes["orders"] = append(writes["orders"], types.WriteRequest{PutRequest: &types.PutRequest{Item: item{"id": str("x")}}})
	_, err = f.db.BatchWriteItem(t.Context(), &dynamodb.BatchWriteItemInput{RequestItems: writes})
	refused(t, err, "ValidationException", "Too many items requested for the BatchWriteItem call")
}

// TestBatchGetReturnsWhatDoesNotFitAsUnprocessed: an answer has at most 16 MB of items.
func TestBatchGetReturnsWhatDoesNotFitAsUnprocessed(t *testing.T) {
	if testing.Short() {
		t.Skip("one client, and many bytes")
	}

	f := open(t)
	f.table("big", "id", "", "")

	pad := make([]byte, 390<<10)
	var keys []map[string]types.AttributeValue
	for i := range 50 {
		f.put("big", item{"id": str(fmt.Sprint(i)), "pad": &types.AttributeValueMemberB{Value: pad}})
		keys = append(keys, item{"id": str(fmt.Sprint(i))})
	}

	got, calls := 0, 0
	left := map[string]types.KeysAndAttributes{"big": {Keys: keys, ConsistentRead: aws.Bool(true), ProjectionExpression: aws.String("#i"), ExpressionAttributeNames: map[string]string{"#i": "id"}}}
	for len(left) > 0 {
		out, err := f.db.BatchGetItem(t.Context(), &dynamodb.BatchGetItemInput{RequestItems: left})
		if err != nil {
			t.Fatal(err)
		}
		got += len(out.Responses["big"])
		left = out.UnprocessedKeys
		calls++
	}

	if got != 50 || calls != 2 {
		t.Errorf("%d items in %d calls, want 50 in 2", got, calls)
	}
}

// TestTimeToLive lets items expire in a bubble.
func TestTimeToLive(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		f := reopen(t, dir)
		stop := run(t, f.Engine)
		arn := *f.table("once", "id", "", types.StreamViewTypeOldImage).LatestStreamArn
		at := func(d time.Duration) types.AttributeValue { return num(fmt.Sprint(time.Now().Add(d).Unix())) }
		f.put("once", item{"id": str("before"), "ttl": at(time.Hour)}) // from before the time to live is on
		f.ttl("once", "ttl", true)
		f.put("once", item{"id": str("soon"), "ttl": at(time.Minute)})
		f.put("once", item{"id": str("renewed"), "ttl": at(time.Minute)})
		f.put("once", item{"id": str("renewed"), "ttl": at(2 * time.Hour)})
		f.put("once", item{"id": str("text"), "ttl": str("1")})
		f.put("once", item{"id": str("ancient"), "ttl": num("1")})
		f.put("once", item{"id": str("never")})
		left := func(want string) {
			t.Helper()

			got := ""
			for _, id := range []string{"ancient", "before", "never", "renewed", "soon", "text"} {
				if f.get("once", item{"id": str(id)}) != nil {
					got += id + " "
				}
			}

			if got != want {
				t.Errorf("left are %s, want %s", got, want)
			}
		}
		time.Sleep(30 * time.Second)
		left("ancient before never renewed soon text ")
		time.Sleep(time.Minute)
		left("ancient before never renewed text ")
		time.Sleep(time.Hour)
		left("ancient never renewed text ")
		removed := 0
		f.readForest(arn, func(r stypes.Record) {
			if r.EventName != stypes.OperationTypeRemove {
				return
			}
			removed++

			if r.UserIdentity == nil || *r.UserIdentity.PrincipalId != "dynamodb.amazonaws.com" || *r.UserIdentity.Type != "Service" {
				t.Errorf("removed by %+v", r.UserIdentity)
			}
		})

		if removed != 2 {
			t.Errorf("%d removals in the stream, want 2", removed)
		}
		f.ttl("once", "ttl", false)
		time.Sleep(2 * time.Hour)
		left("ancient never renewed text ")
		stop()
	})
}

// run runs an engine until the returned function is called, which waits for its end.
func run(t *testing.T, e *Engine) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- e.Run(ctx) }()

	return func() {
		cancel()

		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	}
}

func (f *fixture) ttl(table, attribute string, on bool) {
	f.t.Helper()

	_, err := f.db.UpdateTimeToLive(f.t.Context(), &dynamodb.UpdateTimeToLiveInput{TableName: &table,
		TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: &attribute, Enabled: &on}})
	if err != nil {
		f.t.Fatal(err)
	}

	out, err := f.db.DescribeTimeToLive(f.t.Context(), &dynamodb.DescribeTimeToLiveInput{TableName: &table})
	if err != nil || (out.TimeToLiveDescription.TimeToLiveStatus == types.TimeToLiveStatusEnabled) != on {
		f.t.Fatalf("time to live is %+v, %v", out, err)
	}
}
