package steps_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"ratchet/payments"
	banksandbox "ratchet/payments/sandbox"
	"ratchet/shipping"
	"ratchet/workflow"
)

const undoing = `{"orderId":"o-1"}`

// carrier answers cancellations as a test says.
type carrier struct {
	shipping.Carrier

	mu       sync.Mutex
	down     error
	left     bool
	canceled []string
}

func (c *carrier) set(down error, left bool) {
	c.mu.Lock()
	defer c.mu.Unlock()

	c.down, c.left = down, left
}

func (c *carrier) Cancel(ctx context.Context, key string) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()

	c.canceled = append(c.canceled, key)
	if c.down != nil {
		return false, c.down
	}

	_, err := c.Carrier.Cancel(ctx, key)

	return c.left, err
}

// brokenBank is down for refunds, or declines them.
type brokenBank struct {
	*banksandbox.Bank
	down, declines bool
}

var errDown = errors.New("503")

func (b *brokenBank) Refund(ctx context.Context, r payments.Request) (string, error) {
	switch {
	case b.down:
		return "", errDown
	case b.declines:
		return "", payments.ErrDeclined
	}

	return b.Bank.Refund(ctx, r)
}

// newPaidSteps returns steps with o-1 paid, reserved and booked.
func newPaidSteps(t *testing.T) (*orderSteps, *carrier, *brokenBank) {
	t.Helper()

	c, b := &carrier{}, &brokenBank{}
	s := newOrderSteps(t, newKit(t), 1, func(far *sides) {
		c.Carrier, far.carrier = far.carrier, c
		b.Bank, far.process = far.bank, b
	})
	s.setStock(t, 3)

	for _, step := range []string{"accept", "pay"} {
		input := map[string]string{"accept": accepted, "pay": paying}[step]
		if _, err := s.run(t, step, input); err != nil {
			t.Fatal(err)
		}
	}

	if _, err := s.booker.Book(t.Context(), s.shipment(t), "o-1"); err != nil {
		t.Fatal(err)
	}

	return s, c, b
}

// TestCompensateUndoesEverything runs twice.
func TestCompensateUndoesEverything(t *testing.T) {
	s, c, _ := newPaidSteps(t)
	s.move(t, workflow.Cancel)

	for range 2 {
		got, err := s.run(t, "compensate", undoing)
		if err != nil || !strings.Contains(got, `"state":"CANCELLED","transitionId":3,"shipments":1,"left":0,"payment":"REFUNDED","stock":"released"`) {
			t.Errorf("got %s, %v", got, err)
		}
	}
	s.wantPayment(t, "REFUNDED")
	s.wantStock(t, 3, 0, 0)

	if len(c.canceled) != 2 {
		t.Errorf("canceled %q", c.canceled)
	}
}

// TestCompensationsDoNotWaitForEachOther: an outage of one far side leaves the others undone,
// except that stock waits for the carrier. The failure names what remains; the next run does
// it.
func TestCompensationsDoNotWaitForEachOther(t *testing.T) {
	for _, row := range []struct {
		name          string
		carrier, bank bool // are down
		payment       workflow.State
		reserved      int64
		remains       []string
	}{
		{"carrier", true, false, "REFUNDED", 2, []string{"shipment $:", "stock: waits"}},
		{"bank", false, true, "REFUND_PENDING", 0, []string{"payment"}},
		{"both", true, true, "REFUND_PENDING", 2, []string{"shipment $:", "stock: waits", "payment"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			s, c, b := newPaidSteps(t)
			s.move(t, workflow.Cancel)

			if row.carrier {
				c.set(errDown, false)
			}
			b.down = row.bank

			_, err := s.run(t, "compensate", undoing)
			if name(err) != "Order.CompensationIncomplete" {
				t.Fatalf("got %v", err)
			}

			for _, part := range row.remains {
				// $ is the key of the shipment.
				if part = strings.ReplaceAll(part, "$", s.shipment(t)); !strings.Contains(err.Error(), part) {
					t.Errorf("%v does not name %s", err, part)
				}
			}
			s.wantPayment(t, row.payment)
			s.wantStock(t, 3-row.reserved, row.reserved, 0)

			c.set(nil, false)
			b.down = false

			if _, err := s.run(t, "compensate", undoing); err != nil {
				t.Errorf("after the outage: %v", err)
			}
			s.wantPayment(t, "REFUNDED")
			s.wantStock(t, 3, 0, 0)
		})
	}
}

// TestTheStockOfAParcelThatLeftIsCommitted: the money goes back all the same. After a
// charge-back there is none to give back.
func TestTheStockOfAParcelThatLeftIsCommitted(t *testing.T) {
	for event, payment := range map[workflow.Event]workflow.State{workflow.Cancel: "REFUNDED", workflow.Chargeback: "CAPTURED"} {
		s, c, _ := newPaidSteps(t)
		c.set(nil, true)
		s.move(t, event)

		if got, err := s.run(t, "compensate", undoing); err != nil || !strings.Contains(got, `"shipments":1,"left":1`) || !strings.Contains(got, `"stock":"committed"`) {
			t.Errorf("%s: got %s, %v", event, got, err)
		}
		s.wantPayment(t, payment)
		s.wantStock(t, 1, 0, 2)
	}
}

