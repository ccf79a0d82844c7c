package dynamodb

import (
	"fmt"
	"strings"
	"testing"
)

// Answers that https://github.com/nubo-db/dynamodb-conformance has recorded on the service, by its folder
// and test. A row without a test follows the same rule, in a case that the suite does not record.
func TestRecordedMessages(t *testing.T) {
	const (
		unquoted = oneBroken + "Value at '%s' failed to satisfy constraint: Member must %s"
		canceled = "TransactionCanceledException: Transaction cancelled, please refer cancellation reasons for specific reasons [%s]"
		mismatch = invalidOrder + "The provided key element does not match the schema"
	)
	keys := func(n int) string { return strings.Repeat(`{"a":{"S":"x"}},`, n-1) + `{"a":{"S":"x"}}` }
	capacity := must("'X'", "returnConsumedCapacity", beCapacity)

	checkRows(t, []requestRow{
		{"tier3/error-messages/query Limit of 0", "Query", `{"TableName":"single","Limit":0}`, fmt.Sprintf(unquoted, "Limit", be1)},
		{"tier3/error-messages/scan Limit of 0: full minimum-value error", "Scan", `{"TableName":"single","Limit":0}`, broken(must("'0'", "limit", be1))},
		// https://github.com/paritysuite/dynamodb-conformance tests/tier3/error-messages/queryKeyConditionOperands.test.ts,
		// "three conditions naming three attributes on a two-attribute key - exact message"
		{"three conditions on a key of two attributes", "Query",
			`{"TableName":"ranged","KeyConditionExpression":"a = :p AND b > :p AND extra = :p","ExpressionAttributeValues":{":p":{"S":"q"}}}`,
			invalidOrder + "The number of query conditions (3) exceeds the number of key attributes defined in the schema (2)"},
		{"Query with two members that break the model", "Query", `{"TableName":"single","Limit":0,"ReturnConsumedCapacity":"X"}`, broken(capacity, must("'0'", "limit", be1))},

		{"tier3/error-messages/batchGetItem empty RequestItems: full required-parameter error", "BatchGetItem", `{"RequestItems":{}}`,
			invalidOrder + "The requestItems parameter is required for BatchGetItem"},
		{"tier3/error-messages/batchGetItem > 100 keys across all tables: interpolated full error", "BatchGetItem", `{"RequestItems":{"single":{"Keys":[` + keys(101) + `]}}}`,
			fmt.Sprintf(unquoted, "RequestItems.single.member.Keys", "have length less than or equal to 100")},
		{"BatchGetItem without keys", "BatchGetItem", `{"RequestItems":{"single":{"Keys":[]}}}`, fmt.Sprintf(unquoted, "RequestItems.single.member.Keys", have1)},
		{"BatchGetItem with a table that has no Keys", "BatchGetItem", `{"RequestItems":{"single":{}}}`, broken(must("null", "requestItems.single.member.keys", notBeNull))},
		{"BatchGetItem without tables and with a bad enum", "BatchGetItem", `{"RequestItems":{},"ReturnConsumedCapacity":"X"}`, broken(must("'{}'", "requestItems", have1), capacity)},
		{"tier3/error-messages/batchWriteItem empty RequestItems: full required-parameter error", "BatchWriteItem", `{"RequestItems":{}}`,
			invalidOrder + "The requestItems parameter is required for BatchWriteItem"},

		{"tier3/error-messages/transactGetItems missing key attribute: action-level ValidationError surfaces as TransactionCanceledException", "TransactGetItems",
			`{"TransactItems":[{"Get":{"TableName":"single","Key":{}}}]}`, fmt.Sprintf(canceled, "ValidationError")},
		{"a transaction of reads, the second with a key of another type", "TransactGetItems",
			`{"TransactItems":[{"Get":{"TableName":"single","Key":{"a":{"S":"x"}}}},{"Get":{"TableName":"single","Key":{"a":{"N":"1"}}}}]}`, fmt.Sprintf(canceled, "None, ValidationError")},
		{"a transaction of reads, the first with a key of another type, the second of a table that is not there", "TransactGetItems",
			`{"TransactItems":[{"Get":{"TableName":"single","Key":{"a":{"N":"1"}}}},{"Get":{"TableName":"absent","Key":{"a":{"S":"x"}}}}]}`, noTable},
		{"a transaction of writes, the first without its key", "TransactWriteItems",
			`{"TransactItems":[{"Delete":{"TableName":"single","Key":{}}},{"Put":{"TableName":"single","Item":{"a":{"S":"x"}}}}]}`, fmt.Sprintf(canceled, "ValidationError, None")},
		{"a transaction of writes, the first an item without its key", "TransactWriteItems",
			`{"TransactItems":[{"Put":{"TableName":"single","Item":{"b":{"S":"x"}}}},{"Put":{"TableName":"single","Item":{"a":{"S":"x"}}}}]}`, fmt.Sprintf(canceled, "ValidationError, None")},
		{"a transaction of a read with an empty key", "TransactGetItems", `{"TransactItems":[{"Get":{"TableName":"single","Key":{"a":{"S":""}}}}]}`,
			invalidOrder + "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: a"},

		// https://github.com/paritysuite/dynamodb-conformance tests/tier3/error-messages/batchWriteItem.test.ts,
		// "item without the partition key: full schema-mismatch message" and the one after it.
		{"BatchWriteItem of an item without its key", "BatchWriteItem", `{"RequestItems":{"single":[{"PutRequest":{"Item":{"b":{"S":"x"}}}}]}}`, mismatch},
		{"BatchWriteItem of a key without its attribute", "BatchWriteItem", `{"RequestItems":{"single":[{"DeleteRequest":{"Key":{"b":{"S":"x"}}}}]}}`, mismatch},
	})
}

