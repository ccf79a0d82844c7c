package dynamodb

import (
	"fmt"
	"testing"

	"ratchet/embedded/internal/wire"
)

// maxUpdateAllocations is how often an UpdateItem may allocate, from its decoded body to the bytes of
// its answer.
const maxUpdateAllocations = 40

// transitionBody returns the body of an UpdateItem as a transition of an order sends it.
func transitionBody(transition int) []byte {
	return fmt.Appendf(nil, `{"TableName":"orders","Key":{"orderId":{"S":"o-1"}},`+
		`"ConditionExpression":"attribute_exists(orderId) AND orderState = :from AND (attribute_not_exists(transitionId) OR transitionId < :id)",`+
		`"UpdateExpression":"SET orderState = :to, transitionId = :id, updatedAt = :at",`+
		`"ExpressionAttributeValues":{":from":{"S":"PENDING"},":to":{"S":"PENDING"},":id":{"N":"%d"},":at":{"S":"2026-11-23T08:00:01Z"}},`+
		`"ReturnValues":"ALL_NEW","ReturnValuesOnConditionCheckFailure":"ALL_OLD"}`, transition)
}

// TestAnUpdateAllocatesLittle: a conditional UpdateItem of an order of two lines, in a table with a
// stream of both images, with the item in the answer.
func TestAnUpdateAllocatesLittle(t *testing.T) {
	s, stop := openService(t, t.TempDir())
	defer stop()

	table := `{"TableName":"orders","BillingMode":"PAY_PER_REQUEST","KeySchema":[{"AttributeName":"orderId","KeyType":"HASH"}],` +
		`"AttributeDefinitions":[{"AttributeName":"orderId","AttributeType":"S"}],` +
		`"StreamSpecification":{"StreamEnabled":true,"StreamViewType":"NEW_AND_OLD_IMAGES"}}`
	order := `{"TableName":"orders","Item":{"orderId":{"S":"o-1"},"orderState":{"S":"PENDING"},"transitionId":{"N":"0"},` +
		`"updatedAt":{"S":"2026-11-23T08:00:00Z"},"total":{"N":"129900"},"currency":{"S":"EUR"},"customer":{"S":"c-123456"},` +
		`"items":{"L":[{"M":{"sku":{"S":"sku-1"},"n":{"N":"1"}}},{"M":{"sku":{"S":"sku-2"},"n":{"N":"2"}}}]}}}`

	for _, call := range [][2]string{{"CreateTable", table}, {"PutItem", order}} {
		if _, err := s.Wire().Operations[call[0]](t.Context(), []byte(call[1])); err != nil {
			t.Fatal(err)
		}
	}

	const runs = 200

	decoded := make([]*updateItemIn, runs+1)
	for n := range decoded {
		decoded[n] = new(updateItemIn)
		if err := wire.Decode(transitionBody(n+1), decoded[n]); err != nil {
			t.Fatal(err)
		}
	}

	n := 0
	allocations := testing.AllocsPerRun(runs, func() {
		if _, err := s.updateItem(t.Context(), decoded[n]); err != nil {
			t.Fatal(err)
		}
		n++
	})

	t.Logf("%.1f allocations", allocations)

	if allocations > maxUpdateAllocations {
		t.Errorf("%.1f allocations, want %d or fewer", allocations, maxUpdateAllocations)
	}
}
