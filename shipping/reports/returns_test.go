package reports_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"ratchet/payments"
	"ratchet/shipping"
	"ratchet/shipping/reports"
	"ratchet/transitions"
	"ratchet/workflow"
)

// TestPiecesThatLeftInNoParcelAreNotReturned: a caller has applied "ship" while a piece was left. Of
// the parcels only the money of their own lines is given back.
func TestPiecesThatLeftInNoParcelAreNotReturned(t *testing.T) {
	o := newOffice(t, nil)
	o.paid("o-1")
	o.receive(parcel("o-1", "a", shipping.Shipped, 2), reports.Applied)
	o.move("o-1", workflow.Ship)
	o.receive(parcel("o-1", "a", shipping.Returned, 0), reports.Applied)
	settle(o)
	o.refunded("o-1", workflow.Shipped, 200)

	o.receive(report("o-1", shipping.Delivered), reports.Applied)
	o.receive(parcel("o-1", "a", shipping.Returned, 0), reports.Applied)
	settle(o)
	o.refunded("o-1", workflow.Delivered, 200)

	o.receive(report("o-1", shipping.Returned), reports.Applied) // the rest, too
	o.refunded("o-1", workflow.Returned, 200)
	o.stored(reports.Attention)
}

// TestAReturnOutlivesACarrierThatIsDown: it needs a person again when the carrier answers.
func TestAReturnOutlivesACarrierThatIsDown(t *testing.T) {
	o := newOffice(t, map[string]shipping.Shipment{"o-1/0000000000001/2/shipping": {
		Status:  shipping.Shipped,
		Parcels: map[string]shipping.Milestone{"a": shipping.Returned, "b": shipping.Shipped},
		Lines:   map[string][]shipping.Line{"a": {{SKU: "mug", Quantity: 2}}, "b": {{SKU: "mug", Quantity: 1}}},
	}})
	o.order("o-1", workflow.Pay)
	o.sent("o-1")
	o.receive(parcel("o-1", "a", shipping.Returned, 0), reports.Attention)

	o.clock.Advance(10 * 24 * time.Hour)
	o.says(errors.New("maintenance"))
	o.receive(parcel("o-1", "a", shipping.Returned, 0), reports.Waiting)

	for range 2 {
		o.sweep()
		o.clock.Advance(2 * time.Hour)
	}
	o.stored(reports.Waiting, "maintenance")

	o.says(nil)
	o.sweep()
	o.needsPerson("paid elsewhere", "ratchet orders get o-1")
}

// says sets the error of the carrier's answers.
func (o *office) says(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()

	o.down = err
}

// TestAReturnWaitsForTheRestOfItsOrder, with which the money is captured.
func TestAReturnWaitsForTheRestOfItsOrder(t *testing.T) {
	o := newOffice(t, nil)
	o.order("o-1", workflow.Pay)

	if _, err := o.payments.Authorize(t.Context(), o.payment("o-1", 300)); err != nil {
		t.Fatal(err)
	}
	o.receive(parcel("o-1", "a", shipping.Shipped, 2), reports.Applied)
	o.receive(parcel("o-1", "a", shipping.Returned, 0), reports.Waiting)
	o.clock.Advance(20 * 24 * time.Hour)
	o.sweep()
	o.stored(reports.Waiting, "not captured yet")

	if _, err := o.payments.Capture(t.Context(), o.paymentID("o-1"), payments.StepRequest{ID: "shipped", Amount: 300, Final: true}); err != nil {
		t.Fatal(err)
	}
	o.clock.Advance(time.Hour)
	o.sweep()
	o.stored(reports.Waiting)
	o.refunded("o-1", workflow.PartiallyShipped, 200)
}

// TestAParcelOfAnOrderThatIsPaidInPart: the prices of its pieces are not the amounts that were paid
// for them, so a person decides.
func TestAParcelOfAnOrderThatIsPaidInPart(t *testing.T) {
	o := newOffice(t, nil)
	o.order("o-1", workflow.Pay)

	if _, err := o.payments.Authorize(t.Context(), o.payment("o-1", 300)); err != nil {
		t.Fatal(err)
	}
	o.sent("o-1", "a", "b")

	if _, err := o.payments.Capture(t.Context(), o.paymentID("o-1"), payments.StepRequest{ID: "shipped", Amount: 210, Final: true}); err != nil {
		t.Fatal(err)
	}
	o.receive(parcel("o-1", "a", shipping.Returned, 0), reports.Attention)
	o.needsPerson("of the order's 300 EUR only 210 EUR were captured", refundCommand("AMOUNT"))
	o.refunded("o-1", workflow.Delivered, 0)
}

// TestOnlyLinesThatAreUsedAreConfirmed.
func TestOnlyLinesThatAreUsedAreConfirmed(t *testing.T) {
	o := newOffice(t, map[string]shipping.Shipment{"o-1/0000000000001/2/shipping": {
		Status: shipping.Delivered, Parcels: map[string]shipping.Milestone{"a": shipping.Delivered},
		Lines: map[string][]shipping.Line{"a": {{SKU: "mug", Quantity: 3}}},
	}})
	o.order("o-1", workflow.Pay)
	o.receive(parcel("o-1", "a", shipping.Shipped, 3), reports.Applied)

	r := parcel("o-1", "a", shipping.Delivered, 0)
	r.Lines = []shipping.Line{{SKU: "mug", Quantity: 1}}
	o.receive(r, reports.Applied)
}

