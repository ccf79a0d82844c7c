package transitions_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"pgregory.net/rapid"

	"ratchet/transitions"
	"ratchet/workflow"
)

func parcel(id string, lines ...transitions.ParcelLine) transitions.Parcel {
	return transitions.Parcel{OrderID: "o-1", ID: id, Lines: lines}
}

func pieces(sku string, n int64) transitions.ParcelLine {
	return transitions.ParcelLine{SKU: sku, Quantity: n}
}

// paid places an order of 3 mugs and 2 cups, one line each, and pays it.
func (s *orders) paid(t testing.TB, id transitions.OrderID, items ...transitions.Item) {
	t.Helper()

	if len(items) == 0 {
		items = []transitions.Item{{SKU: "mug", Quantity: 3, Price: 1}, {SKU: "cup", Quantity: 2, Price: 1}}
	}

	if r, err := s.Create(t.Context(), transitions.NewOrder{ID: id, Items: items, Total: transitions.Money{Amount: 5, Currency: "EUR"}}); err != nil || r.Verdict != transitions.Applied {
		t.Fatalf("%s, %v", r.Verdict, err)
	}
	s.want(t, given(id, workflow.Pay, 2), transitions.Applied)
}

// sends ships a parcel and checks the verdict.
func (s *orders) sends(t testing.TB, p transitions.Parcel, want transitions.Verdict) transitions.Result {
	t.Helper()

	r, err := s.ShipParcel(t.Context(), p)
	if err != nil || r.Verdict != want {
		t.Fatalf("parcel %+v: %s, %v; want %s", p, r.Verdict, err, want)
	}

	return r
}

// TestTheStateFollowsTheQuantities: an order is partially shipped until its last piece
// has left.
func TestTheStateFollowsTheQuantities(t *testing.T) {
	inEveryMapping(t, func(t *testing.T, newOrders maker) {
		s := newOrders(t)
		s.sends(t, parcel("p-1", pieces("mug", 2)), transitions.NotFound)
		s.place(t, "early")
		early := parcel("p-1", pieces("mug", 2))
		early.OrderID = "early"
		s.sends(t, early, transitions.WrongState)

		s.paid(t, "o-1")

		first := s.sends(t, parcel("p-1", pieces("mug", 2)), transitions.Applied)
		if o := first.Order; o.State != workflow.PartiallyShipped || o.Items[0].Shipped != 2 || o.Items[1].Shipped != 0 || first.Transition.Event != workflow.ShipPart {
			t.Errorf("%+v", first)
		}
		sameTransition(t, s.sends(t, parcel("p-1", pieces("mug", 2)), transitions.Replayed).Transition, first.Transition)
		s.sends(t, parcel("p-1", pieces("mug", 1)), transitions.Conflict)

		if r := s.sends(t, parcel("p-2", pieces("cup", 1), pieces("mug", 2)), transitions.WrongState); !strings.Contains(r.Reason, "1 pieces of mug more") {
			t.Errorf("reason %q", r.Reason)
		}

		last := s.sends(t, parcel("p-3", pieces("cup", 2), pieces("mug", 1)), transitions.Applied)
		if o := last.Order; o.State != workflow.Shipped || o.Items[0].Shipped != 3 || o.Items[1].Shipped != 2 || last.Transition.Event != workflow.Ship {
			t.Errorf("%+v", last)
		}
		s.sends(t, parcel("p-3", pieces("mug", 1), pieces("cup", 2)), transitions.Replayed) // lines in another order
		s.sends(t, parcel("p-4", pieces("mug", 1)), transitions.WrongState)

		read, _, err := s.Get(t.Context(), "o-1")
		if err != nil || fmt.Sprint(read.Items) != fmt.Sprint(last.Order.Items) {
			t.Errorf("the result's order must be the one in the table: %+v, %v", read, err)
		}
	})
}

func TestALostAnswerOfAParcelIsResolved(t *testing.T) {
	inEveryMapping(t, func(t *testing.T, newOrders maker) {
		s := newOrders(t)
		s.paid(t, "o-1")
		s.withoutRetries(t, 8)

		s.lose(2)

		if r := s.sends(t, parcel("p-1", pieces("cup", 1)), transitions.Applied); s.writes() != 3 || r.Order.Items[1].Shipped != 1 {
			t.Errorf("%d writes, %+v", s.writes(), r.Order)
		}
		s.sends(t, parcel("p-1", pieces("cup", 1)), transitions.Replayed)
	})
}

