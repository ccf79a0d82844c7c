package embedded

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func same(t *testing.T, what string, got, want any) {
	t.Helper()

	ignore := cmpopts.IgnoreUnexported(types.AttributeValueMemberS{}, types.AttributeValueMemberN{}, types.AttributeValueMemberSS{},
		types.AttributeValueMemberL{}, types.AttributeValueMemberM{}, types.ConsumedCapacity{}, types.Capacity{},
		types.CancellationReason{}, types.AttributeValueMemberBOOL{}, types.AttributeValueMemberB{})
	if d := cmp.Diff(want, got, ignore); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

// refused checks the code of an error and that its message contains a text.
func refused(t *testing.T, err error, code, message string) {
	t.Helper()

	var api smithy.APIError
	if !errors.As(err, &api) || api.ErrorCode() != code || !strings.Contains(api.ErrorMessage(), message) {
		t.Errorf("error is %v, want %s with %q", err, code, message)
	}
}

func TestConditionalPut(t *testing.T) {
	f := open(t)
	f.table("orders", "id", "", "")

	in := &dynamodb.PutItemInput{
		TableName: aws.String("orders"), Item: item{"id": str("o-1"), "v": num("1")},
		ConditionExpression: aws.String("attribute_not_exists(id)"), ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
	if _, err := f.db.PutItem(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	in.Item = item{"id": str("o-1"), "v": num("2")}
	_, err := f.db.PutItem(t.Context(), in)
	failed := as[*types.ConditionalCheckFailedException](t, err)
	same(t, "item in the refusal", failed.Item, item{"id": str("o-1"), "v": num("1")})

	if failed.ErrorMessage() != "The conditional request failed" {
		t.Errorf("message %q", failed.ErrorMessage())
	}
	in.ConditionExpression, in.ReturnValues = nil, types.ReturnValueAllOld

	out, err := f.db.PutItem(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "ALL_OLD", out.Attributes, item{"id": str("o-1"), "v": num("1")})
}

func TestUpdateReturnValues(t *testing.T) {
	f := open(t)
	f.table("orders", "id", "", "")

	for _, c := range []struct {
		values types.ReturnValue
		want   item
	}{
		{types.ReturnValueNone, nil},
		{types.ReturnValueAllOld, item{"id": str("o-1"), "a": num("1"), "b": str("x")}},
		{types.ReturnValueAllNew, item{"id": str("o-1"), "a": num("2"), "c": str("y")}},
		{types.ReturnValueUpdatedOld, item{"a": num("1"), "b": str("x")}},
		{types.ReturnValueUpdatedNew, item{"a": num("2"), "c": str("y")}},
	} {
		f.put("orders", item{"id": str("o-1"), "a": num("1"), "b": str("x")})

		out, err := f.db.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
			TableName: aws.String("orders"), Key: item{"id": str("o-1")},
			UpdateExpression:          aws.String("SET a = a + :one, c = :y REMOVE #b"),
			ExpressionAttributeNames:  map[string]string{"#b": "b"},
			ExpressionAttributeValues: item{":one": num("1"), ":y": str("y")},
			ReturnValues:              c.values,
		})
		if err != nil {
			t.Fatal(err)
		}
		same(t, string(c.values), out.Attributes, c.want)
	}
}

func TestUpdateCreates(t *testing.T) {
	f := open(t)
	f.table("orders", "id", "", "")

	update := func(id, expr string, values item) error {
		in := &dynamodb.UpdateItemInput{TableName: aws.String("orders"), Key: item{"id": str(id)}, ExpressionAttributeValues: values}
		if expr != "" {
			in.UpdateExpression = &expr
		}
		_, err := f.db.UpdateItem(t.Context(), in)

		return err
	}
	if err := errors.Join(update("set", "SET a = :a", item{":a": num("1")}), update("bare", "", nil), update("removed", "REMOVE a", nil)); err != nil {
		t.Fatal(err)
	}
	same(t, "SET creates the item", f.get("orders", item{"id": str("set")}), item{"id": str("set"), "a": num("1")})
	same(t, "no expression creates the key", f.get("orders", item{"id": str("bare")}), item{"id": str("bare")})

	if got := f.get("orders", item{"id": str("removed")}); got != nil {
		t.Errorf("REMOVE alone created %v", got)
	}
	refused(t, update("set", "SET id = :a", item{":a": str("2")}), "ValidationException", "This attribute is part of the key")
	refused(t, update("set", "SET b = :a", nil), "ValidationException", "")
	refused(t, update("set", "SET b = :a", item{":a": num("1"), ":b": num("2")}), "ValidationException", "unused in expressions")
}

func TestDelete(t *testing.T) {
	f := open(t)
	f.table("orders", "id", "", "")
	f.put("orders", item{"id": str("o-1"), "v": num("1")})
	in := &dynamodb.DeleteItemInput{TableName: aws.String("orders"), Key: item{"id": str("o-1")}, ReturnValues: types.ReturnValueAllOld,
		ConditionExpression: aws.String("v > :v"), ExpressionAttributeValues: item{":v": num("1")}}
	_, err := f.db.DeleteItem(t.Context(), in)
	as[*types.ConditionalCheckFailedException](t, err)
	in.ConditionExpression = aws.String("v = :v")

	out, err := f.db.DeleteItem(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "ALL_OLD", out.Attributes, item{"id": str("o-1"), "v": num("1")})

	if got := f.get("orders", item{"id": str("o-1")}); got != nil {
		t.Errorf("still there: %v", got)
	}
}

// TestInvalidRequestsGetDynamoDBsMessages compares codes and messages.
func TestInvalidRequestsGetDynamoDBsMessages(t *testing.T) {
	f := open(t)
	f.table("orders", "id", "sk", "")
	orders := aws.String("orders")

	put := func(it item) error {
		_, err := f.db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: orders, Item: it})
		return err
	}
	get := func(table string, key item) error {
		_, err := f.db.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &table, Key: key})
		return err
	}
	for _, c := range []struct {
		name, code, message string
		err                 error
	}{
		{"put without its sort key", "ValidationException", "One or more parameter values were invalid: Missing the key sk in the item", put(item{"id": str("1")})},
		{"put with a key of another type", "ValidationException", "Type mismatch for key sk expected: S actual: N", put(item{"id": str("1"), "sk": num("1")})},
		{"put with an empty key", "ValidationException", "cannot contain an empty string value. Key: sk", put(item{"id": str("1"), "sk": str("")})},
		{"partition key too long", "ValidationException", "Size of hashkey has exceeded the maximum size limit of2048 bytes", put(item{"id": str(strings.Repeat("x", 2049)), "sk": str("1")})},
		{"sort key too long", "ValidationException", "Aggregated size of all range keys has exceeded the size limit of 1024 bytes", put(item{"id": str("1"), "sk": str(strings.Repeat("x", 1025))})},
		{"item too large", "ValidationException", "Item size has exceeded the maximum allowed size", put(item{"id": str("1"), "sk": str("1"), "big": str(strings.Repeat("x", 400<<10))})},
		{"key without its sort key", "ValidationException", "The provided key element does not match the schema", get("orders", item{"id": str("1")})},
		{"key with one attribute too many", "ValidationException", "The provided key element does not match the schema", get("orders", item{"id": str("1"), "sk": str("1"), "x": str("1")})},
		{"unknown table", "ResourceNotFoundException", "Requested resource not found", get("nothing", item{"id": str("1")})},
		{"table name with a space", "ValidationException", "1 validation error detected: Value 'a b' at 'tableName' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+", get("a b", item{"id": str("1")})},
		{"empty number", "ValidationException", "cannot be converted to a numeric value", put(item{"id": str("1"), "sk": str("1"), "n": num("")})},
		{"empty set", "ValidationException", "may not be empty", put(item{"id": str("1"), "sk": str("1"), "n": &types.AttributeValueMemberSS{Value: []string{}}})},
	} {
		t.Run(c.name, func(t *testing.T) { refused(t, c.err, c.code, c.message) })
	}

	_, err := f.db.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: orders, Key: item{"id": str("1"), "sk": str("1")}, AttributesToGet: []string{"a"}})
	if err != nil {
		t.Error(err)
	}
	_, err = f.db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: orders, Item: item{"id": str("1"), "sk": str("1")}, ReturnValues: types.ReturnValueAllNew})
	refused(t, err, "ValidationException", "ReturnValues can only be ALL_OLD or NONE")
	_, err = f.db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: orders, Item: item{"id": str("1"), "sk": str("1")}, ReturnValues: "SOME"})
	refused(t, err, "ValidationException", "failed to satisfy constraint: Member must satisfy enum value set: [ALL_NEW, UPDATED_OLD, ALL_OLD, NONE, UPDATED_NEW]")
	_, err = f.db.ListBackups(t.Context(), &dynamodb.ListBackupsInput{})
	refused(t, err, "UnknownOperationException", "ListBackups is not supported")
	_, err = f.db.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{TableName: orders, Key: item{"id": str("1"), "sk": str("1")},
		UpdateExpression: aws.String("SET big = :b"), ExpressionAttributeValues: item{":b": str(strings.Repeat("x", 400<<10))}})
	refused(t, err, "ValidationException", "Item size to update has exceeded the maximum allowed size")
}

