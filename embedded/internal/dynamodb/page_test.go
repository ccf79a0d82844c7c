package dynamodb

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"ratchet/embedded/internal/attr"
	"ratchet/embedded/internal/dynamodb/keyspace"
)

// openHeavy opens a service with a table "heavy" whose index has the items 00, 01 ... in one partition, of
// 100 KB each: eleven fill a page. Every second one has the attribute "even".
func openHeavy(t *testing.T, items int) *Service {
	t.Helper()

	s, closeService := openService(t, t.TempDir())
	t.Cleanup(closeService)
	mustAnswer(t, s, "CreateTable", multiTable("heavy", "h1:S h2:N / s1:S s2:S", "ALL"))

	for n := range items {
		even := ""
		if n%2 == 0 {
			even = `,"even":{"BOOL":true}`
		}
		mustAnswer(t, s, "PutItem", fmt.Sprintf(`{"TableName":"heavy","Item":{"pk":{"S":"%02d"},"h1":{"S":"g"},"h2":{"N":"1.0"},"s1":{"S":"s"},"s2":{"S":"%02d"},"x":{"S":%q}%s}}`,
			n, n, strings.Repeat("x", 100_000), even))
	}

	return s
}

// heavyPages reads all pages and returns for each its Count, its ScannedCount and the pks of its items.
func heavyPages(t *testing.T, s *Service, operation, body string) (pages []string) {
	t.Helper()

	for start := ""; ; {
		answer := mustAnswer(t, s, operation, strings.TrimSuffix(body, "}")+start+"}")

		var page struct {
			Count, ScannedCount int
			Items               []map[string]struct{ S string }
			LastEvaluatedKey    attr.Item
		}
		if err := json.Unmarshal([]byte(answer), &page); err != nil {
			t.Fatal(err)
		}

		shown := fmt.Sprintf("%d of %d:", page.Count, page.ScannedCount)
		for _, item := range page.Items {
			shown += " " + item["pk"].S
		}

		if pages = append(pages, shown); page.LastEvaluatedKey == nil {
			return pages
		}
		start = `,"ExclusiveStartKey":` + itemJSON(page.LastEvaluatedKey)
	}
}

// A page ends with the item that fills 1 MB, before the filter and the projection. It has a
// LastEvaluatedKey only if there is more.
// Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Query.Pagination.html
func TestPagesOfAMegabyte(t *testing.T) {
	const (
		all  = "11 of 11: 00 01 02 03 04 05 06 07 08 09 10"
		back = "11 of 11: 12 11 10 09 08 07 06 05 04 03 02"
		even = "6 of 11: 00 02 04 06 08 10"
	)

	query := func(more string) string {
		return multiQuery("heavy", "h1 = :g AND h2 = :n AND s1 = :s", ":g=g :n=#1 :s=s", more)
	}
	onlyPK, isEven, count := `,"ProjectionExpression":"pk"`, `,"FilterExpression":"attribute_exists(even)"`, `,"Select":"COUNT"`

	for _, row := range []struct {
		items           int
		operation, body string
		want            []string
	}{
		{11, "Query", query(""), []string{all}},
		{12, "Query", query(""), []string{all, "1 of 1: 11"}},
		{12, "Query", query(`,"Limit":11`), []string{all, "1 of 1: 11"}},
		{11, "Query", query(`,"Limit":11`), []string{all, "0 of 0:"}},
		{13, "Query", query(backward), []string{back, "2 of 2: 01 00"}},
		{13, "Query", query(isEven), []string{even, "1 of 2: 12"}},
		{13, "Query", query(isEven + onlyPK), []string{even, "1 of 2: 12"}},
		{13, "Query", query(isEven + count), []string{"6 of 11:", "1 of 2:"}},
		{13, "Query", query(count), []string{"11 of 11:", "2 of 2:"}},
		{13, "Query", query(onlyPK), []string{all, "2 of 2: 11 12"}},
		{13, "Scan", `{"TableName":"heavy","IndexName":"gsi"` + isEven + onlyPK + `}`, []string{even, "1 of 2: 12"}},
		{13, "Scan", `{"TableName":"heavy","Select":"COUNT"}`, []string{"11 of 11:", "2 of 2:"}},
	} {
		if got := heavyPages(t, openHeavy(t, row.items), row.operation, row.body); !slices.Equal(got, row.want) {
			t.Errorf("%s %s of %d items\n got %q\nwant %q", row.operation, row.body, row.items, got, row.want)
		}
	}
}

