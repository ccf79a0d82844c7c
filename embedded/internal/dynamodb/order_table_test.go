package dynamodb

import (
	"fmt"
	"strings"
	"testing"
)

func TestOrderOfCreateTable(t *testing.T) {
	const (
		single   = `[{"AttributeName":"a","AttributeType":"S"}]`
		pair     = `[{"AttributeName":"a","AttributeType":"S"},{"AttributeName":"b","AttributeType":"S"}]`
		triple   = `[{"AttributeName":"a","AttributeType":"S"},{"AttributeName":"b","AttributeType":"S"},{"AttributeName":"x","AttributeType":"S"}]`
		noKeyDef = invalidOrder + "Invalid KeySchema: Some index key attribute have no definition"
		first    = invalidOrder + "Invalid KeySchema: The first KeySchemaElement is not a HASH key type"
		second   = invalidOrder + "Invalid KeySchema: The second KeySchemaElement is not a RANGE key type"
		sameName = invalidOrder + "Both the Hash Key and the Range Key element in the KeySchema have the same name"
	)
	// index returns a list with one definition of an index.
	index := func(name, keys, projection string) string {
		return `[{"IndexName":"` + name + `","KeySchema":[` + keys + `],"Projection":` + projection + `}]`
	}
	key := func(name, kind string) string { return `{"AttributeName":"` + name + `","KeyType":"` + kind + `"}` }
	undefined := func(keys, definitions string) string {
		return oneInvalid + "Some index key attributes are not defined in AttributeDefinitions. Keys: [" + keys + "], AttributeDefinitions: [" + definitions + "]"
	}
	of := func(keys ...string) string { return strings.Join(keys, ",") }
	local := func(keys, projection string) string { return index("loc", keys, projection) }

	climbAll(t, []ladder{
		{
			name: "keys", operation: "CreateTable", top: `{"TableDescription"`,
			rungs: []rung{
				{"TableName", "", `"fresh"`, invalidOrder + "The parameter 'TableName' is required but was not present in the request"},
				{"BillingMode", `"X"`, `"PAY_PER_REQUEST"`, broken(must("'X'", "billingMode", "satisfy enum value set: [PROVISIONED, PAY_PER_REQUEST]"))},
				{"BillingMode", `"PAY_PER_REQUEST"`, "", oneInvalid + "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST"},
				{"ProvisionedThroughput", `{"ReadCapacityUnits":1000000000001,"WriteCapacityUnits":1000000000001}`, `{"ReadCapacityUnits":1,"WriteCapacityUnits":1000000000001}`, invalidOrder + "Given value 1000000000001 for ReadCapacityUnits is out of bounds"},
				{"ProvisionedThroughput", `{"ReadCapacityUnits":1,"WriteCapacityUnits":1000000000001}`, "", invalidOrder + "Given value 1000000000001 for WriteCapacityUnits is out of bounds"},
				{"ProvisionedThroughput", "", `{"ReadCapacityUnits":1,"WriteCapacityUnits":1}`, oneInvalid + "ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED"},
				{"AttributeDefinitions", `[]`, single, noKeyDef},
				{"AttributeDefinitions", single, triple, noKeyDef},
				{"KeySchema", "[" + of(key("z", "RANGE"), key("z", "HASH")) + "]", "[" + of(key("a", "RANGE"), key("a", "HASH")) + "]", undefined("z", "x, a, b")},
				{"KeySchema", "[" + of(key("a", "RANGE"), key("a", "HASH")) + "]", "[" + of(key("a", "RANGE"), key("b", "HASH")) + "]", sameName},
				{"KeySchema", "[" + of(key("a", "RANGE"), key("b", "HASH")) + "]", "[" + of(key("a", "HASH"), key("b", "HASH")) + "]", first},
				{"KeySchema", "[" + of(key("a", "HASH"), key("b", "HASH")) + "]", "[" + of(key("a", "HASH"), key("b", "RANGE")) + "]", second},
				{"AttributeDefinitions", triple, pair, oneInvalid + "Number of attributes in KeySchema does not exactly match number of attributes defined in AttributeDefinitions"},
			},
		},
		{
			name: "indexes", operation: "CreateTable", top: `{"TableDescription"`,
			rest: `"TableName":"fresh","BillingMode":"PAY_PER_REQUEST","AttributeDefinitions":` + pair,
			rungs: []rung{
				{"LocalSecondaryIndexes", `[]`, local(of(key("c", "RANGE"), key("d", "RANGE")), `{}`), oneInvalid + "List of LocalSecondaryIndexes is empty"},
				{"KeySchema", "[" + key("a", "HASH") + "]", "[" + of(key("a", "HASH"), key("b", "RANGE")) + "]", oneInvalid + "Table KeySchema does not have a range key, which is required when specifying a LocalSecondaryIndex"},
				{"LocalSecondaryIndexes", local(of(key("c", "RANGE"), key("d", "RANGE")), `{}`), local(of(key("b", "RANGE"), key("b", "RANGE")), `{}`), undefined("d, c", "a, b")},
				{"LocalSecondaryIndexes", local(of(key("b", "RANGE"), key("b", "RANGE")), `{}`), local(of(key("b", "RANGE")), `{}`), sameName},
				{"LocalSecondaryIndexes", local(of(key("b", "RANGE")), `{}`), local(of(key("b", "HASH"), key("a", "HASH")), `{}`), first},
				{"LocalSecondaryIndexes", local(of(key("b", "HASH"), key("a", "HASH")), `{}`), local(of(key("b", "HASH")), `{}`), second},
				{"LocalSecondaryIndexes", local(of(key("b", "HASH")), `{}`), local(of(key("b", "HASH"), key("a", "RANGE")), `{}`), oneInvalid + "Index KeySchema does not have a range key for index: loc"},
				{"LocalSecondaryIndexes", local(of(key("b", "HASH"), key("a", "RANGE")), `{}`), local(of(key("a", "HASH"), key("b", "RANGE")), `{"NonKeyAttributes":["v"]}`), oneInvalid + "Index KeySchema does not have the same leading hash key as table KeySchema for index: loc. index hash key: b, table hash key: a"},
				{"LocalSecondaryIndexes", local(of(key("a", "HASH"), key("b", "RANGE")), `{"NonKeyAttributes":["v"]}`), local(of(key("a", "HASH"), key("b", "RANGE")), `{"ProjectionType":"ALL","NonKeyAttributes":["v"]}`), oneInvalid + "Unknown ProjectionType: null"},
				{"LocalSecondaryIndexes", local(of(key("a", "HASH"), key("b", "RANGE")), `{"ProjectionType":"ALL","NonKeyAttributes":["v"]}`), local(of(key("a", "HASH"), key("b", "RANGE")), `{"ProjectionType":"ALL"}`), oneInvalid + "ProjectionType is ALL, but NonKeyAttributes is specified"},
				{"GlobalSecondaryIndexes", `[]`, index("loc", key("c", "RANGE"), `{}`), oneInvalid + "List of GlobalSecondaryIndexes is empty"},
				{"GlobalSecondaryIndexes", index("loc", key("c", "RANGE"), `{}`), index("loc", key("b", "RANGE"), `{}`), undefined("c", "a, b")},
				{"GlobalSecondaryIndexes", index("loc", key("b", "RANGE"), `{}`), index("loc", key("b", "HASH"), `{}`), first},
				{"GlobalSecondaryIndexes", index("loc", key("b", "HASH"), `{}`), index("loc", key("b", "HASH"), `{"ProjectionType":"KEYS_ONLY","NonKeyAttributes":["v"]}`), oneInvalid + "Unknown ProjectionType: null"},
				{"GlobalSecondaryIndexes", index("loc", key("b", "HASH"), `{"ProjectionType":"KEYS_ONLY","NonKeyAttributes":["v"]}`), `[{"IndexName":"loc","KeySchema":[` + key("b", "HASH") + `],"Projection":{"ProjectionType":"ALL"},"ProvisionedThroughput":{"ReadCapacityUnits":1,"WriteCapacityUnits":1}}]`, oneInvalid + "ProjectionType is KEYS_ONLY, but NonKeyAttributes is specified"},
				{"GlobalSecondaryIndexes", `[{"IndexName":"loc","KeySchema":[` + key("b", "HASH") + `],"Projection":{"ProjectionType":"ALL"},"ProvisionedThroughput":{"ReadCapacityUnits":1,"WriteCapacityUnits":1}}]`, index("loc", key("b", "HASH"), `{"ProjectionType":"ALL"}`), oneInvalid + "ProvisionedThroughput should not be specified for index: loc when BillingMode is PAY_PER_REQUEST"},
				{"GlobalSecondaryIndexes", index("loc", key("b", "HASH"), `{"ProjectionType":"ALL"}`), index("glo", key("b", "HASH"), `{"ProjectionType":"ALL"}`), oneInvalid + "Duplicate index name: loc"},
			},
		},
	})
}

