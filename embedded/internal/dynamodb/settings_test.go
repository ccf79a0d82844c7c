package dynamodb

import (
	"strings"
	"testing"
)

const newTableOf = `"KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],"AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}]`

// TestSettings: throughput and keys are kept and described. Source of the words: ack-api-quirks, services/dynamodb, in
// the findings that settings.go names.
func TestSettings(t *testing.T) {
	dir := t.TempDir()
	s, stop := openService(t, dir)

	const (
		lower  = oneInvalid + "Requested ReadUnitsPerSecond for WarmThroughput for table is lower than "
		onKeys = `"SSESpecification":{"Enabled":true,"SSEType":"KMS","KMSMasterKeyId":"k-1"}`
	)

	for _, row := range []struct{ operation, body, want string }{
		{"CreateTable", `{"TableName":"low","BillingMode":"PAY_PER_REQUEST",` + newTableOf + `,"WarmThroughput":{"ReadUnitsPerSecond":-1}}`,
			lower + "initial throughput for OnDemand. See: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/on-demand-capacity-mode.html#on-demand-capacity-mode-initial"},
		{"CreateTable", `{"TableName":"low","ProvisionedThroughput":{"ReadCapacityUnits":10,"WriteCapacityUnits":10},` + newTableOf + `,"WarmThroughput":{"ReadUnitsPerSecond":5}}`,
			lower + "ReadCapacityUnits of ProvisionedThroughput"},
		{"CreateTable", `{"TableName":"low","BillingMode":"PAY_PER_REQUEST",` + newTableOf + `,"OnDemandThroughput":{"MaxReadRequestUnits":0}}`,
			oneInvalid + "Requested MaxReadRequestUnits for OnDemandThroughput for table is outside of valid range"},
		{"CreateTable", `{"TableName":"low","BillingMode":"PAY_PER_REQUEST",` + newTableOf + `,"SSESpecification":{"SSEType":"KMS"}}`,
			oneInvalid + "SSEType can not be specified if Enabled is false"},
		{"CreateTable", `{"TableName":"low","BillingMode":"PAY_PER_REQUEST",` + newTableOf + `,"SSESpecification":{"Enabled":true,"KMSMasterKeyId":"k"}}`,
			oneInvalid + "SSEType KMS is required if KMSMasterKeyId is specified"},

		{"CreateTable", `{"TableName":"set","BillingMode":"PAY_PER_REQUEST",` + newTableOf + `,"OnDemandThroughput":{"MaxReadRequestUnits":100},"WarmThroughput":{"ReadUnitsPerSecond":12001},` + onKeys + `}`, ""},
		{"DescribeTable", `{"TableName":"set"}`, `"OnDemandThroughput":{"MaxReadRequestUnits":100}`},
		{"DescribeTable", `{"TableName":"set"}`, `"WarmThroughput":{"ReadUnitsPerSecond":12001,"Status":"ACTIVE","WriteUnitsPerSecond":4000}`},
		{"DescribeTable", `{"TableName":"set"}`, `"SSEDescription":{"KMSMasterKeyArn":"arn:aws:kms:us-east-1:000000000000:key/k-1","SSEType":"KMS","Status":"ENABLED"}`},

		{"UpdateTable", `{"TableName":"set","WarmThroughput":{"ReadUnitsPerSecond":12000}}`, lower + "current WarmThroughput, decreasing WarmThroughput is not supported"},
		{"UpdateTable", `{"TableName":"set","OnDemandThroughput":{"MaxReadRequestUnits":-1,"MaxWriteRequestUnits":7}}`, `"OnDemandThroughput":{"MaxWriteRequestUnits":7}`},
		{"UpdateTable", `{"TableName":"set",` + onKeys + `}`, oneInvalid + "Table is already encrypted with given KMSMasterKeyId. Use KMSMasterKeyId parameter if you want to change Master Key"},
		{"UpdateTable", `{"TableName":"set","MultiRegionConsistency":"STRONG"}`, "ValidationException: MultiRegionConsistency are not supported by the embedded engine"},

		{"CreateTable", `{"TableName":"plain","BillingMode":"PAY_PER_REQUEST",` + newTableOf + `}`, `"WarmThroughput":{"ReadUnitsPerSecond":12000,"Status":"ACTIVE","WriteUnitsPerSecond":4000}`},
		{"UpdateTable", `{"TableName":"plain","SSESpecification":{"Enabled":false}}`, oneInvalid + "Table is already encrypted by default"},
		{"UpdateTable", `{"TableName":"plain","GlobalSecondaryIndexUpdates":[{"Update":{"IndexName":"ghost","WarmThroughput":{}}}]}`,
			oneInvalid + "WarmThroughput must have at least one of ReadUnitsPerSecond or WriteUnitsPerSecond specified for index: ghost"},
	} {
		if got := request(t, s, row.operation, row.body); !strings.Contains(got, row.want) || strings.HasPrefix(row.want, oneInvalid) && got != row.want {
			t.Errorf("%s %s\n got %s\nwant %s", row.operation, row.body, got, row.want)
		}
	}
	stop()

	s, stop = openService(t, dir)
	defer stop()

	if got := request(t, s, "DescribeTable", `{"TableName":"set"}`); !strings.Contains(got, `"MaxWriteRequestUnits":7`) || !strings.Contains(got, "k-1") || !strings.Contains(got, "12001") {
		t.Errorf("after a restart: %s", got)
	}
}