// A page costs the bytes that it reads, whatever it shows.
// Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html
func TestCostOfAPage(t *testing.T) {
	s := openHeavy(t, 2)

	// Two items of 100,031 and 100,026 bytes are 49 times 4 KB.
	const cost = `"ConsumedCapacity":{"TableName":"heavy","CapacityUnits":24.5,"Table":{"CapacityUnits":0.0},"GlobalSecondaryIndexes":{"gsi":{"CapacityUnits":24.5}}}`

	for _, more := range []string{"", `,"Select":"COUNT"`, `,"FilterExpression":"attribute_exists(even)"`, `,"ProjectionExpression":"pk"`, `,"Limit":2`} {
		body := multiQuery("heavy", "h1 = :g AND h2 = :n", ":g=g :n=#1", `,"ReturnConsumedCapacity":"INDEXES"`+more)
		if got := mustAnswer(t, s, "Query", body); !strings.Contains(got, cost) {
			t.Errorf("%s costs %s", more, got[max(0, len(got)-300):])
		}
	}
}

// A damaged item on disk is an error of every read that meets it, and never part of an answer.
func TestReadsOfADamagedItem(t *testing.T) {
	s := openHeavy(t, 0)
	mustAnswer(t, s, "PutItem", `{"TableName":"heavy","Item":{"pk":{"S":"a"},"h1":{"S":"g"},"h2":{"N":"1"},"s1":{"S":"s"},"s2":{"S":"s"},"x":{"S":"text"}}}`)

	b := s.db.NewBatch()
	for _, kind := range []byte{keyspace.KindItem, keyspace.KindIndex} {
		prefix := keyspace.StoreKey(kind)

		err := s.db.Scan(prefix, append(slices.Clone(prefix), 0xFF), false, func(key, value []byte) (bool, error) {
			b.Set(key, value[:len(value)-1])
			return true, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}

	if err := b.Commit(); err != nil {
		t.Fatal(err)
	}

	filter := `,"FilterExpression":"x = :g"`
	key := `{"pk":{"S":"a"}}`

	for _, row := range []struct{ operation, body string }{
		{"Query", multiQuery("heavy", "h1 = :g AND h2 = :n", ":g=g :n=#1", "")},
		{"Query", multiQuery("heavy", "h1 = :g AND h2 = :n", ":g=g :n=#1", filter)},
		{"Query", multiQuery("heavy", "h1 = :g AND h2 = :n", ":g=g :n=#1", `,"Select":"COUNT","Limit":1`)},
		{"Query", `{"TableName":"heavy","KeyConditionExpression":"pk = :a","ExpressionAttributeValues":{":a":{"S":"a"}}}`},
		{"Scan", `{"TableName":"heavy"}`},
		{"Scan", `{"TableName":"heavy","IndexName":"gsi"}`},
		{"GetItem", `{"TableName":"heavy","Key":` + key + `}`},
		{"GetItem", `{"TableName":"heavy","Key":` + key + `,"ProjectionExpression":"x"}`},
		{"BatchGetItem", `{"RequestItems":{"heavy":{"Keys":[` + key + `]}}}`},
		{"TransactGetItems", `{"TransactItems":[{"Get":{"TableName":"heavy","Key":` + key + `}}]}`},
		{"DeleteItem", `{"TableName":"heavy","Key":` + key + `,"ReturnValues":"ALL_OLD"}`},
	} {
		if got := request(t, s, row.operation, row.body); !strings.Contains(got, "decode") || strings.HasPrefix(got, "{") {
			t.Errorf("%s %s\n got %s", row.operation, row.body, got)
		}
	}
}

// A lookup of one primary key has the same answer as a scan of its range.
func TestQueryOfOneKey(t *testing.T) {
	s := openOrders(t)
	for n := range 3 {
		mustAnswer(t, s, "PutItem", fmt.Sprintf(`{"TableName":"orders","Item":{"shop":{"S":"s"},"num":{"N":"%d"},"state":{"S":"new"},"v":{"L":[{"N":"%d"}]}}}`, n, n))
	}

	for _, more := range []string{
		"", backward, `,"Limit":1`, `,"Limit":2`, `,"Select":"COUNT"`, `,"ProjectionExpression":"v[0]"`, `,"FilterExpression":"state = :s"`,
		`,"ConsistentRead":true,"ReturnConsumedCapacity":"TOTAL"`, `,"Limit":1,"Select":"COUNT"`,
		`,"ExclusiveStartKey":{"shop":{"S":"s"},"num":{"N":"1"}}`, `,"ExclusiveStartKey":{"shop":{"S":"s"},"num":{"N":"1"}},"ScanIndexForward":false`,
	} {
		for _, num := range []string{"1", "1.0", "10e-1", "7"} {
			body := func(condition string) string {
				return fmt.Sprintf(`{"TableName":"orders","KeyConditionExpression":%q,"ExpressionAttributeValues":{":s":{"S":"s"},":n":{"N":%q}}%s}`, condition, num, more)
			}

			one, ranged := request(t, s, "Query", body("shop = :s AND num = :n")), request(t, s, "Query", body("shop = :s AND num BETWEEN :n AND :n"))
			if one != ranged {
				t.Errorf("%s%s\n one key %s\n a range %s", num, more, one, ranged)
			}
		}
	}
}
