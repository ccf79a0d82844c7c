//go:build conformance

package conformance

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// withUpdatedTable creates the table on whose updates checkInvalidTables tries faults. The tables
// that it makes, it drops.
func withUpdatedTable(t testing.TB, s *sides) {
	s.withTable(t, "updated", createTable("updated", "h:S", ""))
}

const (
	oneUnit     = `{"ReadCapacityUnits":1,"WriteCapacityUnits":1}`
	hashKey     = `{"AttributeName":"a","KeyType":"HASH"}`
	rangeKey    = `{"AttributeName":"b","KeyType":"RANGE"}`
	wholeItem   = `{"ProjectionType":"ALL"}`
	definitions = `[{"AttributeName":"a","AttributeType":"S"},{"AttributeName":"b","AttributeType":"S"}]`
)

// index returns a list with the definition of an index. An empty text leaves a member out.
func index(name, keys, projection, more string) string {
	return "[" + members{}.with(members{"IndexName": name, "KeySchema": keys, "Projection": projection, "ProvisionedThroughput": more}).body() + "]"
}

func keys(elements ...string) string { return "[" + strings.Join(elements, ",") + "]" }

// faultyIndexes are the faults of an index that both kinds have.
func faultyIndexes(member string) []members {
	return []members{
		{member: `[]`}, {member: index(`"i;"`, keys(hashKey, rangeKey), wholeItem, "")}, {member: index("", keys(hashKey, rangeKey), wholeItem, "")},
		{member: index(`"one"`, "", wholeItem, "")}, {member: index(`"one"`, `[]`, wholeItem, "")}, {member: index(`"one"`, keys(hashKey, `{"AttributeName":"z","KeyType":"RANGE"}`), wholeItem, "")},
		{member: index(`"one"`, keys(`{"AttributeName":"a","KeyType":"RANGE"}`), wholeItem, "")}, {member: index(`"one"`, keys(hashKey, hashKey), wholeItem, "")},
		{member: index(`"one"`, keys(hashKey, rangeKey), "", "")},
		{member: index(`"one"`, keys(hashKey, rangeKey), `{}`, "")}, {member: index(`"one"`, keys(hashKey, rangeKey), `{"ProjectionType":"X"}`, "")},
		{member: index(`"one"`, keys(hashKey, rangeKey), `{"ProjectionType":"ALL","NonKeyAttributes":["v"]}`, "")}, {member: index(`"one"`, keys(hashKey, rangeKey), `{"ProjectionType":"INCLUDE"}`, "")},
	}
}

var (
	faultyCreate = faulty{"CreateTable",
		members{"TableName": `"made"`, "KeySchema": keys(hashKey, rangeKey), "AttributeDefinitions": definitions, "BillingMode": `"PAY_PER_REQUEST"`},
		append(append([]members{
			{"TableName": ""}, {"TableName": `"a;"`}, {"TableName": `"ab"`}, {"KeySchema": ""}, {"KeySchema": `[]`}, {"KeySchema": keys(`{"AttributeName":"a","KeyType":"RANGE"}`)},
			{"KeySchema": keys(hashKey, hashKey)}, {"KeySchema": keys(hashKey, `{"AttributeName":"b","KeyType":"HASH"}`)}, {"KeySchema": keys(hashKey, `{"AttributeName":"z","KeyType":"RANGE"}`)},
			{"KeySchema": keys(hashKey, `{"AttributeName":"b","KeyType":"X"}`)}, {"AttributeDefinitions": ""}, {"AttributeDefinitions": `[]`},
			{"KeySchema": keys(hashKey), "AttributeDefinitions": definitions, "LocalSecondaryIndexes": ""},
			{"KeySchema": keys(hashKey), "AttributeDefinitions": definitions, "LocalSecondaryIndexes": index(`"one"`, keys(hashKey, rangeKey), wholeItem, "")},
			{"AttributeDefinitions": `[{"AttributeName":"a","AttributeType":"S"}]`}, {"AttributeDefinitions": `[{"AttributeName":"a","AttributeType":"X"},{"AttributeName":"b","AttributeType":"S"}]`},
			{"BillingMode": `"X"`}, {"BillingMode": "", "ProvisionedThroughput": ""}, {"BillingMode": `"PAY_PER_REQUEST"`, "ProvisionedThroughput": oneUnit}, {"BillingMode": "", "ProvisionedThroughput": `{"ReadCapacityUnits":0,"WriteCapacityUnits":1}`},
			{"BillingMode": "", "ProvisionedThroughput": `{"ReadCapacityUnits":1}`}, {"StreamSpecification": `{"StreamEnabled":true,"StreamViewType":"X"}`}, {"StreamSpecification": `{"StreamEnabled":true}`},
			{"LocalSecondaryIndexes": index(`"one"`, keys(hashKey, `{"AttributeName":"b","KeyType":"HASH"}`), wholeItem, "")},
			{"LocalSecondaryIndexes": index(`"one"`, keys(hashKey), wholeItem, "")}, {"LocalSecondaryIndexes": index(`"one"`, keys(`{"AttributeName":"b","KeyType":"HASH"}`, `{"AttributeName":"a","KeyType":"RANGE"}`), wholeItem, "")},
			{"GlobalSecondaryIndexes": index(`"one"`, keys(hashKey, rangeKey), wholeItem, oneUnit)},
		}, faultyIndexes("GlobalSecondaryIndexes")...), faultyIndexes("LocalSecondaryIndexes")...)}

	faultyUpdate = faulty{"UpdateTable",
		members{"TableName": `"updated"`, "BillingMode": `"PAY_PER_REQUEST"`},
		[]members{
			{"TableName": ""}, {"TableName": `"absent"`}, {"TableName": `"a;"`}, {"BillingMode": `"X"`}, {"BillingMode": `"PROVISIONED"`, "ProvisionedThroughput": ""}, {"ProvisionedThroughput": oneUnit},
			{"ProvisionedThroughput": `{"ReadCapacityUnits":0,"WriteCapacityUnits":1}`}, {"ProvisionedThroughput": `{"ReadCapacityUnits":1}`}, {"BillingMode": ""},
			{"GlobalSecondaryIndexUpdates": `[{}]`}, {"GlobalSecondaryIndexUpdates": `[{"Delete":{"IndexName":"none"}}]`}, {"GlobalSecondaryIndexUpdates": `[{"Delete":{}}]`},
			{"GlobalSecondaryIndexUpdates": `[{"Delete":{"IndexName":"i;"}}]`}, {"GlobalSecondaryIndexUpdates": `[{"Delete":{"IndexName":"none"}},{"Delete":{"IndexName":"none"}}]`},
			{"GlobalSecondaryIndexUpdates": `[{"Update":{"IndexName":"none","ProvisionedThroughput":` + oneUnit + `}}]`}, {"GlobalSecondaryIndexUpdates": `[{"Update":{"IndexName":"none"}}]`},
			{"GlobalSecondaryIndexUpdates": `[{"Create":{"IndexName":"one","KeySchema":[{"AttributeName":"z","KeyType":"HASH"}],"Projection":{"ProjectionType":"ALL"}}}]`},
		}}
)

func checkInvalidTables(t *rapid.T, s *sides) {
	if rapid.Bool().Draw(t, "create") {
		faultyCreate.check(t, s)
		return
	}

	faultyUpdate.check(t, s)
}