// TestTagsAreChecked has its words from ack-api-quirks, services/dynamodb, recorded on the service.
func TestTagsAreChecked(t *testing.T) {
	s := openOrders(t)
	arn := s.tables.TableARNs() + "orders"

	for _, row := range []struct{ operation, members, want string }{
		{"TagResource", ``, broken(must("null", "tags", "not be null"))},
		{"TagResource", `,"Tags":[]`, "ValidationException: Atleast one Tag needs to be provided as Input."},
		{"TagResource", `,"Tags":[{}]`, "ValidationException: The Tag Key provided is invalid, Key: null"},
		{"TagResource", `,"Tags":[{"Key":"a"}]`, "ValidationException: The Tag Value provided is invalid, Value: null"},
		{"TagResource", `,"Tags":[{"Key":"a!","Value":"v"}]`, "ValidationException: The Tag Key provided is invalid, Key: a!"},
		{"TagResource", `,"Tags":[{"Key":"aws:a","Value":"v"}]`, "ValidationException: Tag Key cannot be prefixed with aws:, Key: aws:a"},
		{"TagResource", `,"Tags":[{"Key":"a","Value":"v"},{"Key":"a","Value":"w"}]`, "ValidationException: Duplicate Tag Keys provided as input: Duplicate Tag Key found a"},
		{"TagResource", `,"Tags":[{"Key":"über @1","Value":""}]`, "{}"},
		{"UntagResource", ``, broken(must("null", "tagKeys", "not be null"))},
		{"UntagResource", `,"TagKeys":[]`, "ValidationException: Atleast one Tag Key needs to be provided as Input."},
		{"UntagResource", `,"TagKeys":[null]`, "ValidationException: The Tag Key provided is invalid, Key: null"},
		{"ListTagsOfResource", ``, `{"Tags":[{"Key":"über @1","Value":""}]}`},
	} {
		if got := request(t, s, row.operation, `{"ResourceArn":"`+arn+`"`+row.members+`}`); got != row.want {
			t.Errorf("%s %s\n got %s\nwant %s", row.operation, row.members, got, row.want)
		}
	}
}

