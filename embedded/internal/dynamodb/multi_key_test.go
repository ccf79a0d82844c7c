package dynamodb

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// multiTable returns a CreateTable request for a table by pk with one global index. Its key is
// written as "h:S a:N", an attribute of the partition key first, then those after a "/" of the sort
// key.
func multiTable(name, key, projection string) string {
	schema, kinds := multiSchema(key)
	kinds["pk"] = "S"

	return fmt.Sprintf(`{"TableName":%q,"BillingMode":"PAY_PER_REQUEST","KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}],
		"AttributeDefinitions":[%s],"GlobalSecondaryIndexes":[{"IndexName":"gsi","KeySchema":[%s],"Projection":{"ProjectionType":%q}}]}`,
		name, definitionsOf(kinds), schema, projection)
}

func multiSchema(key string) (schema string, kinds map[string]string) {
	kinds = map[string]string{}
	role := "HASH"
	var elements []string
	for _, word := range strings.Fields(key) {
		if word == "/" {
			role = "RANGE"
			continue
		}

		name, kind, _ := strings.Cut(word, ":")
		kinds[name] = kind
		elements = append(elements, fmt.Sprintf(`{"AttributeName":%q,"KeyType":%q}`, name, role))
	}

	return strings.Join(elements, ","), kinds
}

func definitionsOf(kinds map[string]string) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		all = append(all, fmt.Sprintf(`{"AttributeName":%q,"AttributeType":%q}`, name, kinds[name]))
	}

	return strings.Join(all, ",")
}

// found returns the pks of an answer's items, in their order, or the error.
func found(answer string) string {
	var page struct {
		Items []map[string]map[string]any
	}
	if err := json.Unmarshal([]byte(answer), &page); err != nil {
		return answer
	}

	var pks []string
	for _, item := range page.Items {
		pks = append(pks, item["pk"]["S"].(string))
	}

	return strings.Join(pks, " ")
}

// openMulti opens a service with the table and the items of
// https://github.com/paritysuite/dynamodb-conformance tests/tier1/query/multiAttributeGsiKey.test.ts.
func openMulti(t *testing.T) *Service {
	t.Helper()

	s, closeService := openService(t, t.TempDir())
	t.Cleanup(closeService)

	mustAnswer(t, s, "CreateTable", multiTable("orders", "h:S / a:S b:S c:S d:S", "ALL"))

	for _, item := range orderItems {
		mustAnswer(t, s, "PutItem", `{"TableName":"orders","Item":`+item+`}`)
	}

	return s
}

var orderItems = []string{
	`{"pk":{"S":"p1"},"h":{"S":"o1"},"a":{"S":"T"},"b":{"S":"live"},"c":{"S":"b"},"d":{"S":"r1"}}`,
	`{"pk":{"S":"p2"},"h":{"S":"o1"},"a":{"S":"T"},"b":{"S":"live"},"c":{"S":"a"},"d":{"S":"r2"}}`,
	`{"pk":{"S":"p3"},"h":{"S":"o1"},"a":{"S":"T"},"b":{"S":"live"},"c":{"S":"a"},"d":{"S":"r1"}}`,
	`{"pk":{"S":"p4"},"h":{"S":"o1"},"a":{"S":"T"},"b":{"S":"draft"},"c":{"S":"c"},"d":{"S":"r1"}}`,
	`{"pk":{"S":"p5"},"h":{"S":"o1"},"a":{"S":"F"},"b":{"S":"live"},"c":{"S":"a"},"d":{"S":"r0"}}`,
	`{"pk":{"S":"p6"},"h":{"S":"o1"},"a":{"S":"T"},"b":{"S":"live"},"d":{"S":"r1"}}`, // no c: not in the index
}

// mustAnswer sends a request that must not fail, and returns its answer.
func mustAnswer(t *testing.T, s *Service, operation, body string) string {
	t.Helper()

	answer := request(t, s, operation, body)
	if !strings.HasPrefix(answer, "{") {
		t.Fatalf("%s %s\n got %s", operation, body, answer)
	}

	return answer
}

// multiQuery is a Query of the index; values are written as ":h=o1 :n=#5", a number after "#" and a
// binary after "$".
func multiQuery(table, condition, values, more string) string {
	var list []string
	for _, word := range strings.Fields(values) {
		name, value, _ := strings.Cut(word, "=")
		kind := "S"
		switch value[0] {
		case '#':
			kind, value = "N", value[1:]
		case '$':
			kind, value = "B", value[1:]
		}
		list = append(list, fmt.Sprintf(`%q:{%q:%q}`, name, kind, value))
	}

	return fmt.Sprintf(`{"TableName":%q,"IndexName":"gsi","KeyConditionExpression":%q,"ExpressionAttributeValues":{%s}%s}`,
		table, condition, strings.Join(list, ","), more)
}

