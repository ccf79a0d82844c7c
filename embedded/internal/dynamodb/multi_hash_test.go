package dynamodb

import (
	"fmt"
	"strings"
	"testing"
)

// Source: https://docs.rs/crate/dynoxide-rs/3.2.0/source/tests/multi_attribute_keys.rs, whose table,
// items and answers were recorded on the service.
func TestQueryOfAPartitionKeyOfSeveralAttributes(t *testing.T) {
	s, closeService := openService(t, t.TempDir())
	defer closeService()

	mustAnswer(t, s, "CreateTable", multiTable("pairs", "h1:S h2:N / s:N", "ALL"))
	mustAnswer(t, s, "CreateTable", multiTable("bytes", "h:S / n1:N bb:B", "KEYS_ONLY"))

	for _, item := range []string{
		`"pk":{"S":"q1"},"h1":{"S":"g"},"h2":{"N":"1"},"s":{"N":"-5"}`,
		`"pk":{"S":"q2"},"h1":{"S":"g"},"h2":{"N":"1"},"s":{"N":"10"}`,
		`"pk":{"S":"q3"},"h1":{"S":"g"},"h2":{"N":"1"},"s":{"N":"2.5"}`,
		`"pk":{"S":"q4"},"h1":{"S":"g"},"h2":{"N":"2"},"s":{"N":"7"}`,
		`"pk":{"S":"q5"},"h1":{"S":"g"},"s":{"N":"1"}`, // no h2: not in the index
		`"pk":{"S":"q6"},"h1":{"S":"g"},"h2":{"N":"1.0"},"s":{"N":"100"}`,
	} {
		mustAnswer(t, s, "PutItem", `{"TableName":"pairs","Item":{`+item+`}}`)
	}

	for _, item := range []string{
		`"pk":{"S":"r1"},"h":{"S":"n"},"n1":{"N":"-10"},"bb":{"B":"AA=="}`,
		`"pk":{"S":"r2"},"h":{"S":"n"},"n1":{"N":"2"},"bb":{"B":"/w=="}`,
		`"pk":{"S":"r3"},"h":{"S":"n"},"n1":{"N":"2"},"bb":{"B":"AQ=="}`,
		`"pk":{"S":"r4"},"h":{"S":"n"},"n1":{"N":"10"},"bb":{"B":"AA=="}`,
		`"pk":{"S":"r5"},"h":{"S":"n"},"n1":{"N":"0.5"},"bb":{"B":"EA=="}`,
		`"pk":{"S":"r6"},"h":{"S":"n"},"n1":{"N":"2"}`, // no bb: not in the index
		`"pk":{"S":"r7"},"h":{"S":"n"},"n1":{"N":"2"},"bb":{"B":"AAE="}`,
	} {
		mustAnswer(t, s, "PutItem", `{"TableName":"bytes","Item":{`+item+`}}`)
	}

	const mismatch = oneInvalid + "Condition parameter type does not match schema type"

	for _, row := range []struct{ table, condition, values, more, want string }{
		{"pairs", "h1 = :g AND h2 = :one", ":g=g :one=#1", "", "q1 q3 q2 q6"},
		{"pairs", "s > :z AND h2 = :one AND h1 = :g", ":g=g :one=#1 :z=#0", "", "q3 q2 q6"},
		{"pairs", "h1 = :g", ":g=g", "", fmt.Sprintf(noHash, "h2")},
		{"pairs", "h1 = :g AND h2 > :one", ":g=g :one=#1", "", fmt.Sprintf(noHash, "h2")},
		{"pairs", "s = :one", ":one=#1", "", fmt.Sprintf(noHash, "h1, h2")},
		{"pairs", "h2 = :one", ":one=#1", "", fmt.Sprintf(noHash, "h1")},
		{"pairs", "h1 = :one AND h2 = :one", ":one=#1", "", mismatch},
		{"pairs", "h1 = :g AND h2 = :g", ":g=g", "", mismatch},
		{"pairs", "h1 = :g AND h2 = :one AND s = :g", ":g=g :one=#1", "", mismatch},
		{"bytes", "h = :h", ":h=n", "", "r1 r5 r7 r3 r2 r4"},
		{"bytes", "h = :h", ":h=n", backward, "r4 r2 r3 r7 r5 r1"},
		{"bytes", "h = :h AND n1 = :two AND bb > :b", ":h=n :two=#2.0 :b=$AA==", "", "r7 r3 r2"},
		{"bytes", "h = :h AND n1 = :two AND begins_with(bb, :p)", ":h=n :two=#2 :p=$AA==", "", "r7"},
		{"bytes", "h = :h AND n1 BETWEEN :lo AND :hi", ":h=n :lo=#0 :hi=#5", "", "r5 r7 r3 r2"},
	} {
		if got := found(request(t, s, "Query", multiQuery(row.table, row.condition, row.values, row.more))); got != row.want {
			t.Errorf("%s %s\n got %s\nwant %s", row.table, row.condition, got, row.want)
		}
	}
}

