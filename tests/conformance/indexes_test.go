//go:build conformance

package conformance

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// indexedTable has a global index by s and n that shows all, one by c that shows v, and a local
// one by n that shows keys.
const indexedTable = `{"TableName":"indexed","BillingMode":"PAY_PER_REQUEST",
	"KeySchema":[{"AttributeName":"h","KeyType":"HASH"},{"AttributeName":"r","KeyType":"RANGE"}],
	"AttributeDefinitions":[{"AttributeName":"h","AttributeType":"S"},{"AttributeName":"r","AttributeType":"S"},
		{"AttributeName":"s","AttributeType":"S"},{"AttributeName":"n","AttributeType":"N"},{"AttributeName":"c","AttributeType":"S"}],
	"GlobalSecondaryIndexes":[
		{"IndexName":"by-s","KeySchema":[{"AttributeName":"s","KeyType":"HASH"},{"AttributeName":"n","KeyType":"RANGE"}],"Projection":{"ProjectionType":"ALL"}},
		{"IndexName":"by-c","KeySchema":[{"AttributeName":"c","KeyType":"HASH"}],"Projection":{"ProjectionType":"INCLUDE","NonKeyAttributes":["v"]}}],
	"LocalSecondaryIndexes":[
		{"IndexName":"by-n","KeySchema":[{"AttributeName":"h","KeyType":"HASH"},{"AttributeName":"n","KeyType":"RANGE"}],"Projection":{"ProjectionType":"KEYS_ONLY"}}]}`

func withIndexedTable(t testing.TB, s *sides) { s.withTable(t, "indexed", indexedTable) }

func withIndexes(t testing.TB) {
	t.Helper()
	quietly(t, "CreateTable", indexedTable)
	t.Cleanup(func() { quietly(t, "DeleteTable", `{"TableName":"indexed"}`) })
}

func TestIndexes(t *testing.T) {
	withIndexes(t)

	for n := range 12 {
		it := fmt.Sprintf(`"h":{"S":"p%d"},"r":{"S":"r%d"},"v":{"S":"v"},"w":{"S":"w"}`, n%2, n)
		if n%3 > 0 {
			it += fmt.Sprintf(`,"s":{"S":"s"},"n":{"N":"%d"}`, 100-n)
		}

		if n%4 == 0 {
			it += `,"c":{"S":"c"}`
		}
		quietly(t, "PutItem", `{"TableName":"indexed","Item":{`+it+`}}`)
	}

	q := func(index, more string) string {
		return `{"TableName":"indexed","IndexName":"` + index + `",` + more + `}`
	}
	s := `"KeyConditionExpression":"s = :s","ExpressionAttributeValues":{":s":{"S":"s"}}`
	c := `"KeyConditionExpression":"c = :s","ExpressionAttributeValues":{":s":{"S":"c"}}`
	h := `"KeyConditionExpression":"h = :s","ExpressionAttributeValues":{":s":{"S":"p0"}}`

	compareRows(t, []row{
		{"a partition", "Query", q("by-s", s)},
		{"backwards", "Query", q("by-s", s+`,"ScanIndexForward":false`)},
		{"three", "Query", q("by-s", s+`,"Limit":3`)},
		{"after a key", "Query", q("by-s", s+`,"ExclusiveStartKey":{"h":{"S":"p1"},"r":{"S":"r7"},"s":{"S":"s"},"n":{"N":"93"}}`)},
		{"after half a key", "Query", q("by-s", s+`,"ExclusiveStartKey":{"s":{"S":"s"},"n":{"N":"93"}}`)},
		{"a range", "Query", q("by-s", `"KeyConditionExpression":"s = :s AND n BETWEEN :a AND :b","ExpressionAttributeValues":{":s":{"S":"s"},":a":{"N":"90"},":b":{"N":"95"}}`)},
		{"a count", "Query", q("by-s", s+`,"Select":"COUNT"`)},
		{"a filter", "Query", q("by-s", s+`,"FilterExpression":"attribute_exists(c)"`)},
		{"local, keys only", "Query", q("by-n", h)},
		{"local, all attributes", "Query", q("by-n", h+`,"Select":"ALL_ATTRIBUTES"`)},
		{"local, an attribute of the table", "Query", q("by-n", h+`,"ProjectionExpression":"w"`)},
		{"local, consistent", "Query", q("by-n", h+`,"ConsistentRead":true`)},
		{"local, projected", "Query", q("by-n", h+`,"Select":"ALL_PROJECTED_ATTRIBUTES"`)},
		{"global, projected", "Query", q("by-s", s+`,"Select":"ALL_PROJECTED_ATTRIBUTES"`)},
		{"global, consistent", "Query", q("by-c", c+`,"ConsistentRead":true`)},
		{"global, an attribute that it has", "Query", q("by-c", c+`,"ProjectionExpression":"v"`)},
		{"an unknown index", "Query", q("none", s)},
		{"a scan", "Scan", `{"TableName":"indexed","IndexName":"by-c"}`},
		{"another key than the index's", "Query", q("by-c", s)},
		{"a wrong type of a key", "PutItem", `{"TableName":"indexed","Item":{"h":{"S":"a"},"r":{"S":"b"},"s":{"N":"1"}}}`},
		{"a key set to a wrong type", "UpdateItem", `{"TableName":"indexed","Key":{"h":{"S":"a"},"r":{"S":"b"}},"UpdateExpression":"SET s = :n","ExpressionAttributeValues":{":n":{"N":"1"}}}`},
	})
}

