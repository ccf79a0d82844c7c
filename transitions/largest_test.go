package transitions_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/once/txn"
	"ratchet/tests/shop"
	"ratchet/transitions"
	"ratchet/workflow"
)

// largest is a new order with each part at its bound: 1,000 lines of 97 SKUs whose numbers have 18 digits.
func largest(id transitions.OrderID) transitions.NewOrder {
	long := func(prefix string, n int) string { return prefix + strings.Repeat("x", n-len(prefix)) }
	address, metadata := transitions.Address{}, transitions.Metadata{}
	for i := range 8 {
		address[fmt.Sprint(i)] = long("", 511)
	}

	for i := range 10 {
		metadata[fmt.Sprint(i)] = long("", 200)
	}

	n := transitions.NewOrder{
		ID: id, Total: transitions.Money{Amount: 123456789012345678, Currency: "EUR"}, Customer: long("c", 100), Reference: long("r", 100),
		Shipping: address, Billing: address, Metadata: metadata, PlacedBy: long("p", 512), Cause: longCause(),
	}
	for i := range 1000 {
		n.Items = append(n.Items, transitions.Item{SKU: long(fmt.Sprintf("%d-", i%97), 128), Quantity: 123456789012345678, Price: 123456789012345678})
	}

	return n
}

func longCause() transitions.Cause {
	return transitions.Cause{Code: strings.Repeat("c", 32), Text: strings.Repeat("t", 1000), Actor: strings.Repeat("a", 64),
		Source: strings.Repeat("s", 16), Trace: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}
}

// TestTheLargestOrderGoesItsWay: an order at all bounds is placed, edited as often as it remembers edits, has
// 100 notes, leaves in 100 parcels that touch every line, and still has room.
func TestTheLargestOrderGoesItsWay(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, and many bytes")
	}

	s := newOrders(t)
	s.reconfigure(func(c *transitions.Config) { c.EditMemory = 64 })

	n := largest("o-1")
	if r, err := s.Create(t.Context(), n); err != nil || r.Verdict != transitions.Applied {
		t.Fatal(r.Verdict, err)
	}

	for i := range 100 {
		e := edit("o-1", fmt.Sprint(strings.Repeat("e", 250), i))
		e.Cause = longCause()
		edited(t, transitions.Applied)(s.AddNote(t.Context(), e, transitions.Note{By: strings.Repeat("b", 128), Text: strings.Repeat("n", 1000)}))
	}
	pay := keyed("o-1", workflow.Pay, "pay")
	pay.Cause = longCause()
	s.want(t, pay, transitions.Applied)

	for i := range 100 {
		p := transitions.Parcel{OrderID: "o-1", ID: fmt.Sprint(strings.Repeat("p", 120), i), Cause: longCause()}
		// Two parcels send the next line of each SKU, and the last ones single pieces.
		for sku := range 97 {
			if len(p.Lines) < 50 && sku%2 == i%2 {
				line := transitions.ParcelLine{SKU: n.Items[sku].SKU, Quantity: 123456789012345678}
				if i >= 18 {
					line.Quantity = 1234567890123456
				}
				p.Lines = append(p.Lines, line)
			}
		}

		if r, err := s.ShipParcel(t.Context(), p); err != nil || r.Verdict != transitions.Applied {
			t.Fatal(i, r.Verdict, r.Reason, err)
		}
	}

	size := itemSize(s.Item(t, "o-1"))
	t.Logf("the largest order has %d bytes", size)

	if size > 330<<10 {
		t.Errorf("the largest order has %d bytes", size)
	}
}

// TestWhatIsPlacedHasBounds that can be known from the request alone.
func TestWhatIsPlacedHasBounds(t *testing.T) {
	s := newOrders(t)
	for field, change := range map[string]func(n *transitions.NewOrder, over int){
		"placedBy": func(n *transitions.NewOrder, over int) { n.PlacedBy = strings.Repeat("p", 512+over) },
		"incarnation": func(n *transitions.NewOrder, over int) {
			n.Incarnation += transitions.Incarnation(strings.Repeat("0", over))
		},
	} {
		n := s.newOrder(transitions.OrderID(field), 5)
		n.Incarnation = transitions.NewIncarnation(time.Now())
		change(&n, 1)

		if _, err := s.Create(t.Context(), n); !errors.Is(err, transitions.ErrInvalidRequest) || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: %v", field, err)
		}
		n.Incarnation = transitions.NewIncarnation(time.Now())
		change(&n, 0)

		if r, err := s.Create(t.Context(), n); err != nil || r.Verdict != transitions.Applied {
			t.Errorf("%s: %v", field, err)
		}
	}

	s.place(t, "o-1")
	r := keyed("o-1", workflow.Pay, "k")
	r.Values = map[string]any{"a": strings.Repeat("v", 256<<10)}

	if _, err := s.Apply(t.Context(), r); !errors.Is(err, transitions.ErrInvalidRequest) || !strings.Contains(err.Error(), "values: 262145 bytes, at most 262144") {
		t.Errorf("values: %.200s", err)
	}
}

