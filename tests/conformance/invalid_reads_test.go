//go:build conformance

package conformance

import (
	"testing"

	"pgregory.net/rapid"
)

// withInvalidTable creates the table on whose requests checkInvalidReads tries faults: a key of h
// and r, an index on s, and one item.
func withInvalidTable(t testing.TB, s *sides) {
	s.withTable(t, "generated", `{"TableName":"generated","BillingMode":"PAY_PER_REQUEST",
		"KeySchema":[{"AttributeName":"h","KeyType":"HASH"},{"AttributeName":"r","KeyType":"RANGE"}],
		"AttributeDefinitions":[{"AttributeName":"h","AttributeType":"S"},{"AttributeName":"r","AttributeType":"N"},{"AttributeName":"s","AttributeType":"S"}],
		"GlobalSecondaryIndexes":[{"IndexName":"by-s","KeySchema":[{"AttributeName":"s","KeyType":"HASH"}],"Projection":{"ProjectionType":"KEYS_ONLY"}}]}`)
	s.quietly(t, "PutItem", `{"TableName":"generated","Item":{"h":{"S":"p"},"r":{"N":"1"},"s":{"S":"x"},"v":{"N":"1"}}}`)
}

// readFaults are faults of the members that Query and Scan have in common.
var readFaults = []members{
	{"TableName": `"absent"`}, {"TableName": `"a;"`}, {"TableName": ""}, {"TableName": `""`},
	{"IndexName": `"none"`}, {"IndexName": `"i;"`},
	{"Select": `"COUNT"`}, {"Select": `"ALL_ATTRIBUTES"`}, {"Select": `"X"`}, {"Select": `"SPECIFIC_ATTRIBUTES"`, "ProjectionExpression": ""},
	{"Limit": "0"}, {"Limit": "-1"}, {"ReturnConsumedCapacity": `"X"`},
	{"ExclusiveStartKey": `{"h":{"S":"p"}}`}, {"ExclusiveStartKey": `{"h":{"N":"1"},"r":{"N":"0"}}`}, {"ExclusiveStartKey": `{"h":{},"r":{"N":"0"}}`}, {"ExclusiveStartKey": `{"h":{"S":"p"},"r":{"N":"x"}}`},
	{"FilterExpression": `"v = :n AND"`}, {"FilterExpression": `""`}, {"FilterExpression": `"v IN (:n, :none)"`}, {"FilterExpression": `"status = :n"`},
	{"ProjectionExpression": `"v,"`}, {"ProjectionExpression": `"#a"`}, {"ProjectionExpression": `""`}, {"ProjectionExpression": `"v, v"`},
	{"ExpressionAttributeNames": `{}`}, {"ExpressionAttributeNames": `{"#unused":"w"}`}, {"ExpressionAttributeNames": `{"a":"v"}`},
	{"ExpressionAttributeValues": `{}`}, {"ExpressionAttributeValues": `{"h":{"S":"p"}}`},
	{"ExpressionAttributeValues": `{":h":{"S":"p"},":n":{"N":"x"}}`}, {"ExpressionAttributeValues": `{":h":{"S":"p"},":n":{"N":"1"},":unused":{"N":"1"}}`},
	{"AttributesToGet": `["v"]`}, {"AttributesToGet": `[]`}, {"ConditionalOperator": `"OR"`}, {"ConditionalOperator": `"X"`},
}

// legacyReadFaults are faults of the legacy parameters that Query and Scan have in common. The
// filter has another name in each operation.
func legacyReadFaults(filter string) []members {
	return []members{
		{"TableName": `"absent"`}, {"TableName": `"a;"`},
		{"AttributesToGet": `["v","v"]`}, {"AttributesToGet": `[]`}, {"ConditionalOperator": `"X"`}, {"ConditionalOperator": `"OR"`},
		{filter: `{"v":{"ComparisonOperator":"EQ"}}`}, {filter: `{"v":{"ComparisonOperator":"EQ","AttributeValueList":[{}]}}`}, {filter: `{"v":{"ComparisonOperator":"X"}}`},
		{filter: `{"v":{}}`}, {filter: `{"v":{"ComparisonOperator":"LT","AttributeValueList":[{"BOOL":true}]}}`},
		{"ExclusiveStartKey": `{"h":{"S":"p"}}`}, {"ExclusiveStartKey": `{"h":{},"r":{"N":"0"}}`},
		{"FilterExpression": `"v ="`}, {"ExpressionAttributeNames": `{"#a":"v"}`}, {"ExpressionAttributeValues": `{":n":{"N":"1"}}`},
	}
}

