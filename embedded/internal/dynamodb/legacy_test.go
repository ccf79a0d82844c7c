package dynamodb

import (
	"strings"
	"testing"
)

// TestLegacyParameters sends requests in order and compares the whole answers. tests/conformance
// compares the answers of DynamoDB Local to the same requests.
func TestLegacyParameters(t *testing.T) {
	s, closeService := openService(t, t.TempDir())
	defer closeService()

	request(t, s, "CreateTable", `{"TableName":"orders","BillingMode":"PAY_PER_REQUEST",
		"KeySchema":[{"AttributeName":"h","KeyType":"HASH"},{"AttributeName":"r","KeyType":"RANGE"}],
		"AttributeDefinitions":[{"AttributeName":"h","AttributeType":"S"},{"AttributeName":"r","AttributeType":"N"}]}`)

	const (
		eq      = `{"ComparisonOperator":"EQ","AttributeValueList":[{"S":"p"}]}`
		keys    = `"KeyConditions":{"h":` + eq + `}`
		invalid = "ValidationException: "
		values  = invalid + "One or more parameter values were invalid: "
	)

	for _, tt := range []struct{ operation, body, want string }{
		{"PutItem", `"Item":{"h":{"S":"p"},"r":{"N":"1"},"v":{"N":"5"},"l":{"L":[{"S":"a"}]}},"Expected":{"h":{"Exists":false}}`, `{}`},
		{"PutItem", `"Item":{"h":{"S":"p"},"r":{"N":"1"}},"Expected":{"h":{"Exists":false}}`, "ConditionalCheckFailedException: The conditional request failed"},
		{"PutItem", `"Item":{"h":{"S":"p"},"r":{"N":"2"},"v":{"N":"7"}}`, `{}`},
		{"UpdateItem", `"Key":{"h":{"S":"p"},"r":{"N":"1"}},"AttributeUpdates":{"v":{"Action":"ADD","Value":{"N":"1"}},"l":{"Action":"ADD","Value":{"L":[{"S":"b"}]}}},
			"Expected":{"v":{"Value":{"N":"5"}},"x":{"ComparisonOperator":"NOT_NULL"}},"ConditionalOperator":"OR","ReturnValues":"UPDATED_NEW"`,
			`{"Attributes":{"l":{"L":[{"S":"a"},{"S":"b"}]},"v":{"N":"6"}}}`},
		{"UpdateItem", `"Key":{"h":{"S":"p"},"r":{"N":"1"}},"AttributeUpdates":{"v":{"Action":"ADD","Value":{"SS":["a"]}}}`, invalid + "Type mismatch for attribute to update"},
		{"UpdateItem", `"Key":{"h":{"S":"p"},"r":{"N":"1"}},"AttributeUpdates":{"r":{"Action":"DELETE"}}`,
			values + "Cannot update attribute r. This attribute is part of the key"},
		{"UpdateItem", `"Key":{"h":{"S":"p"},"r":{"N":"9"}},"AttributeUpdates":{"v":{"Action":"DELETE"}},"ReturnValues":"ALL_NEW"`, `{"Attributes":{"h":{"S":"p"},"r":{"N":"9"}}}`},
		{"DeleteItem", `"Key":{"h":{"S":"p"},"r":{"N":"1"}},"Expected":{"v":{"ComparisonOperator":"IN","AttributeValueList":[{"N":"1"},{"N":"2"}]}}`,
			"ConditionalCheckFailedException: The conditional request failed"},
		{"Query", keys + `,"AttributesToGet":["r"]`, `{"Items":[{"r":{"N":"1"}},{"r":{"N":"2"}}],"Count":2,"ScannedCount":2}`},
		{"Query", keys + `,"QueryFilter":{"v":{"ComparisonOperator":"BETWEEN","AttributeValueList":[{"N":"6"},{"N":"8"}]},"l":{"ComparisonOperator":"NOT_CONTAINS","AttributeValueList":[{"S":"b"}]}}`,
			`{"Items":[],"Count":0,"ScannedCount":2}`},
		{"Query", `"KeyConditions":{"h":` + eq + `,"r":{"ComparisonOperator":"GT","AttributeValueList":[{"N":"1"}]}},"FilterExpression":"v = :v","ExpressionAttributeValues":{":v":{"N":"7"}},"ProjectionExpression":"v"`,
			`{"Items":[{"v":{"N":"7"}}],"Count":1,"ScannedCount":1}`},
		{"Query", keys + `,"KeyConditionExpression":"h = :h","ExpressionAttributeValues":{":h":{"S":"p"}}`,
			invalid + "Can not use both expression and non-expression parameters in the same request: Non-expression parameters: {KeyConditions} Expression parameters: {KeyConditionExpression}"},
		{"Query", keys + `,"QueryFilter":{"r":{"ComparisonOperator":"NULL"}}`, invalid + "QueryFilter can only contain non-primary key attributes: Primary key attribute: r"},
		{"Query", `"KeyConditions":{"h":` + eq + `,"r":{"ComparisonOperator":"NE","AttributeValueList":[{"N":"1"}]}}`, invalid + "Attempted conditional constraint is not an indexable operation"},
		{"Query", `"KeyConditions":{"h":{"AttributeValueList":[{"S":"p"}]}}`, invalid + "1 validation error detected: Value null at 'keyConditions.h.member.comparisonOperator' failed to satisfy constraint: Member must not be null"},
		{"Scan", `"ScanFilter":{"v":{"ComparisonOperator":"LT","AttributeValueList":[{"N":"7"}]}},"AttributesToGet":["v"]`, `{"Items":[{"v":{"N":"6"}}],"Count":1,"ScannedCount":2}`},
		{"Scan", `"ScanFilter":{"v":{"ComparisonOperator":"LT","AttributeValueList":[{"BOOL":true}]}}`, values + "ComparisonOperator LT is not valid for BOOL AttributeValue type"},
		{"Scan", `"ConditionalOperator":"OR"`, invalid + "ConditionalOperator cannot be used without Filter or Expected"},
		{"Scan", `"AttributesToGet":["v","v"]`, values + "Duplicate value in attribute name: v"},
		{"GetItem", `"Key":{"h":{"S":"p"},"r":{"N":"2"}},"AttributesToGet":["v","x"]`, `{"Item":{"v":{"N":"7"}}}`},
	} {
		got := request(t, s, tt.operation, `{"TableName":"orders",`+tt.body+`}`)
		if got != tt.want {
			t.Errorf("%s %s\n got %s\nwant %s", tt.operation, strings.Join(strings.Fields(tt.body), " "), got, tt.want)
		}
	}
}