// TestAnOrderIsPlacedWithAsMuchAsATransactionHolds: 100 actions and 4 MB are taken, one more of either is
// refused, with the count and the limit, before anything is sent.
func TestAnOrderIsPlacedWithAsMuchAsATransactionHolds(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, and many bytes")
	}

	inBothModes(t, func(t *testing.T, newOrders maker) {
		s := newOrders(t)
		own := 1
		if s.mode == transitions.JournalTransactional {
			own = 2
		}

		part := func(id string, bytes int) types.TransactWriteItem {
			return types.TransactWriteItem{Put: &types.Put{TableName: aws.String(shop.OrdersTable), Item: map[string]types.AttributeValue{
				"orderId": text(id), "b": &types.AttributeValueMemberB{Value: make([]byte, bytes)}}}}
		}
		place := func(id transitions.OrderID, sizes ...int) error {
			_, err := s.CreateWith(t.Context(), s.newOrder(id, 5), func(tx *txn.Transaction) {
				for i, bytes := range sizes {
					tx.Add(fmt.Sprint("part ", i), part(fmt.Sprintf("%s-%03d", id, i), bytes), nil)
				}
			})

			return err
		}

		if err := place("parts", make([]int, 101-own)...); !errors.Is(err, txn.ErrInvalid) || !strings.Contains(err.Error(), "101 parts, at most 100") {
			t.Errorf("101 parts: %v", err)
		}

		if err := place("parts", make([]int, 100-own)...); err != nil {
			t.Errorf("100 parts: %v", err)
		}

		// Ten items of nearly 400 KB, and a last one that fills the transaction.
		sizes := make([]int, 11)
		for i := range 10 {
			sizes[i] = 409_500
		}

		low, high := 90_000, 110_000 // of the last item: taken, refused
		for high-low > 1 {
			sizes[10] = (low + high) / 2

			if err := place("bytes", sizes...); errors.Is(err, txn.ErrInvalid) && strings.Contains(err.Error(), "at most 4194304") {
				high = sizes[10]
			} else if err != nil {
				t.Fatal(err)
			} else {
				low = sizes[10]
				s.remove(t, "bytes")
			}
		}

		if err := place("bytes", append(sizes[:10:10], high)...); !strings.Contains(fmt.Sprint(err), " 4194305 bytes, at most 4194304") {
			t.Errorf("one byte more: %v", err)
		}
	})
}

// TestAnItemThatOthersHaveFilledIsFullForEveryWrite: what makes an item of exactly 400 KB is taken, and one byte
// more is a LimitError, whatever the write and however it is sent.
func TestAnItemThatOthersHaveFilledIsFullForEveryWrite(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, and many bytes")
	}

	const limit = 400 << 10

	calls := map[string]func(*orders, transitions.OrderID) error{
		"apply": func(s *orders, id transitions.OrderID) error {
			_, err := s.Apply(t.Context(), keyed(id, workflow.Pay, "k"))
			return err
		},
		"note": func(s *orders, id transitions.OrderID) error {
			_, err := s.AddNote(t.Context(), edit(id, "e"), transitions.Note{Text: "x"})
			return err
		},
		"items": func(s *orders, id transitions.OrderID) error {
			_, err := s.AddItems(t.Context(), edit(id, "e"), cup)
			return err
		},
		"address": func(s *orders, id transitions.OrderID) error {
			_, err := s.SetAddress(t.Context(), edit(id, "e"), "billing", transitions.Address{"city": "x"})
			return err
		},
		"items in a transaction": func(s *orders, id transitions.OrderID) error { return s.inOneTransaction(t, edit(id, "e"), cup) },
		"parcel": func(s *orders, id transitions.OrderID) error {
			s.putOn(t, id, "orderState", text("PAYMENT_RECEIVED"))
			p := parcel("p", transitions.ParcelLine{SKU: "mug", Quantity: 1})
			p.OrderID = id
			_, err := s.ShipParcel(t.Context(), p)

			return err
		},
	}

	inBothModes(t, func(t *testing.T, newOrders maker) {
		for name, call := range calls {
			s := newOrders(t)
			s.reconfigure(func(c *transitions.Config) {
				c.Journal, c.Now = s.mode, func() time.Time { return time.UnixMilli(1763721672123) }
			})

			write := func(id transitions.OrderID, filler int) error {
				s.place(t, id)
				s.putOn(t, id, "attachment", &types.AttributeValueMemberB{Value: make([]byte, filler)})

				return call(s, id)
			}

			if err := write("o-1", 0); err != nil {
				t.Fatal(name, err)
			}
			room := limit - itemSize(s.Item(t, "o-1"))

			if err := write("o-2", room); err != nil || itemSize(s.Item(t, "o-2")) != limit {
				t.Errorf("%s to 400 KB: %v, %d bytes", name, err, itemSize(s.Item(t, "o-2")))
			}
			err := write("o-3", room+1)

			if large := (*txn.ItemSizeError)(nil); name == "items in a transaction" && errors.As(err, &large) && large.Part == "order" {
				continue // the caller has sent the transaction
			}

			if what := limitOf(t, err); what != "item bytes" {
				t.Errorf("%s beyond 400 KB: %v", name, err)
			}
		}
	})
}
