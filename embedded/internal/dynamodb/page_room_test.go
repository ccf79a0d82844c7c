package dynamodb

import (
	"fmt"
	"runtime"
	"testing"
)

// maxQueryBytes is how much memory a Query of 100 items may allocate. Its answer has 26,000 bytes.
const maxQueryBytes = 48 << 10

// TestAQueryAllocatesItsPageOnce: the items of a page are not copied while the page grows.
func TestAQueryAllocatesItsPageOnce(t *testing.T) {
	s := openOrders(t)
	for n := range 100 {
		mustAnswer(t, s, "PutItem", fmt.Sprintf(`{"TableName":"orders","Item":{"shop":{"S":"s"},"num":{"N":"%d"},"state":{"S":"new"},"v":{"S":"%0180d"}}}`, n, n))
	}

	const runs = 50

	query := s.Wire().Operations["Query"]
	body := []byte(`{"TableName":"orders","KeyConditionExpression":"shop = :s","ExpressionAttributeValues":{":s":{"S":"s"}}}`)

	var before, after runtime.MemStats
	for n := range 2 * runs {
		if n == runs { // the first half tells what a page needs
			runtime.ReadMemStats(&before)
		}

		if _, err := query(t.Context(), body); err != nil {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)

	if got := (after.TotalAlloc - before.TotalAlloc) / runs; got > maxQueryBytes {
		t.Errorf("a Query of 100 items allocates %d bytes, more than %d", got, maxQueryBytes)
	}
}
