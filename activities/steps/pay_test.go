package steps_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	banksandbox "ratchet/payments/sandbox"

	"ratchet/payments"
	"ratchet/transitions"
	"ratchet/workflow"
)

const paying = `{"orderId":"o-1","transitionId":2}`

// wantPayment checks the state of the order's payment; NONE stands for no payment.
func (s *orderSteps) wantPayment(t *testing.T, want workflow.State) {
	t.Helper()

	p, err := s.payments.Get(t.Context(), s.life(t))
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
		s := newOrderSteps(t, newKit(t), 1, func(far *sides) { far.capture = c.capture })
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
	s := newOrderSteps(t, newKit(t), 1)

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
	kit := newKit(t)
	s := newOrderSteps(t, kit, 1, func(far *sides) {
		far.process = kit.Bank(func(c *banksandbox.Config) { c.DeclinePercent = 100 })
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

// moving is a bank during whose sale or authorization other callers move the order.
type moving struct {
	*banksandbox.Bank
	move func()
	// refund is the answer to every refund, if it is set.
	refund error
}

// newMovingSteps returns steps with such a bank.
func newMovingSteps(t *testing.T, capture bool) (*orderSteps, *moving) {
	t.Helper()

	bank := &moving{}
	s := newOrderSteps(t, newKit(t), 1, func(far *sides) {
		bank.Bank, far.process, far.capture = far.bank, bank, capture
	})

	return s, bank
}

func (b *moving) Sale(ctx context.Context, r payments.Request) (string, error) {
	defer b.moveOnce()
	return b.Bank.Sale(ctx, r)
}

func (b *moving) Authorize(ctx context.Context, r payments.Request) (string, error) {
	defer b.moveOnce()
	return b.Bank.Authorize(ctx, r)
}

func (b *moving) moveOnce() {
	if move := b.move; move != nil {
		b.move = nil
		move()
	}
}

func (b *moving) Refund(ctx context.Context, r payments.Request) (string, error) {
	if b.refund != nil {
		return "", b.refund
	}

	return b.Bank.Refund(ctx, r)
}

// TestPayLooksBeforeItCharges: an order that was moved before is not charged at all.
func TestPayLooksBeforeItCharges(t *testing.T) {
	for _, event := range []workflow.Event{workflow.Pay, workflow.Hold, workflow.Cancel} {
		s := newOrderSteps(t, newKit(t), 1)
		s.setStock(t, 10)
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
		s := newOrderSteps(t, newKit(t), 1, func(far *sides) {
			bank.Bank = far.bank
			far.process = bank
		})
		s.setStock(t, 10)
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

// TestAcceptGivesBackAPaymentThatAnotherMadeSuperfluous: the order was released and paid by
// others, before the execution accepted it again.
func TestAcceptGivesBackAPaymentThatAnotherMadeSuperfluous(t *testing.T) {
	s, bank := newMovingSteps(t, false)
	s.setStock(t, 10)
	s.place(t)
	bank.move = func() { s.move(t, workflow.Hold) }

	if _, err := s.run(t, "pay", paying); name(err) != "Order.Superseded" {
		t.Fatal(err)
	}
	s.move(t, workflow.Release, workflow.Pay)

	if _, err := s.run(t, "accept", accepted); name(err) != "Order.WrongState" || !strings.Contains(err.Error(), "PAYMENT_RECEIVED") {
		t.Errorf("got %v", err)
	}
	s.wantPayment(t, "REFUNDED")
}

// TestPayDoesNotChargeWhatItCannotPay: the order is PENDING, and of an unknown version, or it
// was held and released since the execution looked.
func TestPayDoesNotChargeWhatItCannotPay(t *testing.T) {
	kit := newKit(t)
	newOrderSteps(t, kit, 2).place(t)
	s := newOrderSteps(t, kit, 1)

	if _, err := s.run(t, "pay", paying); name(err) != "Order.UnknownVersion" {
		t.Errorf("an unknown version: got %v", err)
	}
	s.wantPayment(t, "NONE")

	s = newOrderSteps(t, newKit(t), 1)
	s.place(t)
	s.move(t, workflow.Hold, workflow.Release)

	if _, err := s.run(t, "pay", paying); name(err) != "Order.Superseded" {
		t.Errorf("held and released: got %v", err)
	}
	s.wantPayment(t, "NONE")
}

// TestLookGivesBackAPaymentThatAnotherMadeSuperfluous: the execution waited for the release,
// and the order was released and paid by others.
func TestLookGivesBackAPaymentThatAnotherMadeSuperfluous(t *testing.T) {
	bank := &moving{}
	s := newOrderSteps(t, newKit(t), 1, func(far *sides) {
		bank.Bank = far.bank
		far.process = bank
	})
	s.setStock(t, 10)
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

// TestADeclinedRefundIsNoDeclinedPayment: the order was paid by another caller, and the bank
// refuses to give this execution's payment back. The order is not undone, and the bank is
// asked again later.
func TestADeclinedRefundIsNoDeclinedPayment(t *testing.T) {
	s, bank := newMovingSteps(t, false)
	s.setStock(t, 10)
	s.place(t)
	bank.move = func() { s.move(t, workflow.Pay) }
	bank.refund = payments.ErrDeclined

	for _, step := range []struct{ name, input string }{{"pay", paying}, {"look", undoing}} {
		if _, err := s.run(t, step.name, step.input); err == nil || !strings.HasPrefix(err.Error(), "RetryAfter1h: order o-1 was paid by another caller") {
			t.Errorf("%s: got %v", step.name, err)
		}
	}

	bank.refund = nil

	if _, err := s.run(t, "pay", paying); name(err) != "Order.Superseded" {
		t.Errorf("when the bank gives it back: got %v", err)
	}
	s.wantPayment(t, "REFUNDED")
	s.wantOrder(t, workflow.PaymentReceived, 2)
}

// TestAPaymentOfTheOtherModePaysTheOrder: the setting was changed while the order was held.
func TestAPaymentOfTheOtherModePaysTheOrder(t *testing.T) {
	for capture, want := range map[bool]workflow.State{false: "CAPTURED", true: "AUTHORIZED"} {
		kit, bank := newKit(t), &moving{}
		s := newOrderSteps(t, kit, 1, func(far *sides) { bank.Bank, far.process, far.capture = far.bank, bank, capture })
		s.place(t)
		bank.move = func() { s.move(t, workflow.Hold) }

		if _, err := s.run(t, "pay", paying); name(err) != "Order.Superseded" {
			t.Fatal(err)
		}
		s.move(t, workflow.Release)

		other := newOrderSteps(t, kit, 1, func(far *sides) { far.process, far.capture = bank, !capture })
		if _, err := other.run(t, "pay", `{"orderId":"o-1","transitionId":4}`); err != nil {
			t.Errorf("capture %t: %v", capture, err)
		}
		s.wantPayment(t, want)
		s.wantOrder(t, workflow.PaymentReceived, 4)
	}
}

// TestAnOrderEditedAfterItsPayment is not paid with the former amount. The failure says what
// a person can do.
func TestAnOrderEditedAfterItsPayment(t *testing.T) {
	s, bank := newMovingSteps(t, false)
	s.place(t)
	bank.move = func() { s.move(t, workflow.Hold) }

	if _, err := s.run(t, "pay", paying); name(err) != "Order.Superseded" {
		t.Fatal(err)
	}

	line := transitions.Item{SKU: "sku-1", Quantity: 2, Price: 100}
	if r, err := s.orders.ChangeItem(t.Context(), transitions.Edit{OrderID: "o-1", EventID: "e-1"}, line); err != nil || r.Verdict != transitions.Applied {
		t.Fatal(r, err)
	}
	s.move(t, workflow.Release)
	s.accept(t)

	_, err := s.run(t, "pay", `{"orderId":"o-1","transitionId":4}`)
	if name(err) != "Order.OtherContent" || !strings.Contains(err.Error(), "costs 700 EUR") || !strings.Contains(err.Error(), "cancel the order") {
		t.Errorf("got %v", err)
	}
	s.wantPayment(t, "CAPTURED")
	s.wantOrder(t, workflow.Pending, 3)

	// An operator follows the failure's text, which brings the order to an end.
	s.move(t, workflow.Cancel)

	if _, err := s.run(t, "pay", `{"orderId":"o-1","transitionId":4}`); name(err) != "Order.Superseded" {
		t.Errorf("after the cancellation: %v", err)
	}

	if _, err := s.run(t, "compensate", undoing); err != nil {
		t.Error(err)
	}
	s.wantPayment(t, "REFUNDED")
}

// TestAnOrderEditedDuringTheChargeIsNotPaid with the former amount.
func TestAnOrderEditedDuringTheChargeIsNotPaid(t *testing.T) {
	s, bank := newMovingSteps(t, false)
	s.place(t)
	bank.move = func() {
		line := transitions.Item{SKU: "sku-1", Quantity: 2, Price: 100}
		if r, err := s.orders.ChangeItem(t.Context(), transitions.Edit{OrderID: "o-1", EventID: "e-1"}, line); err != nil || r.Verdict != transitions.Applied {
			t.Fatal(r, err)
		}
	}

	if _, err := s.run(t, "pay", paying); name(err) != "Order.WrongState" {
		t.Errorf("got %v", err)
	}
	s.wantPayment(t, "CAPTURED")
	s.wantOrder(t, workflow.Pending, 1)

	// The execution goes on from the order as it is, and finds the payment of the old total.
	s.accept(t)

	if _, err := s.run(t, "pay", paying); name(err) != "Order.OtherContent" {
		t.Errorf("again: %v", err)
	}
}

// TestAPaymentThatWasGivenBackPaysNoOrder: a person gave the money back while the order was
// held.
func TestAPaymentThatWasGivenBackPaysNoOrder(t *testing.T) {
	refund := func(amount int64) func(*orderSteps) error {
		return func(s *orderSteps) error {
			_, err := s.payments.Refund(context.Background(), s.life(t), payments.StepRequest{ID: "r", Amount: amount})
			return err
		}
	}
	void := func(s *orderSteps) error {
		_, err := s.payments.Void(context.Background(), s.life(t))
		return err
	}

	for given, c := range map[string]struct {
		capture  bool
		giveBack func(*orderSteps) error
		order    workflow.State
		failure  string
	}{
		"refunded":           {false, refund(500), workflow.PaymentFailed, "Order.PaymentDeclined"},
		"voided":             {true, void, workflow.PaymentFailed, "Order.PaymentDeclined"},
		"partially refunded": {false, refund(200), workflow.PaymentReceived, ""},
	} {
		t.Run(given, func(t *testing.T) {
			s, bank := newMovingSteps(t, c.capture)
			s.place(t)
			bank.move = func() { s.move(t, workflow.Hold) }

			if _, err := s.run(t, "pay", paying); err == nil {
				t.Fatal("a held order was paid")
			}

			if err := c.giveBack(s); err != nil {
				t.Fatal(err)
			}
			s.move(t, workflow.Release)

			_, err := s.run(t, "pay", `{"orderId":"o-1","transitionId":4}`)
			if got := name(err); got != c.failure {
				t.Errorf("got %v", err)
			}
			s.wantOrder(t, c.order, 4)
		})
	}
}

// TestARefundUnderWayIsWaitedFor: pay waits for a refund, and only then pays the order with the rest
// of the payment.
func TestARefundUnderWayIsWaitedFor(t *testing.T) {
	s, bank := newMovingSteps(t, false)
	s.place(t)
	bank.move = func() { s.move(t, workflow.Hold) }

	if _, err := s.run(t, "pay", paying); name(err) != "Order.Superseded" {
		t.Fatal(err)
	}
	bank.refund = errDown

	if _, err := s.payments.Refund(t.Context(), s.life(t), payments.StepRequest{ID: "r", Amount: 500}); !errors.Is(err, payments.ErrUnresolved) {
		t.Fatal(err)
	}
	s.move(t, workflow.Release)

	if _, err := s.run(t, "pay", `{"orderId":"o-1","transitionId":4}`); name(err) != "Order.InProgress" {
		t.Errorf("got %v", err)
	}
	s.wantOrder(t, workflow.Pending, 3)
}