// TestConcurrentParcelsNeverShipAPieceTwice reports random parcels, each twice and
// all at once, some with more pieces than the order has. As many pieces must have left as
// the applied parcels have, never more than were ordered, and the order must be shipped
// when all have left.
func TestConcurrentParcelsNeverShipAPieceTwice(t *testing.T) {
	inBothModes(t, func(t *testing.T, newOrders maker) {
		s := newOrders(t)
		s.reconfigure(func(c *transitions.Config) { c.Journal, c.Attempts = s.mode, 64 })
		n := 0
		rapid.Check(t, func(rt *rapid.T) {
			n++
			id := transitions.OrderID(fmt.Sprint("r-", n))

			var items []transitions.Item
			ordered := int64(0)
			for _, q := range rapid.SliceOfN(rapid.Int64Range(1, 4), 1, 4).Draw(rt, "lines") {
				items = append(items, transitions.Item{SKU: rapid.SampledFrom([]string{"mug", "cup"}).Draw(rt, "sku"), Quantity: q, Price: 1})
				ordered += q
			}
			s.paid(t, id, items...)

			var parcels []transitions.Parcel
			for i := range rapid.IntRange(1, 6).Draw(rt, "parcels") {
				p := parcel(fmt.Sprint("p-", i), pieces(rapid.SampledFrom([]string{"mug", "cup"}).Draw(rt, "of"), rapid.Int64Range(1, 4).Draw(rt, "pieces")))
				p.OrderID = id
				parcels = append(parcels, p, p)
			}
			rand.Shuffle(len(parcels), func(i, j int) { parcels[i], parcels[j] = parcels[j], parcels[i] })

			var mu sync.Mutex
			left := int64(0)
			var group sync.WaitGroup
			for _, p := range parcels {
				group.Go(func() {
					r, err := s.ShipParcel(t.Context(), p)
					if err != nil {
						t.Errorf("%+v: %v", p, err)
					}

					if r.Verdict == transitions.Applied {
						mu.Lock()
						left += p.Lines[0].Quantity
						mu.Unlock()
					}
				})
			}
			group.Wait()

			order, _, err := s.Get(t.Context(), id)
			if err != nil {
				rt.Fatal(err)
			}

			shipped := int64(0)
			for _, item := range order.Items {
				if shipped += item.Shipped; item.Shipped > item.Quantity {
					rt.Errorf("%+v", item)
				}
			}

			want := workflow.PartiallyShipped
			switch shipped {
			case 0:
				want = workflow.PaymentReceived
			case ordered:
				want = workflow.Shipped
			}

			if shipped != left || order.State != want {
				rt.Errorf("%d pieces of %d have left, parcels say %d, the order is %s", shipped, ordered, left, order.State)
			}
		})
	})
}

func TestInvalidParcelsNameTheField(t *testing.T) {
	s := newOrders(t)
	for field, p := range map[string]transitions.Parcel{
		"orderId":            {OrderID: "a\nb", ID: "p", Lines: []transitions.ParcelLine{pieces("mug", 1)}},
		"parcelId":           parcel("", pieces("mug", 1)),
		"lines:":             parcel("p"),
		"lines[0].sku":       parcel("p", pieces("a b", 1)),
		"lines[1].sku":       parcel("p", pieces("mug", 1), pieces("mug", 1)),
		"lines[0].quantity ": parcel("p", pieces("mug", 0)),
	} {
		if _, err := s.ShipParcel(t.Context(), p); !errors.Is(err, transitions.ErrInvalidRequest) || !strings.Contains(err.Error(), field) {
			t.Errorf("%+v: got %v, want %s", p, err, field)
		}
	}

	made := transitions.NewOrder{ID: "o-1", Items: []transitions.Item{{SKU: "mug", Quantity: 1, Shipped: 1}}, Total: transitions.Money{Currency: "EUR"}}
	if _, err := s.Create(t.Context(), made); !errors.Is(err, transitions.ErrInvalidRequest) || !strings.Contains(err.Error(), "shipped") {
		t.Errorf("an order placed with shipped pieces: %v", err)
	}
}