// An item moves in the index with each attribute of its key, and leaves it without one.
func TestWritesOfSeveralKeyAttributes(t *testing.T) {
	s := openMulti(t)
	all := func() string { return found(mustAnswer(t, s, "Query", multiQuery("orders", "h = :h", ":h=o1", ""))) }
	update := func(pk, expression, values string) string {
		return fmt.Sprintf(`{"TableName":"orders","Key":{"pk":{"S":%q}},"UpdateExpression":%q%s,"ReturnConsumedCapacity":"INDEXES"}`, pk, expression, values)
	}

	// Two entries are written: the old one is deleted.
	const moved = `"GlobalSecondaryIndexes":{"gsi":{"CapacityUnits":2.0}}`
	answer := mustAnswer(t, s, "UpdateItem", update("p1", "SET d = :d, c = :c", `,"ExpressionAttributeValues":{":c":{"S":"a"},":d":{"S":"r0"}}`))
	if got := all(); got != "p5 p4 p1 p3 p2" || !strings.Contains(answer, moved) {
		t.Errorf("after a move: %s, %s", got, answer)
	}

	mustAnswer(t, s, "UpdateItem", update("p4", "REMOVE b", ""))

	if got := all(); got != "p5 p1 p3 p2" {
		t.Errorf("after an attribute of the key went: %s", got)
	}

	mustAnswer(t, s, "UpdateItem", update("p6", "SET c = :c", `,"ExpressionAttributeValues":{":c":{"S":"z"}}`))

	if got := all(); got != "p5 p1 p3 p2 p6" {
		t.Errorf("after an attribute of the key came: %s", got)
	}

	mustAnswer(t, s, "DeleteItem", `{"TableName":"orders","Key":{"pk":{"S":"p3"}}}`)

	if got := all(); got != "p5 p1 p2 p6" {
		t.Errorf("after a deletion: %s", got)
	}

	// Source: "every_attribute_of_a_multi_attribute_key_is_type_checked_on_write" of dynoxide-rs 3.2.0
	const mismatch = oneInvalid + "Type mismatch for Index Key c Expected: S Actual: N IndexName: gsi"
	if got := request(t, s, "PutItem", `{"TableName":"orders","Item":{"pk":{"S":"w1"},"c":{"N":"1"}}}`); got != mismatch {
		t.Errorf("a value of another type: %s", got)
	}

	long := func(n int) string { return strings.Repeat("x", n) }

	tooLong := fmt.Sprintf(`{"TableName":"orders","Item":{"pk":{"S":"w1"},"a":{"S":%q},"b":{"S":%q}}}`, long(512), long(513))
	const aggregated = oneInvalid + "Aggregated size of all range keys has exceeded the size limit of 1024 bytes"
	if got := request(t, s, "PutItem", tooLong); got != aggregated {
		t.Errorf("a sort key of 1025 bytes: %s", got)
	}
}