// TestTheRequestCountsInATransaction deletes more than 4 MB of items with a request of a few bytes.
func TestTheRequestCountsInATransaction(t *testing.T) {
	s := openOrders(t)

	var deletes []string
	for n := range 50 {
		key := `{"shop":{"S":"a"},"num":{"N":"` + strings.Repeat("1", n%10+1) + strings.Repeat("2", n/10) + `"}`
		request(t, s, "PutItem", `{"TableName":"orders","Item":`+key+`,"v":{"S":"`+strings.Repeat("x", 100<<10)+`"}}}`)
		deletes = append(deletes, `{"Delete":{"TableName":"orders","Key":`+key+`}}}`)
	}

	if got := request(t, s, "TransactWriteItems", `{"TransactItems":[`+strings.Join(deletes, ",")+`]}`); got != "{}" {
		t.Errorf("50 deletes: %s", got)
	}

	var puts []string
	for n := range 11 {
		puts = append(puts, `{"Put":{"TableName":"orders","Item":{"shop":{"S":"b"},"num":{"N":"`+strings.Repeat("1", n+1)+`"},"v":{"S":"`+strings.Repeat("x", 399<<10)+`"}}}}`)
	}

	if got := request(t, s, "TransactWriteItems", `{"TransactItems":[`+strings.Join(puts, ",")+`]}`); got != "ValidationException: The aggregate size of the items in the transaction exceeds 4 MB" {
		t.Errorf("11 large puts: %s", got)
	}
}

// TestReadsAndUpdatesAsOnAWS has what a suite of another vendor expects, whose authors checked it on AWS.
func TestReadsAndUpdatesAsOnAWS(t *testing.T) {
	s := openOrders(t)
	request(t, s, "CreateTable", `{"TableName":"single","BillingMode":"PAY_PER_REQUEST",`+newTableOf+`}`)
	request(t, s, "PutItem", `{"TableName":"single","Item":{"id":{"S":"there"}}}`)

	for _, row := range []struct{ operation, body, want string }{
		{"UpdateItem", `{"TableName":"single","Key":{"id":{"S":"no"}},"UpdateExpression":"REMOVE a.b, c[0]"}`, "{}"},
		{"GetItem", `{"TableName":"single","Key":{"id":{"S":"no"}}}`, "{}"},
		{"UpdateItem", `{"TableName":"single","Key":{"id":{"S":"no"}},"UpdateExpression":"REMOVE a.b SET n = :n","ExpressionAttributeValues":{":n":{"N":"1"}}}`, "{}"},
		{"GetItem", `{"TableName":"single","Key":{"id":{"S":"no"}}}`, `{"Item":{"id":{"S":"no"},"n":{"N":"1"}}}`},
		{"UpdateItem", `{"TableName":"single","Key":{"id":{"S":"there"}},"UpdateExpression":"REMOVE a.b"}`, "ValidationException: The document path provided in the update expression is invalid for update"},
		{"UpdateItem", `{"TableName":"single","Key":{"id":{"S":"gone"}},"UpdateExpression":"SET a.b = :n","ExpressionAttributeValues":{":n":{"N":"1"}}}`, "ValidationException: The document path provided in the update expression is invalid for update"},
		{"Query", `{"TableName":"single","KeyConditionExpression":"id = :a","ExpressionAttributeValues":{":a":{"S":"a"}},"ExclusiveStartKey":{"id":{"S":"a"}}}`, "ValidationException: The query can return at most one row and cannot be restarted"},
		// The table's key is no condition of the index. Source: https://github.com/dynamoose/dynamoose/issues/992
		{"Query", `{"TableName":"orders","IndexName":"by-state","KeyConditionExpression":"shop = :a","ExpressionAttributeValues":{":a":{"S":"a"}}}`, "ValidationException: Query condition missed key schema element: state"},
		{"Query", `{"TableName":"orders","IndexName":"by-state","KeyConditionExpression":"shop = :a AND num = :n","ExpressionAttributeValues":{":a":{"S":"a"},":n":{"N":"1"}}}`, "ValidationException: Query condition missed key schema element: state"},
	} {
		if got := request(t, s, row.operation, row.body); got != row.want {
			t.Errorf("%s %s\n got %s\nwant %s", row.operation, row.body, got, row.want)
		}
	}

	got := request(t, s, "DeleteTable", `{"TableName":"orders"}`)
	for _, absent := range []string{"AttributeDefinitions", "KeySchema", "CreationDateTime", "GlobalSecondaryIndexes"} {
		if strings.Contains(got, absent) {
			t.Errorf("DeleteTable answers %s: %s", absent, got)
		}
	}
}
