package dynamodb

import (
	"fmt"
	"testing"
)

const duplicates = invalidOrder + "Provided list of item keys contains duplicates"

func TestOrderOfBatches(t *testing.T) {
	// of returns RequestItems for one table.
	of := func(table, request string) string { return `{"` + table + `":` + request + `}` }
	const (
		one      = `"Keys":[{"a":{"S":"a"}}]`
		twice    = `"Keys":[{"a":{"N":"1"}},{"a":{"N":"1"}}]`
		mismatch = invalidOrder + "The provided key element does not match the schema"
	)

	climbAll(t, []ladder{
		{
			name: "BatchGetItem", operation: "BatchGetItem", top: `{"Responses"`,
			rungs: []rung{
				{"ReturnConsumedCapacity", `"X"`, "", broken(must("'X'", "returnConsumedCapacity", beCapacity))},
				{"RequestItems", of("absent", `{`+twice+`,"AttributesToGet":["v","v"],"ProjectionExpression":""}`), of("absent", `{`+twice+`,"AttributesToGet":["v","v"],"ExpressionAttributeNames":{"#a":"a"}}`), invalidOrder + "Can not use both expression and non-expression parameters in the same request: Non-expression parameters: {AttributesToGet} Expression parameters: {ProjectionExpression}"},
				// The place in the order is that of GetItem; the service's for a batch is not recorded.
				{"RequestItems", of("absent", `{`+twice+`,"AttributesToGet":["v","v"],"ExpressionAttributeNames":{"#a":"a"}}`), of("absent", `{`+twice+`,"AttributesToGet":["v","v"]}`), invalidOrder + "ExpressionAttributeNames can only be specified when using expressions"},
				{"RequestItems", of("absent", `{`+twice+`,"AttributesToGet":["v","v"]}`), of("absent", `{`+twice+`,"ExpressionAttributeNames":{},"ProjectionExpression":""}`), oneInvalid + "Duplicate value in attribute name: v"},
				{"RequestItems", of("absent", `{`+twice+`,"ExpressionAttributeNames":{},"ProjectionExpression":""}`), of("absent", `{`+twice+`,"ProjectionExpression":""}`), invalidOrder + "ExpressionAttributeNames must not be empty"},
				{"RequestItems", of("absent", `{`+twice+`,"ProjectionExpression":""}`), of("absent", `{`+twice+`}`), invalidOrder + "Invalid ProjectionExpression: The expression can not be empty;"},
				{"RequestItems", of("absent", `{`+twice+`}`), of("absent", `{"Keys":[{"a":{"N":"1"}}]}`), duplicates},
				{"RequestItems", of("absent", `{"Keys":[{"a":{"N":"1"}}]}`), of("single", `{"Keys":[{"a":{"N":"1"}}]}`), noTable},
				{"RequestItems", of("single", `{"Keys":[{"a":{"N":"1"}}]}`), of("single", `{`+one+`}`), mismatch},
			},
		},
		{
			name: "BatchWriteItem", operation: "BatchWriteItem", top: `{"UnprocessedItems"`,
			rungs: []rung{
				{"ReturnItemCollectionMetrics", `"X"`, "", broken(must("'X'", "returnItemCollectionMetrics", beMetrics))},
				{"RequestItems", of("absent", `[{"PutRequest":{"Item":{"a":{}}}},{}]`), of("absent", `[{"PutRequest":{"Item":{"a":{}}}},{"PutRequest":{"Item":{"a":{"N":"1"}}}},{"DeleteRequest":{"Key":{"a":{"N":"1"}}}}]`), invalidOrder + "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes"},
				{"RequestItems", of("absent", `[{"PutRequest":{"Item":{"a":{}}}},{"PutRequest":{"Item":{"a":{"N":"1"}}}},{"DeleteRequest":{"Key":{"a":{"N":"1"}}}}]`), of("absent", `[{"PutRequest":{"Item":{"a":{"S":"a"}}}},{"DeleteRequest":{"Key":{"a":{"S":"a"}}}}]`), invalidOrder + empty},
				{"RequestItems", of("absent", `[{"PutRequest":{"Item":{"a":{"S":"a"}}}},{"DeleteRequest":{"Key":{"a":{"S":"a"}}}}]`), of("single", `[{"PutRequest":{"Item":{"a":{"N":"1"}}}}]`), noTable},
				{"RequestItems", of("single", `[{"PutRequest":{"Item":{"a":{"N":"1"}}}}]`), of("single", `[{"PutRequest":{"Item":{"a":{"S":"a"}}}},{"DeleteRequest":{"Key":{"a":{"S":"a"}}}}]`), mismatch},
				{"RequestItems", of("single", `[{"PutRequest":{"Item":{"a":{"S":"a"}}}},{"DeleteRequest":{"Key":{"a":{"S":"a"}}}}]`), of("single", `[{"PutRequest":{"Item":{"a":{"S":"a"}}}}]`), duplicates},
			},
		},
	})
}

