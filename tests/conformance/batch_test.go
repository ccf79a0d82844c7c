//go:build conformance

package conformance

import (
	"fmt"
	"strings"
	"testing"
)

// repeated writes n elements, each with its number, with commas between.
func repeated(n int, format string) string {
	parts := make([]string, n)
	for k := range parts {
		parts[k] = fmt.Sprintf(format, k)
	}

	return strings.Join(parts, ",")
}

func TestBatchWrite(t *testing.T) {
	withTables(t, map[string]string{"single": "id:S", "ranged": "h:S,r:N"})
	put := `{"PutRequest":{"Item":{"id":{"S":"k%d"},"v":{"N":"1"}}}}`
	compareRows(t, []row{
		{"nothing", "BatchWriteItem", `{}`},
		{"no tables", "BatchWriteItem", `{"RequestItems":{}}`},
		{"no requests", "BatchWriteItem", `{"RequestItems":{"single":[]}}`},
		{"an empty request", "BatchWriteItem", `{"RequestItems":{"single":[{}]}}`},
		{"an empty request after a bad value", "BatchWriteItem", `{"RequestItems":{"single":[{"PutRequest":{"Item":{"id":{"N":"x"}}}},{}]}}`},
		{"both in one", "BatchWriteItem", `{"RequestItems":{"single":[{"PutRequest":{"Item":{"id":{"S":"a"}}},"DeleteRequest":{"Key":{"id":{"S":"a"}}}}]}}`},
		{"a put without an item", "BatchWriteItem", `{"RequestItems":{"single":[{"PutRequest":{}}]}}`},
		{"a deletion without a key", "BatchWriteItem", `{"RequestItems":{"single":[{"DeleteRequest":{}}]}}`},
		{"25", "BatchWriteItem", `{"RequestItems":{"single":[` + repeated(25, put) + `]}}`},
		{"26", "BatchWriteItem", `{"RequestItems":{"single":[` + repeated(26, put) + `]}}`},
		{"the same twice", "BatchWriteItem", `{"RequestItems":{"single":[` + repeated(1, put) + `,` + repeated(1, put) + `]}}`},
		{"a put and a deletion of the same", "BatchWriteItem", `{"RequestItems":{"single":[` + repeated(1, put) + `,{"DeleteRequest":{"Key":{"id":{"S":"k0"}}}}]}}`},
		{"the same number in two spellings", "BatchWriteItem", `{"RequestItems":{"ranged":[{"PutRequest":{"Item":{"h":{"S":"a"},"r":{"N":"1"}}}},{"PutRequest":{"Item":{"h":{"S":"a"},"r":{"N":"1.0"}}}}]}}`},
		{"two tables", "BatchWriteItem", `{"ReturnConsumedCapacity":"TOTAL","RequestItems":{"single":[{"DeleteRequest":{"Key":{"id":{"S":"k1"}}}}],"ranged":[{"PutRequest":{"Item":{"h":{"S":"a"},"r":{"N":"1"}}}}]}}`},
		{"a deletion of nothing", "BatchWriteItem", `{"RequestItems":{"single":[{"DeleteRequest":{"Key":{"id":{"S":"none"}}}}]}}`},
		{"an unknown table", "BatchWriteItem", `{"RequestItems":{"absent":[` + repeated(1, put) + `]}}`},
		{"a known and an unknown table", "BatchWriteItem", `{"RequestItems":{"single":[` + repeated(1, put) + `],"absent":[` + repeated(1, put) + `]}}`},
		{"a bad key", "BatchWriteItem", `{"RequestItems":{"single":[{"DeleteRequest":{"Key":{"x":{"S":"a"}}}}]}}`},
		{"a bad item", "BatchWriteItem", `{"RequestItems":{"single":[{"PutRequest":{"Item":{"x":{"S":"a"}}}}]}}`},
		{"a bad value", "BatchWriteItem", `{"RequestItems":{"single":[{"PutRequest":{"Item":{"id":{"S":"a"},"v":{"N":"x"}}}}]}}`},
		{"an empty key", "BatchWriteItem", `{"RequestItems":{"single":[{"PutRequest":{"Item":{"id":{"S":""}}}}]}}`},
		{"a bad table name", "BatchWriteItem", `{"RequestItems":{"a/b":[` + repeated(1, put) + `]}}`},
		{"what is there", "Scan", `{"TableName":"single"}`},
	})
}

