package dynamodb

import (
	"fmt"
	"strings"
	"testing"

	"ratchet/embedded/internal/dynamodb/keyspace"
)

// A write costs the units of the larger of an index's two entries, and of both if the entry moves. A
// transaction costs double.
// Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.html#GSI.ThroughputConsiderations.Writes
func TestCostOfEntries(t *testing.T) {
	s, stop := openService(t, t.TempDir())
	defer stop()

	mustAnswer(t, s, "CreateTable", multiTable("costs", "h1:S h2:N / s1:S", "ALL"))

	put := func(part string, bytes int) string {
		return fmt.Sprintf(`"TableName":"costs","Item":{"pk":{"S":"a"},"h1":{"S":"g"},"h2":{"N":"1"},%s"v":{"S":%q}}`, part, strings.Repeat("v", bytes))
	}

	for _, row := range []struct {
		name, item string
		want       string // the units of the index, empty for none
	}{
		{"an entry of two KB", put(`"s1":{"S":"s"},`, 2000), "2.0"},
		{"the same", put(`"s1":{"S":"s"},`, 2000), ""},
		{"a smaller one", put(`"s1":{"S":"s"},`, 10), "2.0"},
		{"a larger one", put(`"s1":{"S":"s"},`, 4000), "4.0"},
		{"another key", put(`"s1":{"S":"t"},`, 10), "5.0"},
		{"no entry", put("", 10), "1.0"},
		{"still none", put("", 20), ""},
		{"a first one of 1,024 bytes", put(`"s1":{"S":"s"},`, 1010), "1.0"},
		{"one byte more", put(`"s1":{"S":"s"},`, 1011), "2.0"},
	} {
		got := mustAnswer(t, s, "PutItem", `{`+row.item+`,"ReturnConsumedCapacity":"INDEXES"}`)
		if want := `"gsi":{"CapacityUnits":` + row.want + `}`; row.want != "" && !strings.Contains(got, want) || row.want == "" && strings.Contains(got, "gsi") {
			t.Errorf("%s: want %q: %s", row.name, row.want, got)
		}
	}

	got := mustAnswer(t, s, "TransactWriteItems", `{"TransactItems":[{"Put":{`+put(`"s1":{"S":"t"},`, 10)+`}}],"ReturnConsumedCapacity":"INDEXES"}`)
	if !strings.Contains(got, `"gsi":{"CapacityUnits":6.0,"WriteCapacityUnits":6.0}`) {
		t.Errorf("a move in a transaction: %s", got)
	}
}

// The values of a sort key count together.
// Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html
func TestSizeOfASortKeyOfSeveralAttributes(t *testing.T) {
	s, stop := openService(t, t.TempDir())
	defer stop()

	mustAnswer(t, s, "CreateTable", multiTable("sizes", "h:S / a:S b:S c:N", "ALL"))

	const tooLong = oneInvalid + "Aggregated size of all range keys has exceeded the size limit of 1024 bytes"

	for _, row := range []struct {
		a, b int
		want string
	}{
		{keyspace.MaxRangeKey - 3, 1, "{}"}, {1, keyspace.MaxRangeKey - 3, "{}"}, {keyspace.MaxRangeKey - 2, 1, tooLong}, {1, keyspace.MaxRangeKey - 2, tooLong}, {keyspace.MaxRangeKey, 1, tooLong},
	} {
		// The number takes two bytes.
		item := fmt.Sprintf(`{"pk":{"S":"x"},"h":{"S":%q},"a":{"S":%q},"b":{"S":%q},"c":{"N":"7"}}`,
			strings.Repeat("h", keyspace.MaxHashKey), strings.Repeat("a", row.a), strings.Repeat("b", row.b))
		if got := request(t, s, "PutItem", `{"TableName":"sizes","Item":`+item+`}`); got != row.want {
			t.Errorf("%d and %d bytes\n got %s\nwant %s", row.a, row.b, got, row.want)
		}
	}
}

// A value of another type is refused in the words of the operation, for each attribute of the key.
func TestWrongTypesOfSeveralKeyAttributes(t *testing.T) {
	s, stop := openService(t, t.TempDir())
	defer stop()

	mustAnswer(t, s, "CreateTable", multiTable("types", "h1:S h2:N / s1:B s2:S", "ALL"))
	mustAnswer(t, s, "PutItem", `{"TableName":"types","Item":{"pk":{"S":"a"}}}`)

	const update = invalidOrder + "The update expression attempted to update the secondary index key to unsupported type"

	for name, kind := range map[string]string{"h1": "S", "h2": "N", "s1": "B", "s2": "S"} {
		put := fmt.Sprintf(oneInvalid+"Type mismatch for Index Key %s Expected: %s Actual: NULL IndexName: gsi", name, kind)
		value := `{"NULL":true}`

		for _, row := range []struct{ operation, body, want string }{
			{"PutItem", fmt.Sprintf(`{"TableName":"types","Item":{"pk":{"S":"a"},%q:%s}}`, name, value), put},
			{"BatchWriteItem", fmt.Sprintf(`{"RequestItems":{"types":[{"PutRequest":{"Item":{"pk":{"S":"a"},%q:%s}}}]}}`, name, value), put},
			{"UpdateItem", fmt.Sprintf(`{"TableName":"types","Key":{"pk":{"S":"a"}},"UpdateExpression":"SET %s = :v","ExpressionAttributeValues":{":v":%s}}`, name, value), update},
			{"UpdateItem", fmt.Sprintf(`{"TableName":"types","Key":{"pk":{"S":"new"}},"AttributeUpdates":{%q:{"Value":%s}}}`, name, value), update},
		} {
			if got := request(t, s, row.operation, row.body); got != row.want {
				t.Errorf("%s of %s\n got %s\nwant %s", row.operation, name, got, row.want)
			}
		}
	}

	if got := mustAnswer(t, s, "Scan", `{"TableName":"types"}`); got != `{"Items":[{"pk":{"S":"a"}}],"Count":1,"ScannedCount":1}` {
		t.Errorf("refused writes left %s", got)
	}
}
