package embedded

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	stypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// post sends a body as it is, without an SDK client.
func post(t *testing.T, client *http.Client, url, target, body string) (status int, answer map[string]any) {
	t.Helper()

	return postWith(t, client, url, http.Header{"X-Amz-Target": {target}}, body)
}

// postWith is post with any headers. An element of "Host" is the host that the request names.
func postWith(t *testing.T, client *http.Client, url string, header http.Header, body string) (status int, answer map[string]any) {
	t.Helper()

	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header, r.Host = header, header.Get("Host")

	res, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()

	raw, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}

	if err := json.Unmarshal(raw, &answer); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}

	return res.StatusCode, answer
}

// overHTTP returns the configuration of a client in another process, as for AWS.
func overHTTP(server *httptest.Server) aws.Config {
	return aws.Config{Region: "us-east-1", HTTPClient: server.Client(), BaseEndpoint: aws.String(server.URL),
		Credentials: credentials.NewStaticCredentialsProvider("any", "secret", "")}
}

// TestOverHTTP serves the engine on a socket to SDK clients and to plain HTTP.
func TestOverHTTP(t *testing.T) {
	f := open(t)
	server := httptest.NewServer(f.Handler())
	defer server.Close()
	f.db = dynamodb.NewFromConfig(overHTTP(server))
	f.table("orders", "id", "", "")
	f.put("orders", item{"id": str("o-1"), "v": num("1")})
	same(t, "item", f.get("orders", item{"id": str("o-1")}), item{"id": str("o-1"), "v": num("1")})

	for _, c := range []struct{ name, target, body, wantType string }{
		{"unknown members are ignored", "DynamoDB_20120810.GetItem", `{"TableName":"orders","Key":{"id":{"S":"o-1"}},"Color":"red"}`, ""},
		{"a member in other case is unknown", "DynamoDB_20120810.GetItem", `{"tablename":"orders","Key":{"id":{"S":"o-1"}}}`, "com.amazon.coral.validate#ValidationException"},
		{"broken JSON", "DynamoDB_20120810.GetItem", `{"TableName":`, "com.amazon.coral.service#SerializationException"},
		{"no body", "DynamoDB_20120810.GetItem", ``, "com.amazon.coral.service#SerializationException"},
		{"number for a string", "DynamoDB_20120810.GetItem", `{"TableName":7}`, "com.amazon.coral.service#SerializationException"},
		{"number for an N", "DynamoDB_20120810.GetItem", `{"TableName":"orders","Key":{"id":{"N":7}}}`, "com.amazon.coral.service#SerializationException"},
		{"unknown operation", "DynamoDB_20120810.Eat", `{}`, "com.amazonaws.dynamodb.v20120810#UnknownOperationException"},
		{"PartiQL without a statement", "DynamoDB_20120810.ExecuteStatement", `{}`, "com.amazon.coral.validate#ValidationException"},
		{"condition failed", "DynamoDB_20120810.DeleteItem", `{"TableName":"orders","Key":{"id":{"S":"o-1"}},"ConditionExpression":"attribute_not_exists(id)"}`, "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException"},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, answer := post(t, server.Client(), server.URL, c.target, c.body)
			if c.wantType == "" {
				if status != http.StatusOK {
					t.Errorf("status %d: %v", status, answer)
				}
			} else if status != http.StatusBadRequest || answer["__type"] != c.wantType {
				t.Errorf("status %d, type %v, want %s", status, answer["__type"], c.wantType)
			}
		})
	}
}

// TestAdminOverTheWire sends the commands for shards by plain HTTP.
func TestAdminOverTheWire(t *testing.T) {
	f := open(t)
	arn := *f.table("orders", "id", "", types.StreamViewTypeKeysOnly).LatestStreamArn
	f.put("orders", item{"id": str("o-1")})

	do := func(operation string, in map[string]any) int {
		t.Helper()

		body, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		status, _ := post(t, f.HTTPClient(), "http://engine/", "RatchetEngine_20261121."+operation, string(body))

		return status
	}
	if got := do("RollShards", map[string]any{"StreamArn": arn}); got != http.StatusOK {
		t.Errorf("roll: %d", got)
	}

	all := f.shards(arn)
	if got := do("SplitShard", map[string]any{"StreamArn": arn, "ShardId": all[len(all)-1].ShardId}); got != http.StatusOK {
		t.Errorf("split: %d", got)
	}

	if got := do("SplitShard", map[string]any{"StreamArn": arn, "ShardId": all[0].ShardId}); got != http.StatusBadRequest {
		t.Errorf("split of a closed shard: %d", got)
	}

	open := func() (n int) {
		for _, sh := range f.shards(arn) {
			if sh.SequenceNumberRange.EndingSequenceNumber == nil {
				n++
			}
		}

		return n
	}
	if len(f.shards(arn)) != 4 || open() != 2 {
		t.Errorf("%d shards, %d open; want 4 and 2", len(f.shards(arn)), open())
	}

	if got := do("TrimStream", map[string]any{"StreamArn": arn}); got != http.StatusOK {
		t.Errorf("trim: %d", got)
	}

	if len(f.shards(arn)) != 2 {
		t.Errorf("%d shards after trimming, want 2", len(f.shards(arn)))
	}
	f.readForest(arn, func(r stypes.Record) { t.Errorf("a record survived: %+v", r) })

	if got := do("RollShards", map[string]any{"StreamArn": "arn:nothing"}); got != http.StatusBadRequest {
		t.Errorf("roll of a stream that does not exist: %d", got)
	}
}