const (
	gap      = invalidOrder + "RANGE key attributes %s must have equality conditions specified in the query because a condition is present on key attribute %s"
	noHash   = invalidOrder + "HASH key attributes %s must have equality conditions specified in the query"
	backward = `,"ScanIndexForward":false`
)

// Source: https://github.com/paritysuite/dynamodb-conformance tests/tier1/query/multiAttributeGsiKey.test.ts,
// and https://docs.rs/crate/dynoxide-rs/3.2.0/source/tests/multi_attribute_keys.rs for the last four
// rows, both recorded on the service.
func TestQueryOfASortKeyOfSeveralAttributes(t *testing.T) {
	s := openMulti(t)

	for _, row := range []struct{ condition, values, more, want string }{
		{"h = :h", ":h=o1", "", "p5 p4 p3 p2 p1"},
		{"h = :h AND a = :a", ":h=o1 :a=T", "", "p4 p3 p2 p1"},
		{"h = :h AND a = :a", ":h=o1 :a=T", backward, "p1 p2 p3 p4"},
		{"h = :h AND a = :a AND b = :b", ":h=o1 :a=T :b=live", "", "p3 p2 p1"},
		{"h = :h AND a = :a AND b = :b AND c = :c", ":h=o1 :a=T :b=live :c=a", "", "p3 p2"},
		{"h = :h AND a = :a AND b = :b AND c > :c", ":h=o1 :a=T :b=live :c=a", "", "p1"},
		{"h = :h AND a = :a AND b = :b AND c = :c AND begins_with(d, :d)", ":h=o1 :a=T :b=live :c=a :d=r", "", "p3 p2"},
		{"h = :h AND a = :a AND b = :b AND c = :c AND d BETWEEN :x AND :y", ":h=o1 :a=T :b=live :c=a :x=r1 :y=r1", "", "p3"},
		{"h = :h AND a = :a AND b < :b", ":h=o1 :a=T :b=live", "", "p4"},
		{"b = :b AND h = :h AND a = :a", ":h=o1 :a=T :b=live", "", "p3 p2 p1"},
		{"h = :h AND a = :a AND c = :c", ":h=o1 :a=T :c=a", "", fmt.Sprintf(gap, "b", "c")},
		{"h = :h AND a = :a AND b > :b AND c = :c", ":h=o1 :a=T :b=live :c=a", "", fmt.Sprintf(gap, "b", "c")},
		{"h = :h AND b = :b", ":h=o1 :b=live", "", fmt.Sprintf(gap, "a", "b")},
		{"h = :h AND d = :d", ":h=o1 :d=r1", "", fmt.Sprintf(gap, "a, b, c", "d")},
		{"a = :a", ":a=T", "", fmt.Sprintf(noHash, "h")},
		{"h = :h AND x = :x", ":h=o1 :x=x", "", invalidOrder + "Query condition missed key schema element: a"},
		{"h = :h AND a = :a AND b = :b AND c = :c AND d = :d AND pk = :h", ":h=o1 :a=T :b=live :c=a :d=r1", "",
			invalidOrder + "The number of query conditions (6) exceeds the number of key attributes defined in the schema (5)"},
	} {
		if got := found(request(t, s, "Query", multiQuery("orders", row.condition, row.values, row.more))); got != row.want {
			t.Errorf("%s\n got %s\nwant %s", row.condition, got, row.want)
		}
	}
}

// KeyConditions have the same rules.
// Source: https://github.com/getmoto/moto tests/test_dynamodb, "test_key_conditions_with_range_keys",
// which runs on the service
func TestKeyConditionsOfSeveralAttributes(t *testing.T) {
	s := openMulti(t)
	of := func(name, operator, value string) string {
		return fmt.Sprintf(`%q:{"ComparisonOperator":%q,"AttributeValueList":[{"S":%q}]}`, name, operator, value)
	}

	for _, row := range []struct{ conditions, want string }{
		{of("h", "EQ", "o1") + "," + of("a", "EQ", "T") + "," + of("b", "GT", "draft"), "p3 p2 p1"},
		{of("h", "EQ", "o1") + "," + of("b", "GT", "draft"), fmt.Sprintf(gap, "a", "b")},
		{of("h", "EQ", "o1") + "," + of("a", "NE", "T"), invalidOrder + "Attempted conditional constraint is not an indexable operation"},
		{of("h", "EQ", "o1") + "," + of("a", "EQ", "T") + "," + of("b", "CONTAINS", "live"), invalidOrder + "Attempted conditional constraint is not an indexable operation"},
	} {
		got := found(request(t, s, "Query", `{"TableName":"orders","IndexName":"gsi","KeyConditions":{`+row.conditions+`}}`))
		if got != row.want {
			t.Errorf("%s\n got %s\nwant %s", row.conditions, got, row.want)
		}
	}
}