func TestOrderOfUpdateTable(t *testing.T) {
	const huge = `{"ReadCapacityUnits":1000000000001,"WriteCapacityUnits":1000000000001}`

	const blocked = invalidOrder + "This operation cannot be performed with given input values. Please contact DynamoDB service team for more info: Action Blocked: IndexUpdate"

	climbAll(t, []ladder{
		{
			name: "a change that is none", operation: "UpdateTable", top: noTable,
			rungs: []rung{
				{"TableName", "", `"absent"`, invalidOrder + "The parameter 'TableName' is required but was not present in the request"},
				{"ProvisionedThroughput", `{"ReadCapacityUnits":1000000000001,"WriteCapacityUnits":-1}`, "", broken(must("'-1'", "provisionedThroughput.writeCapacityUnits", be1))},
				{"GlobalSecondaryIndexUpdates", `[]`, `[{"Delete":{"IndexName":"none"}}]`, invalidOrder + "At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, GlobalSecondaryIndexUpdates or SSESpecification or ReplicaUpdates is required"},
				{"TableName", `"absent"`, `"single"`, noTable + ": Table: absent not found"},
			},
		},
		{
			name: "units and indexes", operation: "UpdateTable", top: `{"TableDescription"`,
			rungs: []rung{
				{"BillingMode", `"X"`, `"PROVISIONED"`, broken(must("'X'", "billingMode", "satisfy enum value set: [PROVISIONED, PAY_PER_REQUEST]"))},
				{"ProvisionedThroughput", "", huge, oneInvalid + "ProvisionedThroughput must be specified when BillingMode is PROVISIONED"},
				{"ProvisionedThroughput", huge, `{"ReadCapacityUnits":1,"WriteCapacityUnits":1}`, invalidOrder + "Given value 1000000000001 for ReadCapacityUnits is out of bounds"},
				{"GlobalSecondaryIndexUpdates", `[{}]`, `[{"Delete":{"IndexName":"one"}},{"Delete":{"IndexName":"one"}}]`, oneInvalid + "One of GlobalSecondaryIndexUpdate.Update, GlobalSecondaryIndexUpdate.Create, GlobalSecondaryIndexUpdate.Delete must not be null"},
				{"GlobalSecondaryIndexUpdates", `[{"Delete":{"IndexName":"one"}},{"Delete":{"IndexName":"one"}}]`, `[{"Update":{"IndexName":"none","ProvisionedThroughput":` + huge + `}}]`, oneInvalid + "Only one global secondary index update per index is allowed simultaneously. Index: one"},
				{"TableName", `"absent"`, `"single"`, noTable + ": Table: absent not found"},
				{"GlobalSecondaryIndexUpdates", `[{"Update":{"IndexName":"none","ProvisionedThroughput":` + huge + `}}]`, "", blocked},
			},
		},
		{
			name: "units of a table on demand", operation: "UpdateTable", top: "LimitExceededException: Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table",
			rest: `"TableName":"single"`,
			rungs: []rung{
				{"ProvisionedThroughput", `{"ReadCapacityUnits":1,"WriteCapacityUnits":1}`, "", oneInvalid + "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST"},
				{"GlobalSecondaryIndexUpdates", `[{"Update":{"IndexName":"none","ProvisionedThroughput":` + huge + `}}]`, `[{"Create":{"IndexName":"one","KeySchema":[{"AttributeName":"a","KeyType":"HASH"}],"Projection":{"ProjectionType":"ALL"}}},{"Delete":{"IndexName":"two"}}]`, blocked},
			},
		},
	})
}