func TestQuery(t *testing.T) {
	f := open(t)
	f.table("events", "id", "sk", "")

	for i := range 10 {
		f.put("events", item{"id": str("a"), "sk": str(fmt.Sprintf("k%02d", i)), "n": num(fmt.Sprint(i)), "even": &types.AttributeValueMemberBOOL{Value: i%2 == 0}})
	}
	f.put("events", item{"id": str("b"), "sk": str("k00")})

	query := func(edit func(*dynamodb.QueryInput)) *dynamodb.QueryOutput {
		in := &dynamodb.QueryInput{TableName: aws.String("events"), KeyConditionExpression: aws.String("id = :a"), ExpressionAttributeValues: item{":a": str("a")}}
		edit(in)

		out, err := f.db.Query(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}

		return out
	}
	ns := func(out *dynamodb.QueryOutput) (got string) {
		for _, it := range out.Items {
			got += number(it["n"])
		}
		return got
	}
	with := func(cond string, values ...string) func(*dynamodb.QueryInput) {
		return func(in *dynamodb.QueryInput) {
			in.KeyConditionExpression = aws.String("id = :a AND " + cond)
			for i, v := range values {
				in.ExpressionAttributeValues[fmt.Sprintf(":v%d", i)] = str(v)
			}
		}
	}
	for _, c := range []struct {
		name string
		edit func(*dynamodb.QueryInput)
		want string
	}{
		{"whole partition", func(*dynamodb.QueryInput) {}, "0123456789"},
		{"backwards", func(in *dynamodb.QueryInput) { in.ScanIndexForward = aws.Bool(false) }, "9876543210"},
		{"equal", with("sk = :v0", "k03"), "3"},
		{"less", with("sk < :v0", "k03"), "012"},
		{"at most", with("sk <= :v0", "k03"), "0123"},
		{"more", with("sk > :v0", "k03"), "456789"},
		{"at least", with("sk >= :v0", "k07"), "789"},
		{"between", with("sk BETWEEN :v0 AND :v1", "k02", "k05"), "2345"},
		{"begins with", with("begins_with(sk, :v0)", "k0"), "0123456789"},
		{"begins with nothing there", with("begins_with(sk, :v0)", "k1"), ""},
		{"filter", func(in *dynamodb.QueryInput) {
			in.FilterExpression, in.ExpressionAttributeValues[":t"] = aws.String("even = :t"), &types.AttributeValueMemberBOOL{Value: true}
		}, "02468"},
		{"limit", func(in *dynamodb.QueryInput) { in.Limit = aws.Int32(3) }, "012"},
		{"from a start key", func(in *dynamodb.QueryInput) { in.ExclusiveStartKey = item{"id": str("a"), "sk": str("k06")} }, "789"},
		{"backwards from a start key", func(in *dynamodb.QueryInput) {
			in.ExclusiveStartKey, in.ScanIndexForward = item{"id": str("a"), "sk": str("k03")}, aws.Bool(false)
		}, "210"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := ns(query(c.edit)); got != c.want {
				t.Errorf("items %s, want %s", got, c.want)
			}
		})
	}

	out := query(func(in *dynamodb.QueryInput) {
		in.Select, in.ReturnConsumedCapacity, in.Limit = types.SelectCount, types.ReturnConsumedCapacityTotal, aws.Int32(10)
	})
	if out.Count != 10 || out.Items != nil || *out.ConsumedCapacity.CapacityUnits != 0.5 {
		t.Errorf("count: %+v", out)
	}
	same(t, "a limit that is just reached leaves a key", out.LastEvaluatedKey, item{"id": str("a"), "sk": str("k09")})
	got := query(func(in *dynamodb.QueryInput) { in.ProjectionExpression, in.Limit = aws.String("n"), aws.Int32(1) })
	same(t, "projection", got.Items, []map[string]types.AttributeValue{{"n": num("0")}})
}