// A page's LastEvaluatedKey has the keys of the table and of the index, and the next page begins after
// it, in both directions, of a Query and of a Scan.
// Source: tests/tier1/query/multiAttributeGsiKey.test.ts, "a page carries the table key and every index
// key attribute in LastEvaluatedKey"
func TestPagesOfASortKeyOfSeveralAttributes(t *testing.T) {
	s := openMulti(t)
	for _, row := range []struct{ operation, condition, values, more, want string }{
		{"Query", "h = :h AND a = :a", ":h=o1 :a=T", "", "p4 p3 p2 p1"},
		{"Query", "h = :h AND a = :a", ":h=o1 :a=T", backward, "p1 p2 p3 p4"},
		{"Query", "h = :h AND a = :a AND b >= :b", ":h=o1 :a=T :b=live", "", "p3 p2 p1"},
		{"Scan", "", "", "", "p5 p4 p3 p2 p1"},
	} {
		var pks []string
		start := ""
		for {
			body := multiQuery("orders", row.condition, row.values, row.more+`,"Limit":1`+start)
			if row.operation == "Scan" {
				body = `{"TableName":"orders","IndexName":"gsi","Limit":1` + start + `}`
			}

			answer := mustAnswer(t, s, row.operation, body)
			if pk := found(answer); pk != "" {
				pks = append(pks, pk)
			}

			var page struct{ LastEvaluatedKey map[string]json.RawMessage }
			if err := json.Unmarshal([]byte(answer), &page); err != nil {
				t.Fatal(err)
			}

			if page.LastEvaluatedKey == nil {
				break
			}

			if got := strings.Join(slices.Sorted(maps.Keys(page.LastEvaluatedKey)), " "); got != "a b c d h pk" {
				t.Fatalf("LastEvaluatedKey has %s", got)
			}

			key, err := json.Marshal(page.LastEvaluatedKey)
			if err != nil {
				t.Fatal(err)
			}
			start = `,"ExclusiveStartKey":` + string(key)
		}

		if got := strings.Join(pks, " "); got != row.want {
			t.Errorf("%s %s%s\n got %s\nwant %s", row.operation, row.condition, row.more, got, row.want)
		}
	}
}

// A start key of another partition, or outside of the condition, is refused.
func TestStartKeysOfSeveralAttributes(t *testing.T) {
	s := openMulti(t)
	start := func(h, a, b string) string {
		return fmt.Sprintf(`,"ExclusiveStartKey":{"pk":{"S":"p3"},"h":{"S":%q},"a":{"S":%q},"b":{"S":%q},"c":{"S":"a"},"d":{"S":"r1"}}`, h, a, b)
	}

	for _, row := range []struct{ start, want string }{
		{start("o1", "T", "live"), "p2 p1"},
		{start("o2", "T", "live"), invalidOrder + "The query can return at most one row and cannot be restarted"},
		{start("o1", "F", "live"), invalidOrder + "The provided starting key does not match the range key predicate"},
		{start("o1", "T", "draft"), invalidOrder + "The provided starting key does not match the range key predicate"},
		{`,"ExclusiveStartKey":{"pk":{"S":"p3"},"h":{"S":"o1"},"a":{"S":"T"}}`, invalidOrder + "The provided starting key is invalid"},
		{strings.Replace(start("o1", "T", "live"), `"d":{"S":"r1"}`, `"d":{"N":"1"}`, 1), invalidOrder + "The provided key element does not match the schema"},
	} {
		body := multiQuery("orders", "h = :h AND a = :a AND b = :b", ":h=o1 :a=T :b=live", row.start)
		if got := found(request(t, s, "Query", body)); got != row.want {
			t.Errorf("%s\n got %s\nwant %s", row.start, got, row.want)
		}
	}
}