func TestTheLinesOfAParcelAreBounded(t *testing.T) {
	var lines []transitions.ParcelLine
	for i := range 51 {
		lines = append(lines, pieces(fmt.Sprint("sku-", i), 1))
	}

	if err := parcel("p", lines[:50]...).Validate(); err != nil {
		t.Errorf("50 lines: %v", err)
	}

	if err := parcel("p", lines...).Validate(); !errors.Is(err, transitions.ErrInvalidRequest) || !strings.Contains(err.Error(), "lines: 51, 1 to 50") {
		t.Errorf("51 lines: %v", err)
	}
}

// An order may have a thousand lines of one SKU, which one parcel ships: more than an expression can set one
// by one. What another program has added to a line stays.
func TestAParcelMayChangeEveryLine(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, and many lines")
	}

	inBothModes(t, func(t *testing.T, newOrders maker) {
		s := newOrders(t)
		for _, n := range []int{64, 65, 200, 1000} {
			id := transitions.OrderID(fmt.Sprint("o-", n))
			s.paid(t, id, slices.Repeat([]transitions.Item{{SKU: "mug", Quantity: 2, Price: 1}}, n)...)

			items := s.Item(t, id)["items"].(*types.AttributeValueMemberL)
			items.Value[0].(*types.AttributeValueMemberM).Value["gift"] = text("yes")
			s.putOn(t, id, "items", items)

			p := parcel("p", pieces("mug", int64(2*n-1)))
			p.OrderID = id
			r := s.sends(t, p, transitions.Applied)
			s.sends(t, p, transitions.Replayed)

			last := len(r.Order.Items) - 1
			if r.Order.State != workflow.PartiallyShipped || r.Order.Items[0].Shipped != 2 || r.Order.Items[last].Shipped != 1 {
				t.Errorf("%d lines: %s, %+v, %+v", n, r.Order.State, r.Order.Items[0], r.Order.Items[last])
			}

			after := s.Item(t, id)["items"].(*types.AttributeValueMemberL).Value
			if first := after[0].(*types.AttributeValueMemberM).Value; len(after) != n || first["gift"] == nil {
				t.Errorf("%d lines: %d, the first %v", n, len(after), first)
			}
		}
	})
}

// parcelsBy returns a definition of the shop's events, with its own shipping.
func parcelsBy(t *testing.T, shipping workflow.Shipping) *workflow.Definition {
	t.Helper()

	d, err := workflow.New(workflow.Spec{Name: "whole", Version: 1, Place: "place", Initial: "OPEN",
		States: []workflow.StateSpec{{State: "OPEN"}, {State: "SENDING"}, {State: "SENT", Terminal: true}},
		Transitions: []workflow.Transition{
			{Event: workflow.ShipPart, From: []workflow.State{"OPEN", "SENDING"}, To: "SENDING"},
			{Event: "send", From: []workflow.State{"OPEN", "SENDING"}, To: "SENT"},
		},
		Shipping: shipping})
	if err != nil {
		t.Fatal(err)
	}

	return d
}

// TestParcelsNeedTheirEvents: a definition that does not name the events has no parcels, whatever its events
// are called.
func TestParcelsNeedTheirEvents(t *testing.T) {
	for _, shipping := range []workflow.Shipping{{}, {Left: "send"}} {
		s := newOrders(t)
		s.reconfigure(func(c *transitions.Config) { c.Definition = parcelsBy(t, shipping) })
		s.place(t, "o-1")
		s.sends(t, parcel("p", pieces("mug", 2)), transitions.Illegal)
	}
}

func TestParcelsMakeTheEventsOfTheDefinition(t *testing.T) {
	s := newOrders(t)
	s.reconfigure(func(c *transitions.Config) {
		c.Definition = parcelsBy(t, workflow.Shipping{Part: workflow.ShipPart, Left: "send"})
	})
	s.place(t, "o-1") // two mugs

	if r := s.sends(t, parcel("p", pieces("mug", 1)), transitions.Applied); r.Order.State != "SENDING" {
		t.Errorf("after a part: %s", r.Order.State)
	}

	if r := s.sends(t, parcel("q", pieces("mug", 1)), transitions.Applied); r.Order.State != "SENT" || r.Transition.Event != "send" {
		t.Errorf("after the rest: %s by %s", r.Order.State, r.Transition.Event)
	}
}

