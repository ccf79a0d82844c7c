package embedded

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// FuzzRequests sends arbitrary bodies to every operation. The engine must answer each with
// success or an error of the caller, never with an internal error.
func FuzzRequests(f *testing.F) {
	e, err := Open(Config{Dir: f.TempDir(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() {
		if err := e.Close(); err != nil {
			f.Error(err)
		}
	})
	db := dynamodb.NewFromConfig(e.AWSConfig())

	out, err := db.CreateTable(f.Context(), &dynamodb.CreateTableInput{TableName: aws.String("orders"), BillingMode: types.BillingModePayPerRequest,
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("id"), KeyType: types.KeyTypeHash}, {AttributeName: aws.String("n"), KeyType: types.KeyTypeRange}},
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("id"), AttributeType: "S"}, {AttributeName: aws.String("n"), AttributeType: "N"}},
		StreamSpecification:  &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewAndOldImages}})
	if err != nil {
		f.Fatal(err)
	}
	arn := *out.TableDescription.LatestStreamArn

	if _, err := sqs.NewFromConfig(e.AWSConfig()).CreateQueue(f.Context(), &sqs.CreateQueueInput{QueueName: aws.String("q")}); err != nil {
		f.Fatal(err)
	}

	const db12, st12 = "DynamoDB_20120810.", "DynamoDBStreams_20120810."
	for _, seed := range [][2]string{
		{db12 + "PutItem", `{"TableName":"orders","Item":{"id":{"S":"a"},"n":{"N":"1"},"l":{"L":[{"M":{"x":{"BOOL":true}}}]},"s":{"SS":["a","b"]}},"ConditionExpression":"attribute_not_exists(#i)","ExpressionAttributeNames":{"#i":"id"},"ReturnValues":"ALL_OLD"}`},
		{db12 + "GetItem", `{"TableName":"orders","Key":{"id":{"S":"a"},"n":{"N":"1"}},"ProjectionExpression":"l[0].x, s","ReturnConsumedCapacity":"INDEXES"}`},
		{db12 + "UpdateItem", `{"TableName":"orders","Key":{"id":{"S":"a"},"n":{"N":"1e-3"}},"UpdateExpression":"SET a = if_not_exists(a, :z) + :z REMOVE b ADD c :z DELETE s :s","ExpressionAttributeValues":{":z":{"N":"0"},":s":{"SS":["a"]}},"ReturnValues":"UPDATED_NEW"}`},
		{db12 + "DeleteItem", `{"TableName":"orders","Key":{"id":{"S":"a"},"n":{"N":"1"}},"ConditionExpression":"size(l) > :n OR n BETWEEN :n AND :n","ExpressionAttributeValues":{":n":{"N":"0"}}}`},
		{db12 + "Query", `{"TableName":"orders","KeyConditionExpression":"id = :a AND n BETWEEN :b AND :c","FilterExpression":"contains(s, :a)","ExpressionAttributeValues":{":a":{"S":"a"},":b":{"N":"-1"},":c":{"N":"9"}},"Limit":3,"ExclusiveStartKey":{"id":{"S":"a"},"n":{"N":"0"}}}`},
		{db12 + "Scan", `{"TableName":"orders","Segment":1,"TotalSegments":3,"Select":"COUNT"}`},
		{db12 + "BatchGetItem", `{"RequestItems":{"orders":{"Keys":[{"id":{"S":"a"},"n":{"N":"1"}}]}}}`},
		{db12 + "BatchWriteItem", `{"RequestItems":{"orders":[{"PutRequest":{"Item":{"id":{"S":"b"},"n":{"N":"1"}}}},{"DeleteRequest":{"Key":{"id":{"S":"a"},"n":{"N":"1"}}}}]}}`},
		{db12 + "TransactWriteItems", `{"ClientRequestToken":"t","TransactItems":[{"Put":{"TableName":"orders","Item":{"id":{"S":"c"},"n":{"N":"1"}}}},{"ConditionCheck":{"TableName":"orders","Key":{"id":{"S":"a"},"n":{"N":"2"}},"ConditionExpression":"attribute_not_exists(id)"}}]}`},
		{db12 + "TransactGetItems", `{"TransactItems":[{"Get":{"TableName":"orders","Key":{"id":{"S":"a"},"n":{"N":"1"}}}}]}`},
		{db12 + "CreateTable", `{"TableName":"other","KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],"AttributeDefinitions":[{"AttributeName":"id","AttributeType":"B"}],"BillingMode":"PAY_PER_REQUEST"}`},
		{db12 + "UpdateTimeToLive", `{"TableName":"orders","TimeToLiveSpecification":{"AttributeName":"ttl","Enabled":true}}`},
		{db12 + "ListTables", `{"Limit":1,"ExclusiveStartTableName":"o"}`},
		{st12 + "DescribeStream", `{"StreamArn":"` + arn + `","Limit":1,"ShardFilter":{"Type":"CHILD_SHARDS","ShardId":"x"}}`},
		{st12 + "GetShardIterator", `{"StreamArn":"` + arn + `","ShardId":"x","ShardIteratorType":"AT_SEQUENCE_NUMBER","SequenceNumber":"100000000000000000000"}`},
		{st12 + "GetRecords", `{"ShardIterator":"` + arn + `|1|AAAA"}`},
		{st12 + "ListStreams", `{"TableName":"orders"}`},
		{"AmazonSQS.CreateQueue", `{"QueueName":"f.fifo","Attributes":{"FifoQueue":"true","VisibilityTimeout":"1","RedrivePolicy":"{\"deadLetterTargetArn\":\"arn:aws:sqs:us-east-1:000000000000:f.fifo\",\"maxReceiveCount\":1}"}}`},
		{"AmazonSQS.SendMessage", `{"QueueUrl":"http://x/0/q","MessageBody":"b","DelaySeconds":0,"MessageAttributes":{"n":{"DataType":"Number","StringValue":"1"},"b":{"DataType":"Binary","BinaryValue":"AQ=="}},"MessageSystemAttributes":{"AWSTraceHeader":{"DataType":"String","StringValue":"t"}}}`},
		{"AmazonSQS.SendMessageBatch", `{"QueueUrl":"http://x/0/q","Entries":[{"Id":"1","MessageBody":"b","MessageGroupId":"g"},{"Id":"2"}]}`},
		{"AmazonSQS.ReceiveMessage", `{"QueueUrl":"http://x/0/q","MaxNumberOfMessages":10,"VisibilityTimeout":0,"MessageAttributeNames":["b.*"],"AttributeNames":["All"]}`},
		{"AmazonSQS.DeleteMessage", `{"QueueUrl":"http://x/0/q","ReceiptHandle":"AAAAAAAAAAEAAAAAAAAAAQAAAAAAAAAB"}`},
		{"AmazonSQS.ChangeMessageVisibilityBatch", `{"QueueUrl":"http://x/0/q","Entries":[{"Id":"1","ReceiptHandle":"AAAAAAAAAAEAAAAAAAAAAQAAAAAAAAAB","VisibilityTimeout":43200}]}`},
		{"AmazonSQS.SetQueueAttributes", `{"QueueUrl":"http://x/0/q","Attributes":{"MaximumMessageSize":"1024"}}`},
		{"AmazonSQS.GetQueueAttributes", `{"QueueUrl":"http://x/0/q","AttributeNames":["All"]}`},
		{"AmazonSQS.ListQueues", `{"MaxResults":1,"NextToken":"cQ"}`},
		{"RatchetEngine_20261121.RollShards", `{"StreamArn":"` + arn + `"}`},
		{"RatchetEngine_20261121.TrimStream", `{"StreamArn":"` + arn + `","BeforeTime":1e300}`},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, target, body string) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(body))
		r.Header["X-Amz-Target"] = []string{target}
		w := httptest.NewRecorder()
		e.Handler().ServeHTTP(w, r)

		if w.Code != http.StatusOK && (w.Code < 400 || w.Code > 499) {
			t.Fatalf("%s %s: status %d: %s", target, body, w.Code, w.Body)
		}
	})
}