var (
	faultyQuery = faulty{"Query",
		members{"TableName": `"generated"`, "KeyConditionExpression": `"h = :h"`, "FilterExpression": `"v = :n"`, "ProjectionExpression": `"v"`, "ExpressionAttributeValues": `{":h":{"S":"p"},":n":{"N":"1"}}`},
		append([]members{
			{"KeyConditionExpression": `"s = :h"`}, {"KeyConditionExpression": `"h = :h AND v = :h"`}, {"KeyConditionExpression": `"h > :h"`}, {"KeyConditionExpression": `"h = :h OR r = :n"`},
			{"KeyConditionExpression": `"h = :h AND r = :h"`}, {"KeyConditionExpression": `"h.x = :h"`}, {"KeyConditionExpression": `"h ="`}, {"KeyConditionExpression": `""`},
			{"KeyConditionExpression": `"h = :h AND begins_with(r, :n)"`}, {"KeyConditionExpression": `"h = :h AND size(r) = :n"`}, {"KeyConditionExpression": `"h = :h AND h = :h"`},
			{"KeyConditionExpression": `"h = :h AND r = :n AND v = :n"`}, {"FilterExpression": `"h = :n"`}, {"FilterExpression": `"r.x = :n"`}, {"ExclusiveStartKey": `{"h":{"S":"q"},"r":{"N":"0"}}`},
			{"IndexName": `"by-s"`, "ConsistentRead": `true`, "KeyConditionExpression": `"s = :h"`},
		}, readFaults...)}

	faultyScan = faulty{"Scan",
		members{"TableName": `"generated"`, "FilterExpression": `"v IN (:n, :h)"`, "ProjectionExpression": `"v"`, "ExpressionAttributeValues": `{":h":{"S":"p"},":n":{"N":"1"}}`},
		append([]members{
			{"Segment": "0", "TotalSegments": ""}, {"Segment": "-1", "TotalSegments": "1"}, {"Segment": "", "TotalSegments": "1"}, {"Segment": "0", "TotalSegments": "0"}, {"Segment": "2", "TotalSegments": "2"},
			{"IndexName": `"by-s"`, "ConsistentRead": `true`},
		}, readFaults...)}

	faultyLegacyQuery = faulty{"Query",
		members{"TableName": `"generated"`, "KeyConditions": `{"h":{"ComparisonOperator":"EQ","AttributeValueList":[{"S":"p"}]}}`},
		append([]members{
			{"KeyConditions": ""}, {"KeyConditions": `{"h":{"ComparisonOperator":"EQ","AttributeValueList":[{"N":"1"}]}}`}, {"KeyConditions": `{"h":{"ComparisonOperator":"NE","AttributeValueList":[{"S":"p"}]}}`},
			{"KeyConditions": `{"h":{"ComparisonOperator":"EQ","AttributeValueList":[{"S":"p"}]},"v":{"ComparisonOperator":"EQ","AttributeValueList":[{"N":"1"}]}}`},
			{"KeyConditions": `{"v":{"ComparisonOperator":"EQ","AttributeValueList":[{"N":"1"}]}}`}, {"KeyConditions": `{"h":{"ComparisonOperator":"EQ"}}`}, {"KeyConditions": `{"h":{}}`}, {"KeyConditions": `{}`},
		}, legacyReadFaults("QueryFilter")...)}

	faultyLegacyScan = faulty{"Scan", members{"TableName": `"generated"`, "ScanFilter": `{"v":{"ComparisonOperator":"NOT_NULL"}}`}, legacyReadFaults("ScanFilter")}
)

func checkInvalidReads(t *rapid.T, s *sides) {
	rapid.SampledFrom([]faulty{faultyQuery, faultyScan, faultyLegacyQuery, faultyLegacyScan}).Draw(t, "operation").check(t, s)
}