func TestBrokenMembersOfTables(t *testing.T) {
	const nine = `{},{},{},{},{},{},{},{},{}`
	beKeyType := "satisfy enum value set: [HASH, RANGE]"
	definition := "attributeDefinitions.1.member."
	global := "globalSecondaryIndexes.1.member."

	checkRows(t, []requestRow{
		{"CreateTable without anything", "CreateTable", `{"TableName":"abc;"}`,
			broken(must("null", "attributeDefinitions", notBeNull), must("'abc;'", "tableName", matchName), must("null", "keySchema", notBeNull))},
		{"CreateTable with bad units", "CreateTable", `{"TableName":"abc","AttributeDefinitions":[],"KeySchema":[],"ProvisionedThroughput":{"ReadCapacityUnits":-1,"WriteCapacityUnits":-1},"BillingMode":"A"}`,
			broken(must("'A'", "billingMode", "satisfy enum value set: [PROVISIONED, PAY_PER_REQUEST]"), must("'-1'", "provisionedThroughput.writeCapacityUnits", be1),
				must("'-1'", "provisionedThroughput.readCapacityUnits", be1), must("'[]'", "keySchema", have1))},
		{"CreateTable without units", "CreateTable", `{"TableName":"abc","AttributeDefinitions":[],"ProvisionedThroughput":{}}`,
			broken(must("null", "provisionedThroughput.writeCapacityUnits", notBeNull), must("null", "provisionedThroughput.readCapacityUnits", notBeNull), must("null", "keySchema", notBeNull))},
		{"CreateTable with a bad key", "CreateTable", `{"TableName":"abc","AttributeDefinitions":[{}],"KeySchema":[{"KeyType":"HASH"},{"AttributeName":"a"},{"KeyType":"X","AttributeName":"a"}]}`,
			broken(must("null", definition+"attributeName", notBeNull), must("null", definition+"attributeType", notBeNull),
				must("'[KeySchemaElement(attributeName=null, keyType=HASH), KeySchemaElement(attributeName=a, keyType=null), KeySchemaElement(attributeName=a, keyType=X)]'", "keySchema", "have length less than or equal to 2"),
				must("null", "keySchema.1.member.attributeName", notBeNull), must("null", "keySchema.2.member.keyType", notBeNull), must("'X'", "keySchema.3.member.keyType", beKeyType))},
		{"CreateTable with a bad type", "CreateTable", `{"TableName":"abc","AttributeDefinitions":[{"AttributeName":"b","AttributeType":"SS"}],"KeySchema":[{"KeyType":"HASH","AttributeName":"a"}]}`,
			broken(must("'SS'", definition+"attributeType", "satisfy enum value set: [B, N, S]"))},
		{"CreateTable with more than ten faults", "CreateTable", `{"TableName":"abc","AttributeDefinitions":[],"KeySchema":[{"KeyType":"HASH","AttributeName":"a"}],"LocalSecondaryIndexes":[` + nine + `]}`,
			broken(must("null", "localSecondaryIndexes.1.member.indexName", notBeNull), must("null", "localSecondaryIndexes.1.member.keySchema", notBeNull), must("null", "localSecondaryIndexes.1.member.projection", notBeNull),
				must("null", "localSecondaryIndexes.2.member.indexName", notBeNull), must("null", "localSecondaryIndexes.2.member.keySchema", notBeNull), must("null", "localSecondaryIndexes.2.member.projection", notBeNull),
				must("null", "localSecondaryIndexes.3.member.indexName", notBeNull), must("null", "localSecondaryIndexes.3.member.keySchema", notBeNull), must("null", "localSecondaryIndexes.3.member.projection", notBeNull),
				must("null", "localSecondaryIndexes.4.member.indexName", notBeNull))},
		{"CreateTable with bad indexes of both kinds", "CreateTable", `{"TableName":"abc","BillingMode":"PAY_PER_REQUEST","AttributeDefinitions":[],"KeySchema":[{"KeyType":"HASH","AttributeName":"a"}],
			"LocalSecondaryIndexes":[{"IndexName":"aa","KeySchema":[{"KeyType":"HASH","AttributeName":"a"}],"Projection":{}}],
			"GlobalSecondaryIndexes":[{"IndexName":"h;","KeySchema":[],"Projection":{"ProjectionType":"X","NonKeyAttributes":[]},"ProvisionedThroughput":{"ReadCapacityUnits":0,"WriteCapacityUnits":0}}]}`,
			broken(must("'h;'", global+"indexName", matchName), must("'h;'", global+"indexName", have3), must("'[]'", global+"keySchema", have1),
				must("'X'", global+"projection.projectionType", "satisfy enum value set: [ALL, INCLUDE, KEYS_ONLY]"), must("'[]'", global+"projection.nonKeyAttributes", have1),
				must("'0'", global+"provisionedThroughput.writeCapacityUnits", be1), must("'0'", global+"provisionedThroughput.readCapacityUnits", be1),
				must("'aa'", "localSecondaryIndexes.1.member.indexName", have3))},
		{"CreateTable with a short name", "CreateTable", `{"TableName":"ab","AttributeDefinitions":[{"AttributeName":"a","AttributeType":"S"}],"KeySchema":[{"KeyType":"HASH","AttributeName":"a"}]}`,
			broken(must("'ab'", "tableName", have3))},
		{"UpdateTable with bad updates of indexes", "UpdateTable", `{"TableName":"absent","GlobalSecondaryIndexUpdates":[{"Update":{"IndexName":"a","ProvisionedThroughput":{}}},{"Update":{"IndexName":"abc;","ProvisionedThroughput":{"ReadCapacityUnits":1000000000001,"WriteCapacityUnits":0}}},{"Delete":{}}]}`,
			broken(must("'a'", "globalSecondaryIndexUpdates.1.member.update.indexName", have3),
				must("null", "globalSecondaryIndexUpdates.1.member.update.provisionedThroughput.writeCapacityUnits", notBeNull), must("null", "globalSecondaryIndexUpdates.1.member.update.provisionedThroughput.readCapacityUnits", notBeNull),
				must("'abc;'", "globalSecondaryIndexUpdates.2.member.update.indexName", matchName), must("'0'", "globalSecondaryIndexUpdates.2.member.update.provisionedThroughput.writeCapacityUnits", be1),
				must("null", "globalSecondaryIndexUpdates.3.member.delete.indexName", notBeNull))},
		{"UpdateTable with an empty update of an index", "UpdateTable", `{"TableName":"absent","GlobalSecondaryIndexUpdates":[{"Update":{}}]}`,
			broken(must("null", "globalSecondaryIndexUpdates.1.member.update.indexName", notBeNull), must("null", "globalSecondaryIndexUpdates.1.member.update.provisionedThroughput", notBeNull))},
		{"UpdateTable with a new index without members", "UpdateTable", `{"TableName":"absent","GlobalSecondaryIndexUpdates":[{"Create":{}}]}`,
			broken(must("null", "globalSecondaryIndexUpdates.1.member.create.indexName", notBeNull), must("null", "globalSecondaryIndexUpdates.1.member.create.keySchema", notBeNull),
				must("null", "globalSecondaryIndexUpdates.1.member.create.projection", notBeNull))},
		{"UpdateTable with a bad type", "UpdateTable", `{"TableName":"absent","AttributeDefinitions":[{"AttributeName":"b","AttributeType":"SS"}]}`,
			broken(must("'SS'", definition+"attributeType", "satisfy enum value set: [B, N, S]"))},
		{"UpdateTable with a bad class", "UpdateTable", `{"TableName":"absent","TableClass":"X"}`,
			broken(must("'X'", "tableClass", "satisfy enum value set: [STANDARD, STANDARD_INFREQUENT_ACCESS]"))},
		{"UpdateTable with a bad name", "UpdateTable", `{"TableName":"abc;","BillingMode":"PAY_PER_REQUEST"}`, broken(must("'abc;'", "tableName", matchName))},
		{"too many local indexes", "CreateTable", `{"TableName":"abc","BillingMode":"PAY_PER_REQUEST","AttributeDefinitions":[{"AttributeName":"a","AttributeType":"S"},{"AttributeName":"b","AttributeType":"S"}],
			"KeySchema":[{"KeyType":"HASH","AttributeName":"a"},{"KeyType":"RANGE","AttributeName":"b"}],"LocalSecondaryIndexes":[` + manyIndexes(6) + `]}`,
			oneInvalid + "Number of LocalSecondaryIndexes exceeds per-table limit of 5"},
		{"too many global indexes", "CreateTable", `{"TableName":"abc","BillingMode":"PAY_PER_REQUEST","AttributeDefinitions":[{"AttributeName":"a","AttributeType":"S"},{"AttributeName":"b","AttributeType":"S"}],
			"KeySchema":[{"KeyType":"HASH","AttributeName":"a"},{"KeyType":"RANGE","AttributeName":"b"}],"GlobalSecondaryIndexes":[` + manyIndexes(21) + `]}`,
			oneInvalid + "GlobalSecondaryIndex count exceeds the per-table limit of 20"},
	})
}

// manyIndexes returns n definitions of indexes on a and b.
func manyIndexes(n int) string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf(`{"IndexName":"index%d","KeySchema":[{"AttributeName":"a","KeyType":"HASH"},{"AttributeName":"b","KeyType":"RANGE"}],"Projection":{"ProjectionType":"ALL"}}`, i)
	}

	return strings.Join(all, ",")
}