// The table of an ARN in another account is denied, whether it exists or not. A table that does not
// exist in the caller's own account is not found. The account 000000000000 exists on no AWS.
// Source: https://github.com/nubo-db/dynamodb-conformance tests/tier2/tags/basic.test.ts, "rejects
// ListTagsOfResource with a non-existent ARN", and https://github.com/turbot/steampipe-plugin-aws/issues/1516
func TestTagsOfTables(t *testing.T) {
	const arn = "arn:aws:dynamodb:us-east-1:%s:table/%s"
	deniedOf := func(caller, account, table string) string {
		return fmt.Sprintf("AccessDeniedException: User: arn:aws:iam::%s:root is not authorized to perform: dynamodb:ListTagsOfResource on resource: "+arn+
			" because no resource-based policy allows the dynamodb:ListTagsOfResource action", caller, account, table)
	}
	denied := func(caller, table string) string { return deniedOf(caller, "000000000000", table) }
	s := openOrdered(t)

	for _, r := range []struct{ engine, account, table, want string }{
		{"000000000000", "000000000000", "single", `{"Tags":[]}`},
		{"000000000000", "000000000000", "absent", denied("000000000000", "absent")},
		{"123456789012", "123456789012", "single", `{"Tags":[]}`},
		{"123456789012", "123456789012", "absent", "ResourceNotFoundException: Requested resource not found: ResourcArn: " + fmt.Sprintf(arn, "123456789012", "absent") + " not found"},
		{"123456789012", "000000000000", "absent", denied("123456789012", "absent")},
		{"123456789012", "000000000000", "single", denied("123456789012", "single")},
		{"000000000000", "123456789012", "single", deniedOf("000000000000", "123456789012", "single")},
		{"123456789012", "210987654321", "absent", deniedOf("123456789012", "210987654321", "absent")},
	} {
		s.cfg.AccountID = r.engine
		if got := request(t, s, "ListTagsOfResource", fmt.Sprintf(`{"ResourceArn":%q}`, fmt.Sprintf(arn, r.account, r.table))); got != r.want {
			t.Errorf("%s of %s, asked as %s\n got %s\nwant %s", r.table, r.account, r.engine, got, r.want)
		}
	}
}
