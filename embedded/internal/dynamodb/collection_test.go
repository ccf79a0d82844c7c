package dynamodb

import (
	"encoding/json"
	"fmt"
	"testing"
)

// TestCollectionsAndTheirCost has a table with a local index that shows keys: writes of several
// items answer the metrics of each collection once, and items that a read fetches from the table
// are counted there.
func TestCollectionsAndTheirCost(t *testing.T) {
	s, closeService := openService(t, t.TempDir())
	defer closeService()

	request(t, s, "CreateTable", `{"TableName":"orders","BillingMode":"PAY_PER_REQUEST",
		"KeySchema":[{"AttributeName":"h","KeyType":"HASH"},{"AttributeName":"r","KeyType":"RANGE"}],
		"AttributeDefinitions":[{"AttributeName":"h","AttributeType":"S"},{"AttributeName":"r","AttributeType":"N"},{"AttributeName":"v","AttributeType":"N"}],
		"LocalSecondaryIndexes":[{"IndexName":"by-v","KeySchema":[{"AttributeName":"h","KeyType":"HASH"},{"AttributeName":"v","KeyType":"RANGE"}],
			"Projection":{"ProjectionType":"KEYS_ONLY"}}]}`)

	const (
		put     = `{"TableName":"orders","Item":{"h":{"S":"p"},"r":{"N":"1"},"v":{"N":"1"},"w":{"S":"w"}}}`
		another = `{"TableName":"orders","Item":{"h":{"S":"p"},"r":{"N":"2"},"v":{"N":"2"},"w":{"S":"w"}}}`
		third   = `{"TableName":"orders","Item":{"h":{"S":"q"},"r":{"N":"1"}}}`
		metrics = `"ItemCollectionMetrics":{"orders":[{"ItemCollectionKey":{"h":{"S":"p"}},"SizeEstimateRangeGB":[0.0,1.0]},{"ItemCollectionKey":{"h":{"S":"q"}},"SizeEstimateRangeGB":[0.0,1.0]}]}`
		query   = `"TableName":"orders","IndexName":"by-v","KeyConditions":{"h":{"ComparisonOperator":"EQ","AttributeValueList":[{"S":"p"}]}},"Select":"COUNT","ReturnConsumedCapacity":"INDEXES"`
	)

	for _, tt := range []struct{ operation, body, want string }{
		{"TransactWriteItems", `{"ReturnItemCollectionMetrics":"SIZE","TransactItems":[{"Put":` + put + `},{"Put":` + another + `},{"Put":` + third + `}]}`, `{` + metrics + `}`},
		{"BatchWriteItem", `{"ReturnItemCollectionMetrics":"SIZE","RequestItems":{"orders":[{"DeleteRequest":{"Key":{"h":{"S":"p"},"r":{"N":"9"}}}},{"DeleteRequest":{"Key":{"h":{"S":"q"},"r":{"N":"9"}}}}]}}`,
			`{"UnprocessedItems":{},` + metrics + `}`},
		{"BatchWriteItem", `{"RequestItems":{"orders":[{"DeleteRequest":{"Key":{"h":{"S":"p"},"r":{"N":"9"}}}}]}}`, `{"UnprocessedItems":{}}`},
		{"Query", `{` + query + `}`, `{"Count":2,"ScannedCount":2,"ConsumedCapacity":{"TableName":"orders","CapacityUnits":0.5,"Table":{"CapacityUnits":0.0},"LocalSecondaryIndexes":{"by-v":{"CapacityUnits":0.5}}}}`},
		{"ExecuteStatement", `{"Statement":"SELECT w FROM orders.\"by-v\" WHERE h = 'p'","ReturnConsumedCapacity":"INDEXES"}`,
			`{"Items":[{"w":{"S":"w"}},{"w":{"S":"w"}}],"ConsumedCapacity":{"TableName":"orders","CapacityUnits":1.5,"Table":{"CapacityUnits":1.0},"LocalSecondaryIndexes":{"by-v":{"CapacityUnits":0.5}}}}`},
	} {
		if got := request(t, s, tt.operation, tt.body); got != tt.want {
			t.Errorf("%s %s\n got %s\nwant %s", tt.operation, tt.body, got, tt.want)
		}
	}
}

// TestSegmentsAreDisjointAndComplete pages through the segments of a parallel scan while items
// come and go that are not in the answer.
func TestSegmentsAreDisjointAndComplete(t *testing.T) {
	s := openOrders(t)

	const items = 200
	for n := range items {
		request(t, s, "PutItem", fmt.Sprintf(`{"TableName":"orders","Item":{"shop":{"S":"s%d"},"num":{"N":"%d"},"state":{"S":"x%d"}}}`, n, n, n))
	}

	for _, total := range []int{1, 3, 7, 1000} {
		for _, index := range []string{"", `"IndexName":"by-state",`} {
			seen := map[string]int{}
			for segment := range total {
				start := ""
				for {
					var page struct {
						Items            []struct{ Num struct{ N string } }
						LastEvaluatedKey json.RawMessage
					}
					body := fmt.Sprintf(`{"TableName":"orders",%s"Segment":%d,"TotalSegments":%d,"Limit":7%s}`, index, segment, total, start)
					if err := json.Unmarshal([]byte(request(t, s, "Scan", body)), &page); err != nil {
						t.Fatal(err)
					}

					for _, it := range page.Items {
						seen[it.Num.N]++
					}

					if page.LastEvaluatedKey == nil {
						break
					}
					start = `,"ExclusiveStartKey":` + string(page.LastEvaluatedKey)

					// A write between two pages moves no item to another segment.
					other := fmt.Sprintf(`{"shop":{"S":"other%d"},"num":{"N":"-1"}}`, len(seen))
					request(t, s, "PutItem", `{"TableName":"orders","Item":`+other+`}`)
					request(t, s, "DeleteItem", `{"TableName":"orders","Key":`+other+`}`)
				}
			}

			for num, times := range seen {
				if times != 1 {
					t.Errorf("%d segments %s: item %s was read %d times", total, index, num, times)
				}
			}

			if len(seen) != items {
				t.Errorf("%d segments %s: %d of %d items were read", total, index, len(seen), items)
			}
		}
	}
}