// checkIndexes writes the same items on both sides and compares the content of the indexes.
func checkIndexes(t *rapid.T, s *sides) {
	for range rapid.IntRange(1, 12).Draw(t, "writes") {
		key := fmt.Sprintf(`"h":{"S":%q},"r":{"S":%q}`, rapid.SampledFrom([]string{"a", "b"}).Draw(t, "h"), rapid.SampledFrom([]string{"1", "2", "3"}).Draw(t, "r"))

		switch rapid.IntRange(0, 3).Draw(t, "verb") {
		case 0:
			s.compare(t, "DeleteItem", `{"TableName":"indexed","Key":{`+key+`}}`)
		case 1:
			attribute := rapid.SampledFrom([]string{"s", "c", "v"}).Draw(t, "attribute")
			s.compare(t, "UpdateItem", fmt.Sprintf(`{"TableName":"indexed","Key":{%s},"UpdateExpression":"SET %s = :v","ExpressionAttributeValues":{":v":{"S":%q}}}`,
				key, attribute, rapid.SampledFrom([]string{"x", "y"}).Draw(t, "value")))
		default:
			it := []string{key}
			for _, a := range []string{"s", "c", "v", "w"} {
				if v := rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, a); v != "" {
					it = append(it, fmt.Sprintf(`%q:{"S":%q}`, a, v))
				}
			}

			if n := rapid.IntRange(0, 5).Draw(t, "n"); n > 0 {
				it = append(it, fmt.Sprintf(`"n":{"N":"%d"}`, n))
			}
			s.compare(t, "PutItem", `{"TableName":"indexed","Item":{`+strings.Join(it, ",")+`}}`)
		}
	}

	// The order among equal sort keys is not defined, so pages are not compared.
	for _, query := range []string{
		`"IndexName":"by-s","KeyConditionExpression":"s = :v","ProjectionExpression":"n"`,
		`"IndexName":"by-c","KeyConditionExpression":"c = :v","Select":"COUNT"`,
		`"IndexName":"by-s","KeyConditionExpression":"s = :v AND n > :n","Select":"COUNT"`,
	} {
		values := `":v":{"S":"x"}`
		if strings.Contains(query, ":n") {
			values += `,":n":{"N":"2"}`
		}
		s.compare(t, "Query", `{"TableName":"indexed",`+query+`,"ExpressionAttributeValues":{`+values+`}}`)
	}
	s.compare(t, "Query", `{"TableName":"indexed","IndexName":"by-n","KeyConditionExpression":"h = :v","ProjectionExpression":"n","ExpressionAttributeValues":{":v":{"S":"a"}}}`)
}