// TestMoreShippedThanOrderedIsAnError: another program has counted a line beyond its quantity.
// No parcel makes up for that.
func TestMoreShippedThanOrderedIsAnError(t *testing.T) {
	s := newOrders(t)
	s.paid(t, "o-1", transitions.Item{SKU: "mug", Quantity: 3, Price: 1}, transitions.Item{SKU: "mug", Quantity: 10, Price: 1})

	items := s.Item(t, "o-1")["items"].(*types.AttributeValueMemberL)
	items.Value[0].(*types.AttributeValueMemberM).Value["shipped"] = num(5)
	s.put(t, "items", items)

	if r, err := s.ShipParcel(t.Context(), parcel("p", pieces("mug", 1))); err == nil || !strings.Contains(err.Error(), "of 3 ordered pieces 5 were shipped") {
		t.Errorf("%s, %v", r.Verdict, err)
	}
}

func TestTheNumberOfParcelsIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, and many parcels")
	}

	s := newOrders(t)
	s.paid(t, "o-1", transitions.Item{SKU: "mug", Quantity: 200, Price: 1})

	for i := range 100 {
		s.sends(t, parcel(fmt.Sprint("p-", i), pieces("mug", 1)), transitions.Applied)
	}

	_, err := s.ShipParcel(t.Context(), parcel("p-100", pieces("mug", 1)))
	var limit *transitions.LimitError
	if !errors.As(err, &limit) || limit.What != "parcels" || transitions.Retryable(err) {
		t.Errorf("got %v", err)
	}
}

// TestAParcelWithoutATransitionIsNotSentAgain empties the ring, as another program could:
// the order knows the parcel, and nothing tells which transition it made.
func TestAParcelWithoutATransitionIsNotSentAgain(t *testing.T) {
	inBothModes(t, func(t *testing.T, newOrders maker) {
		s := newOrders(t)
		s.paid(t, "o-1")
		s.sends(t, parcel("p-1", pieces("mug", 1)), transitions.Applied)
		s.put(t, "recent", &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{}})

		r, err := s.ShipParcel(t.Context(), parcel("p-1", pieces("mug", 1)))
		if !errors.Is(err, transitions.ErrJournalBroken) || transitions.Retryable(err) {
			t.Errorf("%s, %v; want ErrJournalBroken", r.Verdict, err)
		}

		if order, _, err := s.Get(t.Context(), "o-1"); err != nil || order.Items[0].Shipped != 1 {
			t.Errorf("%+v, %v; want one piece shipped", order, err)
		}
	})
}

// TestTheNamesOfParcelsAndRequestsAreApart: a caller may choose the request id that a parcel
// of the order has.
func TestTheNamesOfParcelsAndRequestsAreApart(t *testing.T) {
	inBothModes(t, func(t *testing.T, newOrders maker) {
		s := newOrders(t)
		s.place(t, "o-1")
		s.want(t, keyed("o-1", workflow.Pay, "parcel/p-1"), transitions.Applied)
		s.sends(t, parcel("p-1", pieces("mug", 1)), transitions.Applied)
		s.want(t, keyed("o-1", workflow.Pay, "parcel/p-1"), transitions.Replayed)
		s.sends(t, parcel("p-1", pieces("mug", 1)), transitions.Replayed)
		s.want(t, keyed("o-1", workflow.ShipPart, "parcel/p-2"), transitions.Applied)
		s.sends(t, parcel("p-2", pieces("mug", 1)), transitions.Applied)
	})
}

// TestOldParcelsAreReplayed: the ring has forgotten the parcel's transition, and no reader
// has written the journal.
func TestOldParcelsAreReplayed(t *testing.T) {
	s := newOrders(t)
	s.paid(t, "o-1")

	first := s.sends(t, parcel("p-1", pieces("mug", 1)), transitions.Applied)
	for id := first.Transition.ID + 1; id < 20; id++ {
		s.want(t, given("o-1", workflow.ShipPart, id), transitions.Applied)
	}
	sameTransition(t, s.sends(t, parcel("p-1", pieces("mug", 1)), transitions.Replayed).Transition, first.Transition)
}