// TestADeliveryThatIsReportedAfterTheReturns moves the order, and the returns follow.
func TestADeliveryThatIsReportedAfterTheReturns(t *testing.T) {
	o := newOffice(t, nil)
	o.paid("o-1")
	o.sent("o-1")
	o.receive(parcel("o-1", "a", shipping.Returned, 0), reports.Applied)
	o.receive(parcel("o-1", "b", shipping.Returned, 0), reports.Attention)
	o.receive(parcel("o-1", "a", shipping.Delivered, 0), reports.Applied)
	o.refunded("o-1", workflow.Delivered, 200)
	o.clock.Advance(time.Hour)
	o.sweep()
	o.stored(reports.Attention)
	o.refunded("o-1", workflow.Returned, 200)
}

// TestAParcelThatHasCostNothingNeedsNoPerson, although refunds are off or nothing was paid.
func TestAParcelThatHasCostNothingNeedsNoPerson(t *testing.T) {
	o := newOffice(t, nil, func(c *reports.Config) { c.RefundReturns = false })

	for id, total := range map[transitions.OrderID]int64{"o-1": 100, "o-2": 0} {
		_, err := o.orders.Create(t.Context(), transitions.NewOrder{
			ID: id, Incarnation: life, Items: []transitions.Item{{SKU: "mug", Quantity: 1}, {SKU: "cup", Quantity: 1, Price: total}}, Total: transitions.Money{Amount: total, Currency: "EUR"},
		})
		if err != nil {
			t.Fatal(err)
		}
		o.move(id, workflow.Pay)

		if total > 0 {
			if _, err := o.payments.Charge(t.Context(), o.payment(id, total)); err != nil {
				t.Fatal(err)
			}
		}
		o.receive(parcel(string(id), "a", shipping.Shipped, 1), reports.Applied)
		o.receive(parcel(string(id), "a", shipping.Returned, 0), reports.Applied)
	}
}

// TestAPaymentThatTakesNoRefundNeedsAPerson: the payment is in another currency, or has as many
// refunds as a payment may have.
func TestAPaymentThatTakesNoRefundNeedsAPerson(t *testing.T) {
	o := newOffice(t, nil)
	o.order("o-1", workflow.Pay)

	dollars := o.payment("o-1", 300)
	accounts := payments.AccountsForOrders("USD")
	dollars.Payer, dollars.Payee, dollars.Currency = accounts.Payer, accounts.Payee, "USD"

	if _, err := o.payments.Charge(t.Context(), dollars); err != nil {
		t.Fatal(err)
	}
	o.sent("o-1")
	o.receive(parcel("o-1", "a", shipping.Returned, 0), reports.Attention)
	o.needsPerson("of the order's 300 EUR only 300 USD", refundCommand("AMOUNT"))

	o = newOffice(t, nil)
	o.paid("o-1")
	o.sent("o-1")

	for i := range 50 {
		if _, err := o.payments.Refund(t.Context(), o.paymentID("o-1"), payments.StepRequest{ID: fmt.Sprint(i), Amount: 1}); err != nil {
			t.Fatal(err)
		}
	}
	o.receive(parcel("o-1", "a", shipping.Returned, 0), reports.Attention)
	o.needsPerson("50 steps of this kind", "ratchet payments get $")
}

// TestAParcelThatNoOrderCanTakeIsStored for a person: its report would be wrong at every try.
func TestAParcelThatNoOrderCanTakeIsStored(t *testing.T) {
	o := newOffice(t, nil)
	o.order("o-1", workflow.Pay)

	r := parcel("o-1", "a", shipping.Shipped, 1)
	r.Lines = append(r.Lines, r.Lines[0])
	o.receive(r, reports.Refused)
	o.stored(reports.Refused, "lines[1].sku: appears twice")
}

// TestParcelsThatComeBackAtTheSameMoment, each reported twice as delivered and as returned: the order
// is returned in the end, and no parcel is refunded twice.
func TestParcelsThatComeBackAtTheSameMoment(t *testing.T) {
	for range 3 {
		o := newOffice(t, nil)
		o.paid("o-1")

		var at sync.WaitGroup

		for _, name := range []string{"a", "b", "c"} {
			o.receive(parcel("o-1", name, shipping.Shipped, 1), reports.Applied)
		}

		for _, name := range []string{"a", "b", "c", "a", "b", "c"} {
			for _, m := range []shipping.Milestone{shipping.Returned, shipping.Delivered} {
				at.Go(func() {
					for { // as the carrier does
						if _, err := o.Receive(t.Context(), parcel("o-1", name, m, 0)); err == nil || t.Context().Err() != nil {
							return
						}
					}
				})
			}
		}
		at.Wait()
		o.clock.Advance(time.Hour)
		o.sweep()
		o.stored(reports.Waiting)
		o.stored(reports.Attention)

		p, err := o.payments.Get(t.Context(), o.paymentID("o-1"))
		if err != nil || o.state("o-1") != workflow.Returned || p.Refunded > 200 || p.Refunded != 100*int64(len(p.Steps)-1) {
			t.Errorf("%s: %d refunded in %+v, %v", o.state("o-1"), p.Refunded, p.Steps, err)
		}
	}
}