// Source: "a_gsi_key_schema_is_checked_against_the_multi_attribute_rules" and
// "a_local_secondary_index_takes_one_sort_key_attribute" of dynoxide-rs 3.2.0, recorded on the service
func TestKeySchemasOfSeveralAttributes(t *testing.T) {
	s, closeService := openService(t, t.TempDir())
	defer closeService()

	const exceeds = oneInvalid + "The KeySchema exceeds the maximum allowed number of %s key attributes"
	for _, row := range []struct{ key, want string }{
		{"a:S b:S c:S d:S e:S", fmt.Sprintf(exceeds, "HASH")},
		{"h:S / a:S b:S c:S d:S e:S", fmt.Sprintf(exceeds, "RANGE")},
		{"h:S / a:S a:S", invalidOrder + "The KeySchema contains multiple key attributes with the same name"},
		{"h:S h:S", invalidOrder + "The KeySchema contains multiple key attributes with the same name"},
		{"h:S / h:S", invalidOrder + "Both the Hash Key and the Range Key element in the KeySchema have the same name"},
		{"/ a:S b:S c:S", invalidOrder + "Invalid KeySchema: The first KeySchemaElement is not a HASH key type"},
	} {
		if got := request(t, s, "CreateTable", multiTable("refused", row.key, "ALL")); got != row.want {
			t.Errorf("%s\n got %s\nwant %s", row.key, got, row.want)
		}
	}

	nine := request(t, s, "CreateTable", multiTable("refused", "a:S b:S c:S d:S / e:S f:S g:S h:S i:S", "ALL"))
	if !strings.Contains(nine, "at 'globalSecondaryIndexes.1.member.keySchema' failed to satisfy constraint: Member must have length less than or equal to 8") {
		t.Errorf("nine attributes: %s", nine)
	}

	interleaved := strings.Replace(multiTable("refused", "h:S a:S b:S", "ALL"), `"a","KeyType":"HASH"`, `"a","KeyType":"RANGE"`, 1)
	if got := request(t, s, "CreateTable", interleaved); got != oneInvalid+"All HASH key attributes must precede RANGE key attributes in the KeySchema" {
		t.Errorf("an interleaved key: %s", got)
	}

	local := strings.Replace(multiTable("refused", "h:S / a:S b:S", "ALL"), "GlobalSecondaryIndexes", "LocalSecondaryIndexes", 1)
	if got := request(t, s, "CreateTable", local); !strings.Contains(got, "at 'localSecondaryIndexes.1.member.keySchema' failed to satisfy constraint: Member must have length less than or equal to 2") {
		t.Errorf("a local index: %s", got)
	}

	mustAnswer(t, s, "CreateTable", multiTable("eight", "a:S b:S c:S d:S / e:S f:S g:S h:S", "ALL"))

	schema, _ := multiSchema("a:S b:S c:S d:S / e:S f:S g:S h:S")
	if got := mustAnswer(t, s, "DescribeTable", `{"TableName":"eight"}`); !strings.Contains(got, `"KeySchema":[`+schema+`]`) {
		t.Errorf("DescribeTable of four and four: %s", got)
	}
}

// Source: https://docs.rs/crate/dynoxide-rs/3.2.0/source/tests/attribute_definition_messages.rs,
// "an_undefined_index_key_attribute_names_the_first_index_missing_one", recorded on the service
func TestKeySchemasWithoutDefinitions(t *testing.T) {
	s, closeService := openService(t, t.TempDir())
	defer closeService()

	undefined := strings.Replace(multiTable("refused", "h:S / a:S zz:S", "ALL"), `,{"AttributeName":"zz","AttributeType":"S"}`, "", 1)
	if got := request(t, s, "CreateTable", undefined); got != oneInvalid+"Some index key attributes are not defined in AttributeDefinitions. Keys: [h, zz, a], AttributeDefinitions: [h, a, pk]" {
		t.Errorf("an attribute without a definition: %s", got)
	}

	few := strings.Replace(undefined, `{"AttributeName":"h","AttributeType":"S"},`, "", 1)
	if got := request(t, s, "CreateTable", few); got != invalidOrder+"Invalid KeySchema: Some index key attribute have no definition" {
		t.Errorf("fewer definitions than attributes: %s", got)
	}
}

