package dynamodb

import (
	"fmt"
	"strings"
	"testing"
)

// redefined is a table whose attributes are keys of each kind: pk and sk of the table, l of a local index, and g of
// a global one.
const redefined = `{"TableName":"kinds","BillingMode":"PAY_PER_REQUEST",
	"KeySchema":[{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"sk","KeyType":"RANGE"}],
	"AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"},{"AttributeName":"sk","AttributeType":"S"},
		{"AttributeName":"l","AttributeType":"S"},{"AttributeName":"g","AttributeType":"S"}],
	"LocalSecondaryIndexes":[{"IndexName":"local","KeySchema":[{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"l","KeyType":"RANGE"}],
		"Projection":{"ProjectionType":"ALL"}}],
	"GlobalSecondaryIndexes":[{"IndexName":"global","KeySchema":[{"AttributeName":"g","KeyType":"HASH"}],"Projection":{"ProjectionType":"ALL"}}]}`

// addAnother is an UpdateTable that adds an index, whose hash key is the attribute, and calls it a number.
func addAnother(attribute string) string {
	return fmt.Sprintf(`{"TableName":"kinds","AttributeDefinitions":[{"AttributeName":%q,"AttributeType":"N"}],"GlobalSecondaryIndexUpdates":[{"Create":`+
		`{"IndexName":"another","KeySchema":[{"AttributeName":%q,"KeyType":"HASH"}],"Projection":{"ProjectionType":"ALL"}}}]}`, attribute, attribute)
}

// TestAnIndexDoesNotRedefineATypeInUse: an attribute that is part of a key has the type that it had, whatever a
// later request calls it. The service takes the request, ignores the other type, and describes the first one. So
// items of the first type are written and found as before, by the new index too, and no item of the other type is.
// Source: https://github.com/paritysuite/dynamodb-conformance/issues/78, observed on the service
func TestAnIndexDoesNotRedefineATypeInUse(t *testing.T) {
	const first, second = `{"pk":{"S":"1"},"sk":{"S":"2"},"l":{"S":"3"},"g":{"S":"4"}}`, `{"pk":{"S":"5"},"sk":{"S":"2"},"l":{"S":"3"},"g":{"S":"4"}}`

	for _, attribute := range []string{"pk", "sk", "l", "g"} {
		t.Run(attribute, func(t *testing.T) {
			dir := t.TempDir()
			s, stop := openService(t, dir)

			mustAnswer(t, s, "CreateTable", redefined)
			mustAnswer(t, s, "PutItem", `{"TableName":"kinds","Item":`+first+`}`)

			if got := mustAnswer(t, s, "UpdateTable", addAnother(attribute)); strings.Contains(got, `"AttributeType":"N"`) {
				t.Errorf("the answer describes the new type: %s", got)
			}
			stop()

			// Also a table that is read from the disk has the first type.
			s, stop = openService(t, dir)
			defer stop()

			if got := mustAnswer(t, s, "DescribeTable", `{"TableName":"kinds"}`); !strings.Contains(got, fmt.Sprintf(`{"AttributeName":%q,"AttributeType":"S"}`, attribute)) {
				t.Errorf("the first type is gone: %s", got)
			}
			mustAnswer(t, s, "PutItem", `{"TableName":"kinds","Item":`+second+`}`)

			if got := request(t, s, "Scan", `{"TableName":"kinds","IndexName":"another","Select":"COUNT"}`); got != `{"Count":2,"ScannedCount":2}` {
				t.Errorf("the new index has %s", got)
			}

			number := strings.Replace(second, attribute+`":{"S"`, attribute+`":{"N"`, 1)
			if got := request(t, s, "PutItem", `{"TableName":"kinds","Item":`+number+`}`); !strings.Contains(got, "Type mismatch for") {
				t.Errorf("an item of the other type: %s", got)
			}
		})
	}
}

// TestATypeCanBeDefinedAgainWithoutAKey: the definition goes with the last index that uses it. Then another index
// can have another type.
// Source: https://github.com/nubo-db/dynoxide/issues/131, observed on the service
func TestATypeCanBeDefinedAgainWithoutAKey(t *testing.T) {
	s, stop := openService(t, t.TempDir())
	defer stop()

	mustAnswer(t, s, "CreateTable", redefined)
	mustAnswer(t, s, "PutItem", `{"TableName":"kinds","Item":{"pk":{"S":"1"},"sk":{"S":"2"},"g":{"S":"4"}}}`)

	got := mustAnswer(t, s, "UpdateTable", `{"TableName":"kinds","GlobalSecondaryIndexUpdates":[{"Delete":{"IndexName":"global"}}]}`)
	if strings.Contains(got, `"AttributeName":"g"`) {
		t.Errorf("the definition is still there: %s", got)
	}

	got = mustAnswer(t, s, "UpdateTable", addAnother("g"))
	if !strings.Contains(got, `{"AttributeName":"g","AttributeType":"N"}`) {
		t.Errorf("the new definition is not there: %s", got)
	}
	mustAnswer(t, s, "PutItem", `{"TableName":"kinds","Item":{"pk":{"S":"2"},"sk":{"S":"2"},"g":{"N":"4"}}}`)

	// The item with a text stays out of the index.
	if got := request(t, s, "Scan", `{"TableName":"kinds","IndexName":"another","Select":"COUNT"}`); got != `{"Count":1,"ScannedCount":1}` {
		t.Errorf("the new index has %s", got)
	}
}

// TestADefinitionThatStandsTwice is refused in all requests that define attributes.
// Source: finding DDB-TABLE-127 of ack-api-quirks, services/dynamodb, recorded on the service
func TestADefinitionThatStandsTwice(t *testing.T) {
	s, stop := openService(t, t.TempDir())
	defer stop()

	mustAnswer(t, s, "CreateTable", redefined)

	twice := func(request, name string) string {
		return strings.Replace(request, `"AttributeDefinitions":[`, fmt.Sprintf(`"AttributeDefinitions":[{"AttributeName":%q,"AttributeType":"B"},`, name), 1)
	}
	for operation, body := range map[string]string{
		"CreateTable": twice(strings.Replace(redefined, `"kinds"`, `"other"`, 1), "g"),
		"UpdateTable": twice(addAnother("g"), "g"),
	} {
		if got := request(t, s, operation, body); got != invalidOrder+"Attribute Name is duplicated: g" {
			t.Errorf("%s: %s", operation, got)
		}
	}
}
