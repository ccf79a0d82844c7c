package attr

import (
	"testing"

	"github.com/go-json-experiment/json"
)

// orderJSON has the shape and size of an order's item.
const orderJSON = `{"orderId":{"S":"o-0123456789"},"orderState":{"S":"PAYMENT_RECEIVED"},"transitionId":{"N":"7"},` +
	`"updatedAt":{"S":"2026-01-01T00:00:00Z"},"version":{"N":"3"},"total":{"N":"12950"},"currency":{"S":"EUR"},` +
	`"recent":{"M":{"s0":{"M":{"id":{"N":"6"},"event":{"S":"pay"},"from":{"S":"NEW"},"to":{"S":"PAID"}}},` +
	`"s1":{"M":{"id":{"N":"7"},"event":{"S":"ship"},"from":{"S":"PAID"},"to":{"S":"SHIPPED"}}}}},` +
	`"items":{"L":[{"M":{"sku":{"S":"A-1"},"quantity":{"N":"2"}}},{"M":{"sku":{"S":"B-2"},"quantity":{"N":"1"}}}]}}`

func orderItem(b *testing.B) Item {
	var i Item
	if err := json.Unmarshal([]byte(orderJSON), &i); err != nil {
		b.Fatal(err)
	}

	return i
}

func BenchmarkUnmarshalJSON(b *testing.B) {
	in := []byte(orderJSON)
	b.ReportAllocs()

	for b.Loop() {
		var i Item
		if err := json.Unmarshal(in, &i); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppendJSON(b *testing.B) {
	i, buf := orderItem(b), []byte(nil)
	b.ReportAllocs()

	for b.Loop() {
		buf = i.AppendJSON(buf[:0])
	}
}

func BenchmarkAppendBinary(b *testing.B) {
	i, buf := orderItem(b), []byte(nil)
	b.ReportAllocs()

	for b.Loop() {
		buf = AppendBinary(buf[:0], i)
	}
}

func BenchmarkDecodeBinary(b *testing.B) {
	in := AppendBinary(nil, orderItem(b))
	b.ReportAllocs()

	for b.Loop() {
		if _, err := DecodeBinary(in); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppendBinaryJSON(b *testing.B) {
	in, buf := AppendBinary(nil, orderItem(b)), []byte(nil)
	b.ReportAllocs()

	for b.Loop() {
		var err error
		if buf, err = AppendBinaryJSON(buf[:0], in); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppendKey(b *testing.B) {
	buf, hash, rng := []byte(nil), Value{Kind: S, Str: "o-0123456789"}, Value{Kind: N, Str: "1234.5"}
	b.ReportAllocs()

	for b.Loop() {
		buf = AppendKey(AppendKey(buf[:0], hash), rng)
	}
}

func BenchmarkAddNumber(b *testing.B) {
	b.Run("integers", func(b *testing.B) {
		for b.Loop() {
			_, _ = AddNumber("123456", "7")
		}
	})
	b.Run("decimals", func(b *testing.B) {
		for b.Loop() {
			_, _ = AddNumber("123456.789", "0.0001")
		}
	})
}