// An index of several attributes that is added to a table has its items, also after the engine opens
// again.
func TestAddAnIndexOfSeveralAttributes(t *testing.T) {
	dir := t.TempDir()
	s, closeService := openService(t, dir)

	mustAnswer(t, s, "CreateTable", `{"TableName":"orders","BillingMode":"PAY_PER_REQUEST","KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}],
		"AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"}]}`)

	for _, item := range orderItems {
		mustAnswer(t, s, "PutItem", `{"TableName":"orders","Item":`+item+`}`)
	}

	schema, kinds := multiSchema("h:S a:S / b:S c:S")
	mustAnswer(t, s, "UpdateTable", `{"TableName":"orders","AttributeDefinitions":[`+definitionsOf(kinds)+`],"GlobalSecondaryIndexUpdates":[{"Create":{
		"IndexName":"gsi","KeySchema":[`+schema+`],"Projection":{"ProjectionType":"KEYS_ONLY"}}}]}`)

	query := multiQuery("orders", "h = :h AND a = :a AND b = :b", ":h=o1 :a=T :b=live", "")

	first := mustAnswer(t, s, "Query", query)
	if got := found(first); got != "p2 p3 p1" && got != "p3 p2 p1" {
		t.Errorf("after the index was added: %s", got)
	}

	closeService()

	s, closeService = openService(t, dir)
	defer closeService()

	if got := mustAnswer(t, s, "Query", query); got != first {
		t.Errorf("after the engine opened again\n got %s\nwant %s", got, first)
	}
}

// PartiQL reads the table, and not its index of several attributes.
// Source: https://github.com/paritysuite/dynamodb-conformance
// tests/tier3/error-messages/partiqlMultiAttributeIndex.test.ts and tests/tier2/partiql/multiAttributeIndex.test.ts
func TestStatementsOnAnIndexOfSeveralAttributes(t *testing.T) {
	s := openMulti(t)

	const (
		refused  = "PartiQL statements cannot be executed on tables with multi-attribute HASH keys or multi-attribute RANGE keys."
		unformed = invalidOrder + "Statement wasn't well formed, can't be processed: "
	)

	for _, row := range []struct{ statement, more, want string }{
		{`SELECT * FROM "orders"."gsi" WHERE h = 'o1'`, "", invalidOrder + refused},
		{`SELECT pk FROM "orders"."gsi" WHERE h = 'o1' AND a = 'T' ORDER BY b DESC`, "", invalidOrder + refused},
		{`SELECT * FROM "orders"."gsi" WHERE h = 5`, "", invalidOrder + refused},
		{`SELECT * FROM "orders"."gsi" WHERE id = 'i1'`, "", invalidOrder + refused},
		{`SELECT * FROM "orders"."gsi"`, "", invalidOrder + refused},
		{`SELECT * FROM "orders"."gsi" WHERE h = 'o1'`, `,"ConsistentRead":true`, invalidOrder + refused},
		{`SELECT * FROM "orders"."gsi" WHERE h = 'o1'`, `,"NextToken":"garbage"`, invalidOrder + refused},
		{`SELECT * FROM "orders"."gsi" WHERE`, "", unformed + "Unexpected term"},
		{`SELECT * FROM "orders"."none" WHERE h = 'o1'`, "", invalidOrder + "The table does not have the specified index"},
		{`SELECT pk FROM "orders" WHERE pk = 'p1'`, "", `{"Items":[{"pk":{"S":"p1"}}]}`},
		{`UPDATE "orders" SET n = 1 WHERE pk = 'p1'`, "", `{"Items":[]}`},
	} {
		if got := execute(t, s, row.statement, row.more); got != row.want {
			t.Errorf("%s%s\n got %s\nwant %s", row.statement, row.more, got, row.want)
		}
	}

	batch := request(t, s, "BatchExecuteStatement", `{"Statements":[{"Statement":"SELECT * FROM \"orders\".\"gsi\" WHERE h = 'o1'"},{"Statement":"SELECT pk FROM orders WHERE pk = 'p2'"}]}`)
	if want := `{"Responses":[{"Error":{"Code":"ValidationError","Message":"` + refused + `"}},{"Item":{"pk":{"S":"p2"}},"TableName":"orders"}]}`; batch != want {
		t.Errorf("a batch\n got %s\nwant %s", batch, want)
	}
}

