package reactions_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"ratchet/payments"
	"ratchet/shipping"
	"ratchet/streams"
	"ratchet/streams/reactions"
	"ratchet/transitions"
	"ratchet/workflow"
)

// returned brings o-1 to RETURNED and returns the record. The payment is opened before.
func (s *orderSystem) returned(t *testing.T, orders *transitions.Orders, open func(payments.NewPayment) error) streams.Record {
	t.Helper()
	placeAndPay(t, orders)

	accounts, err := payments.OpenOrderAccounts(t.Context(), s.ledger, "EUR")
	if err != nil {
		t.Fatal(err)
	}

	if err := open(payments.NewPayment{
		ID: payments.IDForOrder(life), OrderID: "o-1", Payer: accounts.Payer, Payee: accounts.Payee, Amount: total, Currency: "EUR",
	}); err != nil {
		t.Fatal(err)
	}

	for _, event := range []workflow.Event{workflow.Ship, workflow.Deliver, workflow.RequestReturn} {
		s.move(t, orders, event)
	}

	return s.move(t, orders, workflow.ReceiveReturn)
}

// TestTheMoneyOfAReturnedOrderIsGivenBackOnce handles the record twice: the first answer may
// have been lost.
func TestTheMoneyOfAReturnedOrderIsGivenBackOnce(t *testing.T) {
	for name, test := range map[string]struct {
		open     func(*orderSystem, payments.NewPayment) error
		want     workflow.State
		refunded int64
	}{
		"charged": {func(s *orderSystem, n payments.NewPayment) error {
			_, err := s.payments.Charge(t.Context(), n)
			return err
		}, workflow.Refunded, total},
		"partly refunded by a person": {func(s *orderSystem, n payments.NewPayment) error {
			_, err := s.payments.Charge(t.Context(), n)
			_, refundErr := s.payments.Refund(t.Context(), n.ID, payments.StepRequest{ID: "person", Amount: 50})

			return errors.Join(err, refundErr)
		}, workflow.Refunded, total},
		"refunded by a person": {func(s *orderSystem, n payments.NewPayment) error {
			_, err := s.payments.Charge(t.Context(), n)
			_, refundErr := s.payments.Refund(t.Context(), n.ID, payments.StepRequest{ID: "person", Amount: total})

			return errors.Join(err, refundErr)
		}, workflow.Refunded, total},
		"only authorized: the capture is late": {func(s *orderSystem, n payments.NewPayment) error {
			_, err := s.payments.Authorize(t.Context(), n)
			return err
		}, workflow.Refunded, 0},
		"paid elsewhere": {func(*orderSystem, payments.NewPayment) error { return nil }, workflow.Returned, 0},
	} {
		s := newOrderSystem(t)
		orders, handlers := s.at(t, 1, func(c *reactions.Config) { c.RefundReturns = true })
		record := s.returned(t, orders, func(n payments.NewPayment) error { return test.open(s, n) })

		for range 2 {
			handle(t, handlers[reactions.RefundHandler], record)
		}

		order, _, err := orders.Get(t.Context(), "o-1")
		if err != nil || order.State != test.want {
			t.Errorf("%s: the order is %s, %v", name, order.State, err)
		}

		if p, err := s.payments.Get(t.Context(), payments.IDForOrder(life)); err == nil && p.Refunded != test.refunded {
			t.Errorf("%s: %d refunded, want %d", name, p.Refunded, test.refunded)
		}
	}
}

// TestNothingIsCapturedAfterTheRefund: the capture at the shipment comes late.
func TestNothingIsCapturedAfterTheRefund(t *testing.T) {
	s := newOrderSystem(t)
	orders, handlers := s.at(t, 1, func(c *reactions.Config) { c.RefundReturns = true })
	placeAndPay(t, orders)

	accounts, err := payments.OpenOrderAccounts(t.Context(), s.ledger, "EUR")
	if err != nil {
		t.Fatal(err)
	}

	if _, err := s.payments.Authorize(t.Context(), payments.NewPayment{
		ID: payments.IDForOrder(life), OrderID: "o-1", Payer: accounts.Payer, Payee: accounts.Payee, Amount: total, Currency: "EUR",
	}); err != nil {
		t.Fatal(err)
	}
	shipped := s.move(t, orders, workflow.Ship)

	for _, event := range []workflow.Event{workflow.Deliver, workflow.RequestReturn} {
		s.move(t, orders, event)
	}
	handle(t, handlers[reactions.RefundHandler], s.move(t, orders, workflow.ReceiveReturn))
	handle(t, handlers[reactions.PaymentHandler], shipped)

	if p, err := s.payments.Get(t.Context(), payments.IDForOrder(life)); err != nil || p.Captured != 0 || p.State != "VOIDED" {
		t.Errorf("%+v, %v", p, err)
	}
}

// TestARefundThatTheBankDeclinesIsForAPerson: a redrive asks the bank again.
func TestARefundThatTheBankDeclinesIsForAPerson(t *testing.T) {
	s := newOrderSystem(t)
	orders, handlers := s.at(t, 1, func(c *reactions.Config) { c.RefundReturns = true })
	record := s.returned(t, orders, func(n payments.NewPayment) error {
		_, err := s.payments.Charge(t.Context(), n)
		return err
	})
	s.bank.refunds = payments.ErrDeclined

	if err := handlers[reactions.RefundHandler](t.Context(), record); !streams.IsPermanent(err) || !strings.Contains(err.Error(), "cannot be given back") {
		t.Errorf("got %v", err)
	}
	s.bank.refunds = nil
	handle(t, handlers[reactions.RefundHandler], record)

	if order, _, err := orders.Get(t.Context(), "o-1"); err != nil || order.State != workflow.Refunded {
		t.Errorf("after the redrive: %s, %v", order.State, err)
	}
}

// TestReturnsAreRefundedOnlyIfConfigured.
func TestReturnsAreRefundedOnlyIfConfigured(t *testing.T) {
	s := newOrderSystem(t)

	_, handlers := s.at(t, 1)
	if handlers[reactions.RefundHandler] != nil {
		t.Error("there is a handler without RefundReturns")
	}
}

// answering is a carrier that answers every booking with an error.
type answering struct {
	shipping.Carrier
	err error
}

func (a answering) Book(context.Context, string, string) (string, error) { return "", a.err }

// TestACarriersRefusalIsForAPerson: other failures are repeated.
func TestACarriersRefusalIsForAPerson(t *testing.T) {
	for _, test := range []struct {
		err       error
		permanent bool
	}{
		{errUnavailable, false},
		{fmt.Errorf("no such country: %w", shipping.ErrRefused), true},
	} {
		s := newOrderSystem(t)

		booker, err := shipping.New(shipping.Config{Claims: s.claims, Carrier: answering{s.carrier, test.err}})
		if err != nil {
			t.Fatal(err)
		}

		orders, handlers := s.at(t, 1, func(c *reactions.Config) { c.Booker = booker })
		place(t, orders)
		record := s.move(t, orders, workflow.Pay)

		if err := handlers[reactions.ShippingHandler](t.Context(), record); err == nil || streams.IsPermanent(err) != test.permanent {
			t.Errorf("%v: got %v", test.err, err)
		}
	}
}
