package reactions_test

import (
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
	"ratchet/payments"
	"ratchet/shipping"
	"ratchet/streams"
	"ratchet/streams/reactions"
	"ratchet/tests/shop"
	"ratchet/transitions"
	"ratchet/workflow"
)

// livesAgain deletes o-1, whose id another order gets an hour later, and moves that order.
func (s *orderSystem) livesAgain(t *testing.T, events ...workflow.Event) {
	t.Helper()

	if _, err := s.DB.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{
		TableName: aws.String(shop.OrdersTable), Key: dynamo.Item{"orderId": dynamo.S("o-1")},
	}); err != nil {
		t.Fatal(err)
	}

	later := s.Orders(shop.WithoutRequests, func(c *transitions.Config) { c.Now = func() time.Time { return time.Now().Add(time.Hour) } })
	if _, err := later.Create(t.Context(), transitions.NewOrder{
		ID: "o-1", Items: []transitions.Item{{SKU: "mug", Quantity: 2, Price: total / 2}}, Total: transitions.Money{Amount: total, Currency: "EUR"},
	}); err != nil {
		t.Fatal(err)
	}

	for _, event := range events {
		s.move(t, later, event)
	}
}

// TestALateReturnMovesNoOtherOrder: the record of a return is handled when its order is deleted and another
// order with the id has come back, too, whose money is still to be given back.
func TestALateReturnMovesNoOtherOrder(t *testing.T) {
	s := newOrderSystem(t)
	orders, handlers := s.at(t, 1, func(c *reactions.Config) { c.RefundReturns = true })
	record := s.returned(t, orders, func(n payments.NewPayment) error {
		_, err := s.payments.Charge(t.Context(), n)
		return err
	})
	s.livesAgain(t, workflow.Pay, workflow.Ship, workflow.Deliver, workflow.RequestReturn, workflow.ReceiveReturn)

	record.Late = true
	handle(t, handlers[reactions.RefundHandler], record)

	order, _, err := orders.Get(t.Context(), "o-1")
	if err != nil || order.State != workflow.Returned {
		t.Errorf("the other order is %s, %v", order.State, err)
	}

	if p, err := s.payments.Get(t.Context(), payments.IDForOrder(life)); err != nil || p.Refunded != total {
		t.Errorf("of the order's own money %d were given back, %v", p.Refunded, err)
	}
}

// TestALateShipmentIsOfTheOrdersPresentLife: a shipment that is due after the order was renewed is booked
// under the key of the new life. One of an order whose id another order has is not booked.
func TestALateShipmentIsOfTheOrdersPresentLife(t *testing.T) {
	s := newOrderSystem(t)
	orders, handlers := s.at(t, 1)
	place(t, orders)
	paid := s.move(t, orders, workflow.Pay)
	paid.Late = true

	order, _, err := orders.Get(t.Context(), "o-1")
	if err != nil {
		t.Fatal(err)
	}

	if renewed, err := orders.Renew(t.Context(), order); !renewed || err != nil {
		t.Fatal(renewed, err)
	}
	handle(t, handlers[reactions.ShippingHandler], paid)

	want := []string{key(t, orders, shipping.Effect)}
	if got := s.booked(t); !slices.Equal(got, want) {
		t.Errorf("booked %q, want %q", got, want)
	}

	s.livesAgain(t, workflow.Pay)

	if err := handlers[reactions.ShippingHandler](t.Context(), paid); !streams.IsPermanent(err) {
		t.Errorf("another order has the id: %v", err)
	}

	if got := s.booked(t); !slices.Equal(got, want) {
		t.Errorf("booked %q, want %q", got, want)
	}
}

// TestALateNotificationErasesNoOtherOrder: the deliveries of all lives are erased together.
func TestALateNotificationErasesNoOtherOrder(t *testing.T) {
	s := newOrderSystem(t)
	orders, handlers := s.at(t, 1)
	place(t, orders)
	record := s.move(t, orders, workflow.Cancel)
	s.livesAgain(t)

	record.Late = true
	handle(t, handlers[reactions.NotifyHandler], record)

	if len(s.erased) != 0 {
		t.Errorf("%q were erased", s.erased)
	}
}