// TestAPageHasOneMegabyte: Query and Scan stop after 1 MB and continue from there.
func TestAPageHasOneMegabyte(t *testing.T) {
	if testing.Short() {
		t.Skip("one client, and many bytes")
	}

	f := open(t)
	f.table("big", "id", "sk", "")

	for i := range 30 {
		f.put("big", item{"id": str("a"), "sk": str(fmt.Sprintf("%02d", i)), "pad": str(strings.Repeat("x", 100<<10))})
	}

	pages, count := 0, 0
	p := dynamodb.NewQueryPaginator(f.db, &dynamodb.QueryInput{TableName: aws.String("big"), KeyConditionExpression: aws.String("id = :a"),
		ExpressionAttributeValues: item{":a": str("a")}})
	for p.HasMorePages() {
		out, err := p.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		pages++
		count += len(out.Items)
	}

	if count != 30 || pages != 3 {
		t.Errorf("%d items on %d pages, want 30 on 3", count, pages)
	}
}

// TestSegmentsOfAScanCoverEachItemOnce scans a table in parallel.
func TestSegmentsOfAScanCoverEachItemOnce(t *testing.T) {
	f := open(t)
	f.table("orders", "id", "", "")

	for i := range 200 {
		f.put("orders", item{"id": str(fmt.Sprint(i))})
	}

	for _, total := range []int32{1, 3, 7} {
		seen := map[string]int{}
		for segment := range total {
			p := dynamodb.NewScanPaginator(f.db, &dynamodb.ScanInput{TableName: aws.String("orders"), Limit: aws.Int32(11),
				Segment: aws.Int32(segment), TotalSegments: aws.Int32(total)})
			for p.HasMorePages() {
				out, err := p.NextPage(t.Context())
				if err != nil {
					t.Fatal(err)
				}

				for _, it := range out.Items {
					seen[text(it["id"])]++
				}
			}
		}

		for id, n := range seen {
			if n != 1 {
				t.Errorf("%d segments: item %s seen %d times", total, id, n)
			}
		}

		if len(seen) != 200 {
			t.Errorf("%d segments: %d items, want 200", total, len(seen))
		}
	}
}