// TestCompensateFindsAPaymentBeyondTheRing: four times held and released, the order's item no
// longer holds the transition that paid it.
func TestCompensateFindsAPaymentBeyondTheRing(t *testing.T) {
	s, c, _ := newPaidSteps(t)
	for range 4 {
		s.move(t, workflow.Hold, workflow.Release)
	}
	s.move(t, workflow.Cancel)

	if _, err := s.run(t, "compensate", undoing); err != nil {
		t.Error(err)
	}

	if len(c.canceled) != 1 || c.canceled[0] != s.shipment(t) {
		t.Errorf("canceled %q", c.canceled)
	}
}

// TestCompensateOfAnOrderThatGoesOn is refused with the order's position.
func TestCompensateOfAnOrderThatGoesOn(t *testing.T) {
	s, c, _ := newPaidSteps(t)

	if _, err := s.run(t, "compensate", undoing); name(err) != "Order.WrongState" || !strings.Contains(err.Error(), "PAYMENT_RECEIVED") {
		t.Errorf("got %v", err)
	}
	s.wantPayment(t, "CAPTURED")

	if len(c.canceled) > 0 {
		t.Errorf("canceled %q", c.canceled)
	}
}

// TestCompensateClosesWhatNeverHappened: a late attempt of an earlier step finds its key
// closed.
func TestCompensateClosesWhatNeverHappened(t *testing.T) {
	s := newOrderSteps(t, newKit(t), 1)
	s.setStock(t, 3)
	s.place(t)
	s.move(t, workflow.Cancel)

	if _, err := s.run(t, "compensate", undoing); err != nil {
		t.Fatal(err)
	}

	_, err := s.payments.Charge(t.Context(), payments.NewPayment{ID: s.life(t), OrderID: "o-1", Payer: "a", Payee: "b", Amount: 500, Currency: "EUR"})
	if err == nil {
		t.Error("the order was charged after all")
	}

	if err := s.stock.Reserve(t.Context(), s.life(t), nil); err == nil {
		t.Error("stock was reserved after all")
	}
}

// TestTheStockOfAReportedParcelIsCommitted: a person reported the parcel, so the carrier does
// not know that it left, and the stream's reaction may not have committed the stock yet.
func TestTheStockOfAReportedParcelIsCommitted(t *testing.T) {
	for _, event := range []workflow.Event{workflow.ShipPart, workflow.Ship} {
		s, _, _ := newPaidSteps(t)
		s.move(t, event, workflow.Chargeback)

		if got, err := s.run(t, "compensate", undoing); err != nil || !strings.Contains(got, `"left":0`) || !strings.Contains(got, `"stock":"committed"`) {
			t.Errorf("%s: got %s, %v", event, got, err)
		}
		s.wantStock(t, 1, 0, 2)
	}
}

// TestALatePaymentIsGivenBackAfterAChargeback: another caller paid the order while this
// execution charged, and the bank took that money back.
func TestALatePaymentIsGivenBackAfterAChargeback(t *testing.T) {
	s, bank := newMovingSteps(t, false)
	s.place(t)
	bank.move = func() { s.move(t, workflow.Pay, workflow.Chargeback) }

	if _, err := s.run(t, "pay", paying); name(err) != "Order.Superseded" {
		t.Fatal(err)
	}

	if _, err := s.run(t, "compensate", undoing); err != nil {
		t.Error(err)
	}
	s.wantPayment(t, "REFUNDED")
}

// TestAChargebackReleasesWhatWasNeverCaptured: the bank has taken back money that this shop
// only held.
func TestAChargebackReleasesWhatWasNeverCaptured(t *testing.T) {
	s := newOrderSteps(t, newKit(t), 1, func(far *sides) { far.capture = true })
	s.place(t)

	if _, err := s.run(t, "pay", paying); err != nil {
		t.Fatal(err)
	}
	s.wantPayment(t, "AUTHORIZED")
	s.move(t, workflow.Chargeback)

	for range 2 {
		if _, err := s.run(t, "compensate", undoing); err != nil {
			t.Error(err)
		}
	}
	s.wantPayment(t, "VOIDED")
}

// TestADeclinedRefundIsAskedForOnceAnHour, so that it does not use up the payment's steps. The
// other parts of a compensation do not wait for it.
func TestADeclinedRefundIsAskedForOnceAnHour(t *testing.T) {
	s, c, b := newPaidSteps(t)
	s.move(t, workflow.Cancel)
	b.declines = true
	c.set(errDown, false)

	if _, err := s.run(t, "compensate", undoing); name(err) != "Order.CompensationIncomplete" {
		t.Errorf("with the carrier down: got %v", err)
	}
	c.set(nil, false)

	_, err := s.run(t, "compensate", undoing)
	if err == nil || !strings.HasPrefix(err.Error(), "RetryAfter1h: order o-1 is CANCELLED") || !strings.Contains(err.Error(), "payment declined") {
		t.Errorf("got %v", err)
	}
	s.wantStock(t, 3, 0, 0)

	b.declines = false

	if _, err := s.run(t, "compensate", undoing); err != nil {
		t.Error(err)
	}
	s.wantPayment(t, "REFUNDED")
}
