package steps_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	banksandbox "ratchet/payments/sandbox"

	"ratchet/payments"
	"ratchet/workflow"
)

const paying = `{"orderId":"o-1","transitionId":2}`

// wantPayment checks the state of the order's payment; NONE stands for no payment.
func (s *shop) wantPayment(t *testing.T, want workflow.State) {
	t.Helper()

	p, err := s.payments.Get(t.Context(), "o-1")
	if errors.Is(err, payments.ErrUnknownPayment) {
		p.State, err = "NONE", nil
	}

	if err != nil || p.State != want {
		t.Errorf("payment %s, %v; want %s", p.State, err, want)
	}
}

// TestPayChargesAndMoves runs twice: the second run is a retry whose first answer was lost.
func TestPayChargesAndMoves(t *testing.T) {
	for _, c := range []struct {
		capture bool
		want    workflow.State
	}{{false, "CAPTURED"}, {true, "AUTHORIZED"}} {
		s := newShop(t, newTables(t), 1, func(far *sides) { far.capture = c.capture })
		s.place(t)

		for range 2 {
			if got, err := s.run(t, "pay", paying); err != nil || !strings.Contains(got, `"state":"PAYMENT_RECEIVED","transitionId":2`) {
				t.Errorf("got %s, %v", got, err)
			}
		}
		s.wantPayment(t, c.want)
		s.wantOrder(t, workflow.PaymentReceived, 2)
	}
}

func TestNothingIsPaidForATotalOfZero(t *testing.T) {
	s := newShop(t, newTables(t), 1)

	if _, err := s.run(t, "accept", strings.Replace(accepted, `"items":[{"sku":"sku-1","quantity":2}],"total":{"amount":500`, `"total":{"amount":0`, 1)); err != nil {
		t.Fatal(err)
	}

	if _, err := s.run(t, "pay", paying); err != nil {
		t.Error(err)
	}
	s.wantPayment(t, "NONE")
	s.wantOrder(t, workflow.PaymentReceived, 2)
}

// TestADeclinedPaymentFailsTheOrder runs twice, too.
func TestADeclinedPaymentFailsTheOrder(t *testing.T) {
	db := newTables(t)
	s := newShop(t, db, 1, func(far *sides) {
		bank, err := banksandbox.New(banksandbox.Config{DynamoDB: db, Table: "bank", DeclinePercent: 100})
		if err != nil {
			t.Fatal(err)
		}
		far.process = bank
	})
	s.place(t)

	if _, err := s.run(t, "pay", paying); name(err) != "Order.PaymentDeclined" {
		t.Errorf("got %v", err)
	}

	// The order says that it is over; the execution goes on from there.
	if _, err := s.run(t, "pay", paying); name(err) != "Order.Conflict" || !strings.Contains(err.Error(), "PAYMENT_FAILED") {
		t.Errorf("a retry got %v", err)
	}
	s.wantOrder(t, workflow.PaymentFailed, 2)
}

// moving is a bank during whose sale other callers move the order.
type moving struct {
	*banksandbox.Bank
	move func()
}

func (b *moving) Sale(ctx context.Context, r payments.Request) (string, error) {
	reference, err := b.Bank.Sale(ctx, r)
	if move := b.move; move != nil {
		b.move = nil
		move()
	}

	return reference, err
}

// TestPayLooksBeforeItCharges: an order that was moved before is not charged at all.
func TestPayLooksBeforeItCharges(t *testing.T) {
	for _, event := range []workflow.Event{workflow.Pay, workflow.Hold, workflow.Cancel} {
		s := newShop(t, newTables(t), 1)
		s.place(t)
		s.move(t, event)

		if _, err := s.run(t, "pay", paying); name(err) != "Order.Superseded" {
			t.Errorf("%s before: got %v", event, err)
		}

		want := workflow.State("NONE")
		if event == workflow.Pay {
			want = "VOIDED" // the id of the payment is closed, against a late attempt
		}
		s.wantPayment(t, want)
	}
}

// TestAnOrderThatMovesDuringTheCharge: another's payment makes this one superfluous, so it is
// given back at once. A held order keeps its payment, and a canceled one until it is
// compensated.
func TestAnOrderThatMovesDuringTheCharge(t *testing.T) {
	for event, want := range map[workflow.Event]workflow.State{
		workflow.Pay:    "REFUNDED",
		workflow.Hold:   "CAPTURED",
		workflow.Cancel: "CAPTURED",
	} {
		bank := &moving{}
		s := newShop(t, newTables(t), 1, func(far *sides) {
			bank.Bank = far.bank
			far.process = bank
		})
		s.place(t)
		bank.move = func() { s.move(t, event) }

		if _, err := s.run(t, "pay", paying); name(err) != "Order.Superseded" {
			t.Errorf("%s during the charge: got %v", event, err)
		}
		s.wantPayment(t, want)

		if event != workflow.Hold {
			continue
		}

		s.move(t, workflow.Release)

		if _, err := s.run(t, "pay", `{"orderId":"o-1","transitionId":4}`); err != nil {
			t.Errorf("after the release: %v", err)
		}
		s.wantPayment(t, "CAPTURED")
		s.wantOrder(t, workflow.PaymentReceived, 4)
	}
}

// TestLookGivesBackAPaymentThatAnotherMadeSuperfluous: the execution waited for the release,
// and the order was released and paid by others.
func TestLookGivesBackAPaymentThatAnotherMadeSuperfluous(t *testing.T) {
	bank := &moving{}
	s := newShop(t, newTables(t), 1, func(far *sides) {
		bank.Bank = far.bank
		far.process = bank
	})
	s.place(t)
	bank.move = func() { s.move(t, workflow.Hold) }

	if _, err := s.run(t, "pay", paying); name(err) != "Order.Superseded" {
		t.Fatal(err)
	}
	s.move(t, workflow.Release, workflow.Pay)

	if got, err := s.run(t, "look", `{"orderId":"o-1","started":"2026-01-01T00:00:00.000Z"}`); err != nil || !strings.Contains(got, `"state":"PAYMENT_RECEIVED","transitionId":4`) {
		t.Errorf("got %s, %v", got, err)
	}
	s.wantPayment(t, "REFUNDED")
}