// TestConsumedCapacity compares answers with DynamoDB's rules for capacity units.
func TestConsumedCapacity(t *testing.T) {
	f := open(t)
	f.table("orders", "id", "", "")
	pad := func(n int) item { return item{"id": str("1"), "p": str(strings.Repeat("x", n-4))} } // n bytes
	total := types.ReturnConsumedCapacityTotal

	units := func(c *types.ConsumedCapacity, err error) float64 {
		if err != nil {
			t.Fatal(err)
		}
		return *c.CapacityUnits
	}
	put := func(it item) float64 {
		out, err := f.db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("orders"), Item: it, ReturnConsumedCapacity: total})
		return units(out.ConsumedCapacity, err)
	}
	get := func(consistent bool) float64 {
		out, err := f.db.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String("orders"), Key: item{"id": str("1")}, ConsistentRead: &consistent, ReturnConsumedCapacity: total})
		return units(out.ConsumedCapacity, err)
	}
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"read of nothing, eventually consistent", get(false), 0.5},
		{"write of 1024 bytes", put(pad(1024)), 1},
		{"write of 1025 bytes", put(pad(1025)), 2},
		{"overwrite by a smaller item costs the larger", put(pad(100)), 2},
		{"write of 4096 bytes", put(pad(4096)), 4},
		{"consistent read of 4096 bytes", get(true), 1},
		{"write of 4097 bytes", put(pad(4097)), 5},
		{"consistent read of 4097 bytes", get(true), 2},
		{"eventually consistent read of 4097 bytes", get(false), 1},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v units, want %v", c.name, c.got, c.want)
		}
	}

	out, err := f.db.DeleteItem(context.Background(), &dynamodb.DeleteItemInput{TableName: aws.String("orders"), Key: item{"id": str("1")},
		ReturnConsumedCapacity: types.ReturnConsumedCapacityIndexes})
	if err != nil || *out.ConsumedCapacity.Table.CapacityUnits != 5 {
		t.Errorf("delete: %+v, %v", out, err)
	}
}