func TestOrderOfTransactions(t *testing.T) {
	const (
		syntax = invalidOrder + `Invalid ConditionExpression: Syntax error; token: "<EOF>", near: "("`
		unused = invalidOrder + "Value provided in ExpressionAttributeValues unused in expressions: keys: {:v}"
		twice  = invalidOrder + "Transaction request cannot include multiple operations on one item"
	)
	items := func(parts string) string { return "[" + parts + "]" }
	put := func(table, id string) string {
		return fmt.Sprintf(`{"Put":{"TableName":%q,"Item":{"a":{"S":%q}}}}`, table, id)
	}
	check := func(rest string) string {
		return `{"ConditionCheck":{"TableName":"single","Key":{"a":{"S":"x"}},` + rest + `}}`
	}
	bad := check(`"ConditionExpression":"attribute_not_exists("`)
	extra := check(`"ConditionExpression":"attribute_not_exists(a)","ExpressionAttributeValues":{":v":{"S":"x"}}`)
	fine := check(`"ConditionExpression":"attribute_not_exists(a)"`)
	get := func(table, rest string) string {
		return fmt.Sprintf(`{"Get":{"TableName":%q,"Key":{"a":{"S":"x"}}%s}}`, table, rest)
	}

	climbAll(t, []ladder{
		{
			name: "TransactWriteItems", operation: "TransactWriteItems", top: `{}`,
			rungs: []rung{
				{"ReturnConsumedCapacity", `"X"`, "", broken(must("'X'", "returnConsumedCapacity", beCapacity))},
				{"TransactItems", items(put("absent", "a") + "," + bad), items(bad + `,{"Put":{"TableName":"single","Item":{"a":{}}}}`), syntax},
				{"TransactItems", items(bad + `,{"Put":{"TableName":"single","Item":{"a":{}}}}`), items(`{"Put":{"TableName":"single","Item":{"a":{}}}},` + bad), syntax},
				{"TransactItems", items(`{"Put":{"TableName":"single","Item":{"a":{}}}},` + bad), items(put("absent", "a") + "," + extra), invalidOrder + empty},
				{"TransactItems", items(put("absent", "a") + "," + extra), items(extra + "," + put("absent", "a")), unused},
				{"TransactItems", items(extra + "," + put("absent", "a")), items(put("single", "x") + "," + extra), unused},
				{"TransactItems", items(put("single", "x") + "," + extra), items(put("single", "x") + "," + fine), unused},
				{"TransactItems", items(put("single", "x") + "," + fine), items(put("single", "a") + "," + fine), twice},
			},
		},
		{
			name: "TransactGetItems", operation: "TransactGetItems", top: `{"Responses"`,
			rungs: []rung{
				{"ReturnConsumedCapacity", `"X"`, "", broken(must("'X'", "returnConsumedCapacity", beCapacity))},
				{"TransactItems", items(get("absent", "") + "," + get("single", `,"ProjectionExpression":""`)), items(get("absent", "") + "," + get("single", "")), invalidOrder + "Invalid ProjectionExpression: The expression can not be empty;"},
				{"TransactItems", items(get("absent", "") + "," + get("single", "")), items(get("single", "") + "," + get("single", "")), noTable},
				{"TransactItems", items(get("single", "") + "," + get("single", "")), items(get("single", "")), twice},
			},
		},
	})
}

