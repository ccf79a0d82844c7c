package dynamodb

import (
	"fmt"
	"strings"
	"testing"

	"ratchet/embedded/internal/dynamodb/keyspace"
)

// Each attribute of the partition key has the same value in a start key as in the condition.
func TestStartKeysOfAPartitionKeyOfSeveralAttributes(t *testing.T) {
	s, closeService := openService(t, t.TempDir())
	defer closeService()

	mustAnswer(t, s, "CreateTable", multiTable("pairs", "h1:S h2:N / s:N", "ALL"))

	for _, row := range []struct{ condition, values, h1, h2, want string }{
		{"h1 = :g AND h2 = :one", ":g=g :one=#1", "g", "1", ""},
		{"h1 = :g AND h2 = :one", ":g=g :one=#1", "x", "1", invalidOrder + "The provided starting key is outside query boundaries based on provided conditions"},
		{"h1 = :g AND h2 = :one", ":g=g :one=#1", "g", "2", invalidOrder + "The provided starting key is outside query boundaries based on provided conditions"},
		{"h1 = :g AND h2 = :one AND s > :z", ":g=g :one=#1 :z=#0", "g", "2", invalidOrder + "The query can return at most one row and cannot be restarted"},
	} {
		start := fmt.Sprintf(`,"ExclusiveStartKey":{"pk":{"S":"q1"},"h1":{"S":%q},"h2":{"N":%q},"s":{"N":"3"}}`, row.h1, row.h2)
		if got := found(request(t, s, "Query", multiQuery("pairs", row.condition, row.values, start))); got != row.want {
			t.Errorf("%s from %s, %s\n got %s\nwant %s", row.condition, row.h1, row.h2, got, row.want)
		}
	}
}

// No attribute of a key in a condition can be empty.
func TestConditionsWithEmptyParts(t *testing.T) {
	s, closeService := openService(t, t.TempDir())
	defer closeService()

	mustAnswer(t, s, "CreateTable", multiTable("parts", "a:S b:S / c:S d:B", "ALL"))

	for at, name := range []string{"a", "b", "c", "d"} {
		kind, empty := "string", `{"S":""}`
		if name == "d" {
			kind, empty = "binary", `{"B":""}`
		}

		body := multiQuery("parts", "a = :a AND b = :b AND c = :c AND d = :d", ":a=x :b=x :c=x :d=$AA==", "")
		for _, full := range []string{`{"S":"x"}`, `{"B":"AA=="}`} {
			body = strings.Replace(body, fmt.Sprintf(`":%s":%s`, name, full), fmt.Sprintf(`":%s":%s`, name, empty), 1)
		}

		want := fmt.Sprintf("%sOne or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty %s value. Key: %s", invalidOrder, kind, name)
		if got := request(t, s, "Query", body); got != want {
			t.Errorf("attribute %d\n got %s\nwant %s", at, got, want)
		}
	}
}

// The values of a partition key count together, each number with the size that DynamoDB counts for
// it.
func TestSizeOfAPartitionKeyOfSeveralAttributes(t *testing.T) {
	s, closeService := openService(t, t.TempDir())
	defer closeService()

	mustAnswer(t, s, "CreateTable", multiTable("sizes", "a:S b:N", "ALL"))

	put := func(bytes int, number string) string {
		return request(t, s, "PutItem", fmt.Sprintf(`{"TableName":"sizes","Item":{"pk":{"S":"x"},"a":{"S":%q},"b":{"N":%q}}}`, strings.Repeat("x", bytes), number))
	}

	// 38 digits take 20 bytes.
	const digits = "12345678901234567890123456789012345678"

	if got := put(keyspace.MaxHashKey-20, digits); got != "{}" {
		t.Errorf("%d bytes: %s", keyspace.MaxHashKey, got)
	}

	if got := put(keyspace.MaxHashKey-19, digits); got != oneInvalid+"Size of hashkey has exceeded the maximum size limit of2048 bytes" {
		t.Errorf("%d bytes: %s", keyspace.MaxHashKey+1, got)
	}
}