func TestBatchGet(t *testing.T) {
	withTables(t, map[string]string{"single": "id:S", "ranged": "h:S,r:N"})
	quietly(t, "BatchWriteItem", `{"RequestItems":{"single":[`+repeated(5, `{"PutRequest":{"Item":{"id":{"S":"k%d"},"v":{"N":"1"},"m":{"M":{"x":{"S":"y"},"z":{"S":"y"}}}}}}`)+`],"ranged":[`+repeated(3, `{"PutRequest":{"Item":{"h":{"S":"a"},"r":{"N":"%d"}}}}`)+`]}}`)
	key := `{"id":{"S":"k%d"}}`
	compareRows(t, []row{
		{"nothing", "BatchGetItem", `{}`},
		{"no tables", "BatchGetItem", `{"RequestItems":{}}`},
		{"no keys", "BatchGetItem", `{"RequestItems":{"single":{}}}`},
		{"an empty list of keys", "BatchGetItem", `{"RequestItems":{"single":{"Keys":[]}}}`},
		{"three", "BatchGetItem", `{"RequestItems":{"single":{"Keys":[` + repeated(3, key) + `]}}}`},
		{"with some that are not", "BatchGetItem", `{"RequestItems":{"single":{"Keys":[` + repeated(9, key) + `]}}}`},
		{"none that is", "BatchGetItem", `{"RequestItems":{"single":{"Keys":[{"id":{"S":"none"}}]}}}`},
		{"two tables", "BatchGetItem", `{"ReturnConsumedCapacity":"TOTAL","RequestItems":{"single":{"Keys":[` + repeated(2, key) + `]},"ranged":{"ConsistentRead":true,"Keys":[{"h":{"S":"a"},"r":{"N":"1"}}]}}}`},
		{"a projection", "BatchGetItem", `{"RequestItems":{"single":{"Keys":[` + repeated(2, key) + `],"ProjectionExpression":"m.x, #v","ExpressionAttributeNames":{"#v":"v"}}}}`},
		{"a bad projection", "BatchGetItem", `{"RequestItems":{"single":{"Keys":[` + repeated(2, key) + `],"ProjectionExpression":"m."}}}`},
		{"an empty projection", "BatchGetItem", `{"RequestItems":{"single":{"Keys":[` + repeated(2, key) + `],"ProjectionExpression":""}}}`},
		{"names without a projection", "BatchGetItem", `{"RequestItems":{"single":{"Keys":[` + repeated(2, key) + `],"ExpressionAttributeNames":{"#v":"v"}}}}`},
		{"100", "BatchGetItem", `{"RequestItems":{"single":{"Keys":[` + repeated(100, key) + `]}}}`},
		{"101", "BatchGetItem", `{"RequestItems":{"single":{"Keys":[` + repeated(101, key) + `]}}}`},
		{"101 in two tables", "BatchGetItem", `{"RequestItems":{"single":{"Keys":[` + repeated(100, key) + `]},"ranged":{"Keys":[{"h":{"S":"a"},"r":{"N":"1"}}]}}}`},
		{"the same twice", "BatchGetItem", `{"RequestItems":{"single":{"Keys":[` + repeated(1, key) + `,` + repeated(1, key) + `]}}}`},
		{"an unknown table", "BatchGetItem", `{"RequestItems":{"absent":{"Keys":[` + repeated(1, key) + `]}}}`},
		{"a bad key", "BatchGetItem", `{"RequestItems":{"single":{"Keys":[{"x":{"S":"a"}}]}}}`},
		{"a key of another type", "BatchGetItem", `{"RequestItems":{"single":{"Keys":[{"id":{"N":"1"}}]}}}`},
		{"half a key", "BatchGetItem", `{"RequestItems":{"ranged":{"Keys":[{"h":{"S":"a"}}]}}}`},
	})
}