func TestBrokenMembersOfBatches(t *testing.T) {
	const (
		keyRules   = "failed to satisfy constraint: Map keys must satisfy constraint: [Member must have length less than or equal to 255, Member must have length greater than or equal to 3, Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+]"
		valueRules = "failed to satisfy constraint: Map value must satisfy constraint: [Member must have length less than or equal to 25, Member must have length greater than or equal to 1]"
		token      = "0123456789012345678901234567890123456"
	)
	capacity := must("'X'", "returnConsumedCapacity", beCapacity)
	metrics := must("'X'", "returnItemCollectionMetrics", beMetrics)

	checkRows(t, []requestRow{
		{"BatchGetItem with a bad name", "BatchGetItem", `{"RequestItems":{"bad!name":{"Keys":[{"pk":{"S":"a"}}]}},"ReturnConsumedCapacity":"X"}`,
			broken(`Value '{"bad!name":{"Keys":[{"pk":{"S":"a"}}]}}' at 'requestItems' `+keyRules, capacity)},
		{"BatchGetItem with a bad name and a bad value", "BatchGetItem", `{"RequestItems":{"bad!name":{"Keys":[{"pk":{}}]}}}`,
			broken(`Value '{"bad!name":{"Keys":[{"pk":{}}]}}' at 'requestItems' ` + keyRules)},
		{"BatchGetItem without keys", "BatchGetItem", `{"RequestItems":{"absent":{},"single":{"Keys":[]}}}`,
			broken(must("null", "requestItems.absent.member.keys", notBeNull), must("'[]'", "requestItems.single.member.keys", have1))},
		{"BatchGetItem without anything", "BatchGetItem", `{}`, broken(must("null", "requestItems", notBeNull))},
		{"BatchGetItem without tables", "BatchGetItem", `{"RequestItems":{}}`, invalidOrder + "The requestItems parameter is required for BatchGetItem"},
		{"BatchWriteItem with a bad name and a bad enum", "BatchWriteItem", `{"RequestItems":{"bad!name":[{"PutRequest":{"Item":{"pk":{"S":"a"}}}}]},"ReturnConsumedCapacity":"X"}`, broken(capacity)},
		{"BatchWriteItem with a bad name", "BatchWriteItem", `{"RequestItems":{"bad!name":[{"PutRequest":{"Item":{"pk":{"S":"a"}}}}]}}`, broken("Value '{bad!name=[1 requests]}' at 'requestItems' " + keyRules)},
		{"BatchWriteItem with two bad enums", "BatchWriteItem", `{"RequestItems":{"absent":[{"PutRequest":{"Item":{"a":{"S":"a"}}}}]},"ReturnConsumedCapacity":"X","ReturnItemCollectionMetrics":"X"}`, broken(capacity, metrics)},
		{"BatchWriteItem without requests", "BatchWriteItem", `{"RequestItems":{"absent":[]}}`, broken("Value '{absent=[0 requests]}' at 'requestItems' " + valueRules)},
		{"BatchWriteItem with empty requests", "BatchWriteItem", `{"RequestItems":{"absent":[{"PutRequest":{},"DeleteRequest":{}}]}}`,
			broken(must("null", "requestItems.absent.member.1.member.deleteRequest.key", notBeNull), must("null", "requestItems.absent.member.1.member.putRequest.item", notBeNull))},
		{"TransactWriteItems with a long token", "TransactWriteItems", `{"TransactItems":[{"Put":{"TableName":"absent","Item":{"a":{"S":"a"}}}}],"ClientRequestToken":"` + token + `","ReturnConsumedCapacity":"X","ReturnItemCollectionMetrics":"X"}`,
			broken(must("'"+token+"'", "clientRequestToken", "have length less than or equal to 36"), capacity, metrics)},
		{"TransactGetItems with a bad enum", "TransactGetItems", `{"TransactItems":[{"Get":{"TableName":"absent","Key":{"a":{"S":"a"}}}}],"ReturnConsumedCapacity":"X"}`, broken(capacity)},
	})
}