// The request that adds an index defines all of its keys, also the keys that the table defines already. It
// cannot change the kind of a defined attribute.
// Source: https://github.com/nubo-db/dynoxide/issues/144, https://github.com/alexdebrie/dynamodbguide.com/issues/16
// and https://github.com/paritysuite/dynamodb-conformance/issues/78, all observed on the service
func TestDefinitionsOfAnAddedIndex(t *testing.T) {
	s := openMulti(t)
	add := func(definitions string) string {
		return request(t, s, "UpdateTable", `{"TableName":"orders","AttributeDefinitions":[`+definitions+`],"GlobalSecondaryIndexUpdates":[{"Create":{"IndexName":"added",
			"KeySchema":[{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"g","KeyType":"RANGE"}],"Projection":{"ProjectionType":"ALL"}}}]}`)
	}
	const (
		newOne = `{"AttributeName":"g","AttributeType":"S"}`
		stored = `{"AttributeName":"pk","AttributeType":"S"}`
	)

	if got := add(newOne); got != invalidOrder+"Invalid KeySchema: Some index key attribute have no definition" {
		t.Errorf("without the key of the table: %s", got)
	}

	if got := add(newOne + "," + strings.Replace(stored, `"S"`, `"N"`, 1)); !strings.Contains(got, stored) || strings.Contains(got, `"AttributeType":"N"`) {
		t.Errorf("with another kind for the key of the table: %s", got)
	}

	mustAnswer(t, s, "PutItem", `{"TableName":"orders","Item":{"pk":{"S":"p9"},"g":{"S":"x"}}}`)
}

// Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_Projection.html
func TestHowManyAttributesIndexesProject(t *testing.T) {
	s, closeService := openService(t, t.TempDir())
	defer closeService()

	create := func(counts ...int) string {
		var indexes []string
		for i, count := range counts {
			names := make([]string, count)
			for n := range names {
				names[n] = fmt.Sprintf(`"n%d"`, n)
			}

			indexes = append(indexes, fmt.Sprintf(`{"IndexName":"index-%d","KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}],"Projection":{"ProjectionType":"INCLUDE","NonKeyAttributes":[%s]}}`,
				i, strings.Join(names, ",")))
		}

		return request(t, s, "CreateTable", `{"TableName":"many","BillingMode":"PAY_PER_REQUEST","KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}],
			"AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"}],"GlobalSecondaryIndexes":[`+strings.Join(indexes, ",")+`]}`)
	}

	if got := create(21); !strings.Contains(got, "at 'globalSecondaryIndexes.1.member.projection.nonKeyAttributes' failed to satisfy constraint: Member must have length less than or equal to 20") {
		t.Errorf("21 attributes: %s", got)
	}

	if got := create(20, 20, 20, 20, 20, 1); got != oneInvalid+"NonKeyAttributes count exceeds the limit of 100" {
		t.Errorf("101 attributes: %s", got)
	}

	if got := create(20, 20, 20, 20, 20); !strings.HasPrefix(got, "{") {
		t.Errorf("100 attributes: %s", got)
	}
}
