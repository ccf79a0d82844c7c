package steps_test

import (
	"strings"
	"testing"

	"ratchet/embedded/embeddedtest"
	"ratchet/transitions"
	"ratchet/workflow"
)

// level checks the stock of sku-1.
func (s *orderSteps) wantStock(t *testing.T, available, reserved, committed int64) {
	t.Helper()

	l, _, err := s.stock.Level(t.Context(), "sku-1")
	if err != nil || l.Available != available || l.Reserved != reserved || l.Committed != committed {
		t.Errorf("stock %+v, %v; want %d available, %d reserved, %d committed", l, err, available, reserved, committed)
	}
}

func (s *orderSteps) setStock(t *testing.T, n int64) {
	t.Helper()

	if err := s.stock.Set(t.Context(), "sku-1", n); err != nil {
		t.Fatal(err)
	}

	// A sweep asks for the time, so that no later call reads the stock for that.
	if _, err := s.stock.ExpireDue(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
}

// wantOrder checks the state of o-1 and how many transitions it has made.
func (s *orderSteps) wantOrder(t *testing.T, state workflow.State, id transitions.TransitionID) {
	t.Helper()

	order, found, err := s.orders.Get(t.Context(), "o-1")
	if err != nil || !found || order.State != state || order.TransitionID != id {
		t.Errorf("order %+v, %v; want %s at %d", order, err, state, id)
	}
}

// move applies an event to o-1 as another caller would.
func (s *orderSteps) move(t *testing.T, events ...workflow.Event) {
	t.Helper()

	for _, event := range events {
		s.moves++

		r, err := s.orders.Apply(t.Context(), transitions.Request{OrderID: "o-1", Event: event, RequestID: transitions.RequestID(strings.Repeat("i", s.moves))})
		if err != nil || r.Verdict != transitions.Applied {
			t.Fatalf("%s: %s, %v", event, r.Verdict, err)
		}
	}
}

const (
	newOrder = `{"orderId":"o-1","items":[{"sku":"sku-1","quantity":2}],"total":{"amount":500,"currency":"EUR"}}`
	accepted = `{"order":` + newOrder + `,"started":"2026-01-01T00:00:00.000Z"}`
)

// place places o-1 as the API does, without an execution.
func (s *orderSteps) place(t *testing.T) {
	t.Helper()

	_, err := s.orders.Create(t.Context(), transitions.NewOrder{
		ID:    "o-1",
		Items: []transitions.Item{{SKU: "sku-1", Quantity: 2}},
		Total: transitions.Money{Amount: 500, Currency: "EUR"},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// accept accepts o-1, of which there are enough pieces.
func (s *orderSteps) accept(t *testing.T) {
	t.Helper()
	s.setStock(t, 10)

	if _, err := s.run(t, "accept", accepted); err != nil {
		t.Fatal(err)
	}
}

// TestAcceptPlacesAndReserves runs twice: the second run is a retry whose first answer was
// lost.
func TestAcceptPlacesAndReserves(t *testing.T) {
	s := newOrderSteps(t, newKit(t), 1)
	s.setStock(t, 3)

	for range 2 {
		if got, err := s.run(t, "accept", accepted); err != nil || !strings.Contains(got, `"state":"PENDING","transitionId":1`) {
			t.Errorf("got %s, %v", got, err)
		}
	}
	s.wantStock(t, 1, 2, 0)
	s.wantOrder(t, workflow.Pending, 1)
}

// TestAcceptOfAnOrderThatExists: an order that the API has placed is reserved, also if it was paid
// there; an order that has moved on is adopted with its position.
func TestAcceptOfAnOrderThatExists(t *testing.T) {
	for _, c := range []struct {
		name      string
		before    []workflow.Event
		failure   string
		cause     string
		available int64
	}{
		{"placed", nil, "", "", 1},
		{"held", []workflow.Event{workflow.Hold}, "Order.WrongState", `"state":"ON_HOLD","transitionId":2`, 3},
		{"held and released", []workflow.Event{workflow.Hold, workflow.Release}, "", "", 1},
		{"paid", []workflow.Event{workflow.Pay}, "Order.WrongState", `"state":"PAYMENT_RECEIVED","transitionId":2`, 1},
		{"canceled by the customer", []workflow.Event{workflow.Cancel}, "Order.WrongState", `"state":"CANCELLED","transitionId":2`, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newOrderSteps(t, newKit(t), 1)
			s.setStock(t, 3)
			s.place(t)
			s.move(t, c.before...)

			if _, err := s.run(t, "accept", accepted); name(err) != c.failure || (err != nil && !strings.Contains(err.Error(), c.cause)) {
				t.Errorf("got %v", err)
			}
			s.wantStock(t, c.available, 3-c.available, 0)
		})
	}
}

// TestAcceptWithShortStock: the order is placed and canceled, and every retry says why.
func TestAcceptWithShortStock(t *testing.T) {
	for _, placed := range []bool{false, true} {
		s := newOrderSteps(t, newKit(t), 1)
		s.setStock(t, 1)

		if placed {
			s.place(t)
		}

		for range 2 {
			if _, err := s.run(t, "accept", accepted); name(err) != "Order.OutOfStock" {
				t.Errorf("placed before %v: got %v", placed, err)
			}
			s.setStock(t, 5) // the goods come too late: the order stays canceled
		}
		s.wantOrder(t, workflow.Cancelled, 2)
	}
}

// TestASecondExecutionDoesNotAcceptAgain: the name of an execution becomes free after 90 days.
func TestASecondExecutionDoesNotAcceptAgain(t *testing.T) {
	s := newOrderSteps(t, newKit(t), 1)
	s.setStock(t, 3)

	if _, err := s.run(t, "accept", accepted); err != nil {
		t.Fatal(err)
	}

	later := strings.Replace(accepted, "2026-01-01", "2026-06-01", 1)
	if _, err := s.run(t, "accept", later); name(err) != "Order.AlreadyAccepted" || !strings.Contains(err.Error(), "2026-01-01") {
		t.Errorf("got %v", err)
	}

	adopting := strings.Replace(later, `"orderId"`, `"adopt":true,"orderId"`, 1)
	if got, err := s.run(t, "accept", adopting); err != nil || !strings.Contains(got, "PENDING") {
		t.Errorf("a successor got %s, %v", got, err)
	}

	other := strings.Replace(accepted, "500", "600", 1)
	if _, err := s.run(t, "accept", other); name(err) != "Order.OtherContent" {
		t.Errorf("other content: got %v", err)
	}
}

// TestAcceptOfUnusualOrders: an order without lines reserves nothing; an order with too many SKUs for
// a transaction is refused before it is placed.
func TestAcceptOfUnusualOrders(t *testing.T) {
	s := newOrderSteps(t, newKit(t), 1)

	if _, err := s.run(t, "accept", `{"order":{"orderId":"o-1","total":{"amount":5,"currency":"EUR"}},"started":"then"}`); err != nil {
		t.Error(err)
	}

	var lines []string
	for i := range 99 {
		lines = append(lines, `{"sku":"sku-`+strings.Repeat("x", i+1)+`","quantity":1}`)
	}

	many := `{"order":{"orderId":"o-2","items":[` + strings.Join(lines, ",") + `],"total":{"amount":5,"currency":"EUR"}},"started":"then"}`
	if _, err := s.run(t, "accept", many); name(err) != "Order.InvalidInput" {
		t.Errorf("got %v", err)
	}

	if _, found, err := s.orders.Get(t.Context(), "o-2"); found || err != nil {
		t.Errorf("the order was placed, %v", err)
	}
}

// edit changes the quantity of o-1's line at the price of 250, so that the total follows.
func (s *orderSteps) edit(t *testing.T, quantity int64) {
	t.Helper()

	s.moves++

	r, err := s.orders.ChangeItem(t.Context(), transitions.Edit{OrderID: "o-1", EventID: transitions.RequestID(strings.Repeat("e", s.moves))},
		transitions.Item{SKU: "sku-1", Quantity: quantity, Price: 250})
	if err != nil || r.Verdict != transitions.Applied {
		t.Fatalf("%s, %v", r.Verdict, err)
	}
}

// TestASuccessorTakesAnOrderThatWasEdited: its input has other content than the order was
// placed with. The order's present lines are reserved.
func TestASuccessorTakesAnOrderThatWasEdited(t *testing.T) {
	s := newOrderSteps(t, newKit(t), 1)
	s.setStock(t, 5)
	s.place(t)
	s.edit(t, 3)
	edited := strings.Replace(accepted, `"quantity":2`, `"quantity":3`, 1)

	if _, err := s.run(t, "accept", edited); name(err) != "Order.OtherContent" {
		t.Errorf("without the mark: got %v", err)
	}

	if got, err := s.run(t, "accept", strings.Replace(edited, `"orderId"`, `"adopt":true,"orderId"`, 1)); err != nil || !strings.Contains(got, `"state":"PENDING"`) {
		t.Errorf("got %s, %v", got, err)
	}
	s.wantStock(t, 2, 3, 0)
}

// TestTheReservationFollowsTheEdits: an order is edited before it is accepted, and again before
// it is paid. It is charged and shipped as it is in the end.
func TestTheReservationFollowsTheEdits(t *testing.T) {
	s := newOrderSteps(t, newKit(t), 1)
	s.setStock(t, 10)
	s.place(t)
	s.edit(t, 5)

	if _, err := s.run(t, "accept", accepted); err != nil {
		t.Fatal(err)
	}
	s.wantStock(t, 5, 5, 0)
	s.edit(t, 1)

	if _, err := s.run(t, "pay", paying); name(err) != "Order.Superseded" || !strings.Contains(err.Error(), `"state":"PENDING"`) {
		t.Errorf("paid with another reservation: %v", err)
	}
	s.wantPayment(t, "NONE")

	for _, step := range [][2]string{{"accept", accepted}, {"pay", paying}} {
		if _, err := s.run(t, step[0], step[1]); err != nil {
			t.Errorf("%s: %v", step[0], err)
		}
	}
	s.wantStock(t, 9, 1, 0)
	s.wantPayment(t, "CAPTURED")
}

// TestAnEditedOrderThatAnotherCallerPaidIsReservedAsItIs: for pieces that are missing, the
// execution waits.
func TestAnEditedOrderThatAnotherCallerPaidIsReservedAsItIs(t *testing.T) {
	s := newOrderSteps(t, newKit(t), 1)
	s.setStock(t, 3)

	if _, err := s.run(t, "accept", accepted); err != nil {
		t.Fatal(err)
	}
	s.edit(t, 5)
	s.move(t, workflow.Pay)

	if _, err := s.run(t, "pay", paying); name(err) != "Order.Unavailable" || !strings.Contains(err.Error(), "out of stock: sku-1") {
		t.Errorf("without the pieces: %v", err)
	}
	s.setStock(t, 3)

	if _, err := s.run(t, "pay", paying); name(err) != "Order.Superseded" || !strings.Contains(err.Error(), `"state":"PAYMENT_RECEIVED"`) {
		t.Errorf("with the pieces: %v", err)
	}
	s.wantStock(t, 0, 5, 0)
}

// TestALateAcceptReservesNothing: while it hung, between its look at the order and its
// reservation, others have paid and shipped the order.
func TestALateAcceptReservesNothing(t *testing.T) {
	kit := newKit(t)
	s := newOrderSteps(t, kit, 1)
	s.setStock(t, 3)
	s.place(t)

	writes := 0
	kit.Wire.Before(func(c *embeddedtest.Call) error {
		if !c.Is("TransactWriteItems") {
			return nil
		}

		// The first one would place the order, the second one reserves.
		if writes++; writes == 2 {
			s.move(t, workflow.Pay, workflow.Ship)

			return s.stock.CommitAndClose(t.Context(), s.life(t)) // as the stream's reaction does
		}

		return nil
	})

	if _, err := s.run(t, "accept", accepted); name(err) != "Order.WrongState" || !strings.Contains(err.Error(), `"state":"SHIPPED"`) {
		t.Errorf("got %v", err)
	}
	s.wantStock(t, 3, 0, 0)
}

// hangOnce calls meanwhile before the next read of the stock. hung tells whether it has done so.
func hangOnce(transport *embeddedtest.Transport, meanwhile func()) (hung *bool) {
	hung = new(bool)

	transport.Before(func(c *embeddedtest.Call) error {
		if !*hung && c.Is("GetItem") && strings.Contains(string(c.Body()), `"stock"`) {
			*hung = true

			meanwhile()
		}

		return nil
	})

	return hung
}

// TestAHungAcceptDoesNotUndoAReservation: while it hung, before it read the reservation, the order
// was edited, accepted by another worker and paid.
func TestAHungAcceptDoesNotUndoAReservation(t *testing.T) {
	kit := newKit(t)
	s := newOrderSteps(t, kit, 1)
	s.setStock(t, 10)
	s.place(t)
	s.edit(t, 3)

	hung := hangOnce(kit.Wire, func() {
		s.edit(t, 5)

		for _, step := range [][2]string{{"accept", accepted}, {"pay", paying}} {
			if _, err := s.run(t, step[0], step[1]); err != nil {
				t.Errorf("%s: %v", step[0], err)
			}
		}
	})

	if _, err := s.run(t, "accept", accepted); name(err) != "Order.Unavailable" || !*hung {
		t.Errorf("the accept that hung: %v", err)
	}
	s.wantStock(t, 5, 5, 0)
	s.wantOrder(t, workflow.PaymentReceived, 2)
}

// TestShortStockOfFormerLinesCancelsNothing: the order was corrected after it was read.
func TestShortStockOfFormerLinesCancelsNothing(t *testing.T) {
	kit := newKit(t)
	s := newOrderSteps(t, kit, 1)
	s.setStock(t, 10)
	s.place(t)
	s.edit(t, 50)

	hangOnce(kit.Wire, func() { s.edit(t, 5) })

	if _, err := s.run(t, "accept", accepted); name(err) != "Order.Unavailable" {
		t.Errorf("got %v", err)
	}

	if _, err := s.run(t, "accept", accepted); err != nil {
		t.Errorf("again: %v", err)
	}
	s.wantStock(t, 5, 5, 0)
}