func TestTables(t *testing.T) {
	dir := t.TempDir()
	f := reopen(t, dir)
	ctx := context.Background()

	d := f.table("orders", "id", "sk", types.StreamViewTypeNewAndOldImages)
	if *d.TableArn != "arn:aws:dynamodb:us-east-1:000000000000:table/orders" || !strings.HasPrefix(*d.LatestStreamArn, *d.TableArn+"/stream/") ||
		!strings.HasSuffix(*d.LatestStreamArn, *d.LatestStreamLabel) || d.TableStatus != types.TableStatusActive {
		t.Errorf("%+v", d)
	}
	_, err := f.db.CreateTable(ctx, &dynamodb.CreateTableInput{TableName: aws.String("orders"), BillingMode: types.BillingModePayPerRequest,
		KeySchema: []types.KeySchemaElement{{AttributeName: aws.String("id"), KeyType: types.KeyTypeHash}}, AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("id"), AttributeType: "S"}}})
	as[*types.ResourceInUseException](t, err)
	_, err = f.db.CreateTable(ctx, &dynamodb.CreateTableInput{TableName: aws.String("x"), KeySchema: []types.KeySchemaElement{}})
	refused(t, err, "ValidationException", "Member must have length greater than or equal to 3")
	f.put("orders", item{"id": str("a"), "sk": str("1")})

	byARN, err := f.db.GetItem(ctx, &dynamodb.GetItemInput{TableName: d.TableArn, Key: item{"id": str("a"), "sk": str("1")}})
	if err != nil || byARN.Item == nil {
		t.Errorf("by ARN: %v, %v", byARN, err)
	}

	for _, change := range []*dynamodb.UpdateTableInput{
		{DeletionProtectionEnabled: aws.Bool(true)},
		{BillingMode: types.BillingModeProvisioned, ProvisionedThroughput: &types.ProvisionedThroughput{ReadCapacityUnits: aws.Int64(5), WriteCapacityUnits: aws.Int64(6)}},
	} {
		change.TableName = aws.String("orders")

		if _, err := f.db.UpdateTable(ctx, change); err != nil {
			t.Fatal(err)
		}
	}

	if _, err := f.db.TagResource(ctx, &dynamodb.TagResourceInput{ResourceArn: d.TableArn, Tags: []types.Tag{{Key: aws.String("k"), Value: aws.String("v")}}}); err != nil {
		t.Fatal(err)
	}
	_, err = f.db.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: aws.String("orders")})
	refused(t, err, "ValidationException", "protected against deletion")

	if err := f.Close(); err != nil {
		t.Fatal(err)
	}

	f = reopen(t, dir)
	again, err := f.db.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: aws.String("orders")})
	if err != nil || !*again.Table.DeletionProtectionEnabled || *again.Table.ProvisionedThroughput.WriteCapacityUnits != 6 || *again.Table.TableId != *d.TableId {
		t.Errorf("%+v, %v", again, err)
	}

	tags, err := f.db.ListTagsOfResource(ctx, &dynamodb.ListTagsOfResourceInput{ResourceArn: d.TableArn})
	if err != nil || len(tags.Tags) != 1 {
		t.Errorf("%+v, %v", tags, err)
	}

	if _, err := f.db.UpdateTable(ctx, &dynamodb.UpdateTableInput{TableName: aws.String("orders"), DeletionProtectionEnabled: aws.Bool(false)}); err != nil {
		t.Fatal(err)
	}

	if _, err := f.db.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: aws.String("orders")}); err != nil {
		t.Fatal(err)
	}
	_, err = f.db.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: aws.String("orders")})
	as[*types.ResourceNotFoundException](t, err)
	// A new table of the same name is empty and has another stream. The old stream stays
	// readable.
	next := f.table("orders", "id", "sk", types.StreamViewTypeKeysOnly)
	if *next.LatestStreamArn == *d.LatestStreamArn || f.get("orders", item{"id": str("a"), "sk": str("1")}) != nil {
		t.Error("the new table has something of the old one")
	}
	records := 0
	f.readForest(*d.LatestStreamArn, func(stypes.Record) { records++ })

	if records != 1 {
		t.Errorf("%d records in the deleted table's stream, want 1", records)
	}

	for _, name := range []string{"t-a", "t-b", "t-c"} {
		f.table(name, "id", "", "")
	}

	page, err := f.db.ListTables(ctx, &dynamodb.ListTablesInput{Limit: aws.Int32(3)})
	if err != nil || strings.Join(page.TableNames, " ") != "orders t-a t-b" || *page.LastEvaluatedTableName != "t-b" {
		t.Errorf("%+v, %v", page, err)
	}

	if _, err := f.db.DescribeLimits(ctx, &dynamodb.DescribeLimitsInput{}); err != nil {
		t.Error(err)
	}

	if err := dynamodb.NewTableExistsWaiter(f.db).Wait(ctx, &dynamodb.DescribeTableInput{TableName: aws.String("t-a")}, 1e9); err != nil {
		t.Error(err)
	}
}
