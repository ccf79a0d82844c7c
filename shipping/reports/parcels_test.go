package reports_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/embedded/embeddedtest"
	"ratchet/internal/dynamo"
	"ratchet/once/ledger"
	"ratchet/payments"
	"ratchet/payments/sandbox"
	"ratchet/shipping"
	"ratchet/shipping/reports"
	"ratchet/transitions"
	"ratchet/workflow"
)

// bank is the sandbox, whose refunds may fail.
type bank struct {
	*sandbox.Bank
	down, declines atomic.Bool
}

func (b *bank) Refund(ctx context.Context, r payments.Request) (string, error) {
	switch {
	case b.down.Load():
		return "", payments.ErrTimeout
	case b.declines.Load():
		return "", payments.ErrDeclined
	}

	return b.Bank.Refund(ctx, r)
}

func (o *office) openPayments(db *dynamodb.Client) {
	o.t.Helper()

	tables := ledger.Tables{Accounts: "accounts", Transfers: "transfers", Entries: "entries", Holds: "holds"}
	paid := payments.Tables{Payments: "payments", Due: "payments-due"}
	embeddedtest.Create(o.t, db, append(append(tables.Inputs(), paid.Inputs()...), sandbox.Table("charges"))...)

	book, err := ledger.New(ledger.Config{DynamoDB: db, Tables: tables})
	if err != nil {
		o.t.Fatal(err)
	}

	o.bank = &bank{}
	if o.bank.Bank, err = sandbox.New(sandbox.Config{DynamoDB: db, Table: "charges"}); err != nil {
		o.t.Fatal(err)
	}

	if o.payments, err = payments.New(payments.Config{DynamoDB: db, Tables: paid, Ledger: book, Processor: o.bank}); err != nil {
		o.t.Fatal(err)
	}

	for _, currency := range []string{"EUR", "USD"} {
		if _, err := payments.OpenOrderAccounts(o.t.Context(), book, currency); err != nil {
			o.t.Fatal(err)
		}
	}
}

// payment is a payment of the order's present life.
func (o *office) payment(id transitions.OrderID, amount int64) payments.NewPayment {
	o.t.Helper()
	accounts := payments.AccountsForOrders("EUR")

	return payments.NewPayment{
		ID: o.paymentID(id), OrderID: string(id), Payer: accounts.Payer, Payee: accounts.Payee, Amount: amount, Currency: "EUR",
	}
}

// paid places an order of three mugs at 100 and charges it.
func (o *office) paid(id transitions.OrderID) {
	o.t.Helper()
	o.order(id, workflow.Pay)

	if _, err := o.payments.Charge(o.t.Context(), o.payment(id, 300)); err != nil {
		o.t.Fatal(err)
	}
}

// sent reports parcel a with two mugs and parcel b with one, as shipped and, if asked, delivered.
func (o *office) sent(id string, delivered ...string) {
	o.t.Helper()
	o.receive(parcel(id, "a", shipping.Shipped, 2), reports.Applied)
	o.receive(parcel(id, "b", shipping.Shipped, 1), reports.Applied)

	for _, name := range delivered {
		o.receive(parcel(id, name, shipping.Delivered, 0), reports.Applied)
	}
}

// refunded checks the state of the order and how much of its money was given back.
func (o *office) refunded(id transitions.OrderID, want workflow.State, amount int64) {
	o.t.Helper()

	p, err := o.payments.Get(o.t.Context(), o.paymentID(id))
	if err != nil {
		o.t.Fatal(err)
	}

	if got := o.state(id); got != want || p.Refunded != amount {
		o.t.Errorf("order %s is %s, %d refunded; want %s and %d", id, got, p.Refunded, want, amount)
	}
}

// needsPerson checks the reason and the command of the only report that needs a person.
func (o *office) needsPerson(reason, command string) {
	o.t.Helper()

	// $ is the payment of o-1.
	command = strings.ReplaceAll(command, "$", o.paymentID("o-1"))
	if all := o.stored(reports.Attention, reason); all[0].Command != command {
		o.t.Errorf("the command is %q, want %q", all[0].Command, command)
	}
}

// refundCommand is the command that a person may run for parcel a. $ is the payment.
func refundCommand(amount string) string {
	return "ratchet payments refund $ " + reports.RefundStep("a") + " --amount " + amount
}

// TestAReturnedParcelIsRefundedOnce: reported three times, one of them under another id. The last
// parcel returns the order, and the rest is given back from there.
func TestAReturnedParcelIsRefundedOnce(t *testing.T) {
	o := newOffice(t, nil)
	o.paid("o-1")
	o.sent("o-1", "a", "b")

	other := parcel("o-1", "a", shipping.Returned, 0)
	other.ID = "again"

	for _, r := range []shipping.Report{parcel("o-1", "a", shipping.Returned, 0), parcel("o-1", "a", shipping.Returned, 0), other} {
		o.receive(r, reports.Applied)
		o.refunded("o-1", workflow.Delivered, 200)
	}

	for range 2 {
		o.receive(parcel("o-1", "b", shipping.Returned, 0), reports.Applied)
		o.refunded("o-1", workflow.Returned, 200)
	}

	// The reaction to RETURNED does this. A report that comes again after that gives nothing more.
	if _, err := o.payments.Cancel(t.Context(), o.paymentID("o-1")); err != nil {
		t.Fatal(err)
	}
	o.move("o-1", workflow.Refund)

	for _, name := range []string{"a", "b"} {
		o.receive(parcel("o-1", name, shipping.Returned, 0), reports.Applied)
	}
	o.receive(other, reports.Applied)
	o.refunded("o-1", workflow.Refunded, 300)
	o.stored(reports.Attention)
	o.stored(reports.Refused)
}

// TestAParcelComesBackWithoutADelivery: the order is delivered when the others were.
func TestAParcelComesBackWithoutADelivery(t *testing.T) {
	for name, last := range map[string]shipping.Report{
		"the delivery is reported last": parcel("o-1", "b", shipping.Delivered, 0),
		"the return is reported last":   parcel("o-1", "a", shipping.Returned, 0),
	} {
		o := newOffice(t, nil)
		o.paid("o-1")
		o.sent("o-1")

		first := parcel("o-1", "a", shipping.Returned, 0)
		if last.Milestone == shipping.Returned {
			first = parcel("o-1", "b", shipping.Delivered, 0)
		}
		o.receive(first, reports.Applied)

		if got := o.state("o-1"); got != workflow.Shipped {
			t.Errorf("%s: the order is %s", name, got)
		}

		for range 2 {
			o.receive(last, reports.Applied)
			o.refunded("o-1", workflow.Delivered, 200)
		}

		o.receive(parcel("o-1", "b", shipping.Returned, 0), reports.Applied)

		for _, r := range []shipping.Report{first, last} { // they come again
			o.receive(r, reports.Applied)
		}
		o.refunded("o-1", workflow.Returned, 200)
	}
}

// TestAParcelOfAnOrderThatHasMovedOn: its whole money is given back by other means, or is the bank's.
func TestAParcelOfAnOrderThatHasMovedOn(t *testing.T) {
	for _, test := range []struct {
		events []workflow.Event
		effect reports.Effect
	}{
		{[]workflow.Event{workflow.RequestReturn, workflow.ReceiveReturn}, reports.Applied},
		{[]workflow.Event{workflow.RequestReturn, workflow.ReceiveReturn, workflow.Refund}, reports.Applied},
		{[]workflow.Event{workflow.Chargeback}, reports.Refused},
		{[]workflow.Event{workflow.Close}, reports.Attention},
	} {
		o := newOffice(t, nil)
		o.paid("o-1")
		o.sent("o-1", "a", "b")
		o.move("o-1", test.events...)

		state := o.state("o-1")
		o.receive(parcel("o-1", "a", shipping.Returned, 0), test.effect)
		o.refunded("o-1", state, 0)
	}
}

// TestAReturnThatComesTooEarlyWaits for the parcel, and for the capture of the money.
func TestAReturnThatComesTooEarlyWaits(t *testing.T) {
	o := newOffice(t, nil)
	o.order("o-1", workflow.Pay)

	if _, err := o.payments.Authorize(t.Context(), o.payment("o-1", 300)); err != nil {
		t.Fatal(err)
	}

	o.receive(parcel("o-1", "a", shipping.Returned, 0), reports.Waiting)
	o.stored(reports.Waiting, "not reported as shipped")
	o.receive(parcel("o-1", "a", shipping.Shipped, 2), reports.Applied)
	o.clock.Advance(time.Hour)
	o.sweep()
	o.stored(reports.Waiting, "not captured yet")

	if _, err := o.payments.Capture(t.Context(), o.paymentID("o-1"), payments.StepRequest{ID: "first", Amount: 250}); err != nil {
		t.Fatal(err)
	}
	o.clock.Advance(time.Hour)
	o.sweep()
	o.stored(reports.Waiting, "not captured yet") // a refund would end the authorization

	if _, err := o.payments.Capture(t.Context(), o.paymentID("o-1"), payments.StepRequest{ID: "second", Amount: 50}); err != nil {
		t.Fatal(err)
	}
	o.clock.Advance(time.Hour)
	o.sweep()
	o.stored(reports.Waiting)
	o.refunded("o-1", workflow.PartiallyShipped, 200)
}

// TestAPersonIsAskedAboutAReturnedParcel, and is not asked any more after acting on it.
func TestAPersonIsAskedAboutAReturnedParcel(t *testing.T) {
	unknown := func(o *office) { // a person has reported the parcel
		if r, err := o.orders.ShipParcel(o.t.Context(), transitions.Parcel{
			OrderID: "o-1", ID: "a", Lines: []transitions.ParcelLine{{SKU: "mug", Quantity: 2}},
		}); err != nil || !r.Verdict.Done() {
			o.t.Fatal(r.Verdict, err)
		}
	}
	refund := func(id string, amount int64) func(*office) {
		return func(o *office) {
			if _, err := o.payments.Refund(o.t.Context(), o.paymentID("o-1"), payments.StepRequest{ID: id, Amount: amount}); err != nil {
				o.t.Fatal(err)
			}
		}
	}

	for name, test := range map[string]struct {
		before  func(*office)
		lines   []shipping.Line
		off     bool
		reason  string // none: it is refunded
		command string
		after   func(*office)
		amount  int64
	}{
		"the lines are unknown": {before: unknown, reason: "its lines are not known", command: refundCommand("AMOUNT"), after: refund(reports.RefundStep("a"), 200), amount: 200},
		"the report has them":   {before: unknown, lines: []shipping.Line{{SKU: "mug", Quantity: 2}}, amount: 200},
		"the report has others": {before: unknown, lines: []shipping.Line{{SKU: "mug", Quantity: 3}}, reason: "not known", command: refundCommand("AMOUNT"), after: refund(reports.RefundStep("a"), 150), amount: 150},
		"refunds are off":       {off: true, reason: "refund-returns is off", command: refundCommand("200"), after: refund(reports.RefundStep("a"), 200), amount: 200},
		"a person has refunded too much of it": {before: refund("person", 150), reason: "only 150 of its 200 EUR", command: "ratchet payments get $", after: func(o *office) {
			if _, err := o.payments.Cancel(o.t.Context(), o.paymentID("o-1")); err != nil {
				o.t.Fatal(err)
			}
		}, amount: 300},
		"a person has refunded all but it": {before: refund("person", 100), amount: 300},
		"the bank declines": {before: func(o *office) { o.bank.declines.Store(true) }, reason: "cannot be given back", command: "ratchet payments get $", after: func(o *office) {
			o.clock.Advance(time.Hour)
			o.sweep()
			o.needsPerson("of 200 EUR under the step "+reports.RefundStep("a")+" was declined", "ratchet payments get $")
			o.bank.declines.Store(false)

			if _, err := o.payments.Cancel(o.t.Context(), o.paymentID("o-1")); err != nil {
				o.t.Fatal(err)
			}
		}, amount: 300},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOffice(t, nil, func(c *reports.Config) { c.RefundReturns = !test.off })
			o.paid("o-1")

			if test.before != nil {
				test.before(o)
			}

			if _, found, _ := o.orders.Get(t.Context(), "o-1"); !found {
				t.Fatal("no order")
			}

			if o.state("o-1") == workflow.PaymentReceived {
				o.receive(parcel("o-1", "a", shipping.Shipped, 2), reports.Applied)
			}

			r := parcel("o-1", "a", shipping.Returned, 0)
			r.Lines = test.lines

			if test.reason == "" {
				o.receive(r, reports.Applied)
			} else {
				o.receive(r, reports.Attention)
				o.needsPerson(test.reason, test.command)
				o.stored(reports.Waiting)
				test.after(o)
				o.clock.Advance(time.Hour)
				o.sweep()
			}
			o.stored(reports.Attention)
			o.refunded("o-1", workflow.PartiallyShipped, test.amount)
		})
	}
}

// TestAnOrderThatWasPaidElsewhereIsRefundedThere: a person is asked until it is done, through a carrier
// and a table that fail meanwhile.
func TestAnOrderThatWasPaidElsewhereIsRefundedThere(t *testing.T) {
	o := newOffice(t, nil)
	o.order("o-1", workflow.Pay)
	o.sent("o-1", "a", "b")
	o.receive(parcel("o-1", "a", shipping.Returned, 0), reports.Attention)
	o.needsPerson("paid elsewhere", "ratchet orders get o-1")

	o.clock.Advance(20 * 24 * time.Hour)
	broken := o.wire.Inject(embeddedtest.Answer("AccessDeniedException", "GetItem"))

	if err := o.Sweep(t.Context()); err == nil {
		t.Error("the sweep reports no error")
	}
	broken.Remove()
	o.needsPerson("AccessDenied", "ratchet orders get o-1")

	o.clock.Advance(9 * 24 * time.Hour)
	o.sweep()
	o.needsPerson("paid elsewhere", "ratchet orders get o-1")

	// The order can still come back, so the person is asked for as long as that takes.
	o.clock.Advance(300 * 24 * time.Hour)
	o.sweep()
	o.needsPerson("paid elsewhere", "ratchet orders get o-1")
}

// TestABankThatDoesNotAnswerMakesTheReturnWait. The worker ends the refund.
func TestABankThatDoesNotAnswerMakesTheReturnWait(t *testing.T) {
	o := newOffice(t, nil)
	o.paid("o-1")
	o.sent("o-1", "a", "b")
	o.bank.down.Store(true)

	for range 2 {
		o.receive(parcel("o-1", "a", shipping.Returned, 0), reports.Waiting)
	}
	o.bank.down.Store(false)
	o.clock.Advance(time.Hour)
	o.sweep()
	o.stored(reports.Waiting)
	o.refunded("o-1", workflow.Delivered, 200)
}

// TestACrashAtAnyCallRefundsAParcelOnce breaks off at each call in turn, also of the payment, before
// or after the call was carried out. The carrier sends the report until it has an answer, and workers
// sweep.
func TestACrashAtAnyCallRefundsAParcelOnce(t *testing.T) {
	for _, after := range []bool{false, true} {
		for call, struck := 1, true; struck; call++ {
			o := newOffice(t, nil)
			o.paid("o-1")

			crash := embeddedtest.Answer("AccessDeniedException").From(call).Next(1)
			crash.AfterCommit = after
			injected := o.wire.Inject(crash)

			for _, r := range []shipping.Report{
				parcel("o-1", "a", shipping.Shipped, 2), parcel("o-1", "b", shipping.Shipped, 1),
				parcel("o-1", "a", shipping.Returned, 0), parcel("o-1", "b", shipping.Delivered, 0),
			} {
				if _, err := o.Receive(t.Context(), r); err != nil {
					_, err = o.Receive(t.Context(), r)
					if err != nil {
						t.Fatalf("call %d, carried out %t: %s: %v", call, after, r.ID, err)
					}
				}
			}
			struck = injected.Strikes() > 0
			injected.Remove()
			o.clock.Advance(time.Hour)
			o.sweep()

			t.Run(fmt.Sprintf("call %d, carried out %t", call, after), func(t *testing.T) {
				o.t = t
				o.stored(reports.Waiting)
				o.stored(reports.Attention)
				o.refunded("o-1", workflow.Delivered, 200)
			})
		}
	}
}

// TestEveryParcelReturnsByItself: full refund, and no more, whatever the sequence.
func TestEveryParcelReturnsByItself(t *testing.T) {
	for i, sequence := range [][]string{{"a", "b", "c"}, {"c", "a", "b"}, {"b", "b", "a", "c", "a"}} {
		o := newOffice(t, nil)
		id := fmt.Sprint("o-", i)

		_, err := o.orders.Create(t.Context(), transitions.NewOrder{
			ID: transitions.OrderID(id), Incarnation: life, Items: []transitions.Item{{SKU: "mug", Quantity: 3, Price: 100}}, Total: transitions.Money{Amount: 200, Currency: "EUR"},
		})
		if err != nil {
			t.Fatal(err)
		}
		o.move(transitions.OrderID(id), workflow.Pay)

		if _, err := o.payments.Charge(t.Context(), o.payment(transitions.OrderID(id), 200)); err != nil {
			t.Fatal(err)
		}

		for _, m := range []shipping.Milestone{shipping.Shipped, shipping.Delivered} {
			for _, name := range []string{"a", "b", "c"} {
				o.receive(parcel(id, name, m, 1), reports.Applied)
			}
		}

		for _, name := range sequence {
			o.receive(parcel(id, name, shipping.Returned, 0), reports.Applied)
		}
		o.refunded(transitions.OrderID(id), workflow.Returned, 132) // 66 of 66.67 each, but the last one

		if _, err := o.payments.Cancel(t.Context(), o.paymentID(transitions.OrderID(id))); err != nil {
			t.Fatal(err)
		}
		o.refunded(transitions.OrderID(id), workflow.Returned, 200)
	}
}

// TestAnOrderThatLeavesAsAWholeIsSettled: its parcels have come to their end before.
func TestAnOrderThatLeavesAsAWholeIsSettled(t *testing.T) {
	for _, test := range []struct {
		end  shipping.Milestone
		want workflow.State
	}{
		{shipping.Delivered, workflow.Delivered},
		{shipping.Returned, workflow.Shipped}, // the rest has not come back
		{shipping.Shipped, workflow.Shipped},  // still under way
	} {
		o := newOffice(t, nil)
		o.paid("o-1")
		o.receive(parcel("o-1", "a", shipping.Shipped, 2), reports.Applied)
		o.receive(parcel("o-1", "a", test.end, 2), reports.Applied)
		settle(o)

		if got := o.state("o-1"); got != workflow.PartiallyShipped {
			t.Errorf("%s: before the rest has left: %s", test.end, got)
		}
		o.move("o-1", workflow.Ship)

		for range 2 {
			settle(o)

			if got := o.state("o-1"); got != test.want {
				t.Errorf("%s: %s, want %s", test.end, got, test.want)
			}
		}

		o.stored(reports.Attention)
	}
}

func settle(o *office) {
	o.t.Helper()

	if err := o.ApplyParcels(o.t.Context(), "o-1"); err != nil {
		o.t.Error(err)
	}
}

// TestAnOrderComesBackWithoutADelivery: its definition may have a return from SHIPPED. The default
// one has not, and a person is asked at once, unless the delivery is still reported.
func TestAnOrderComesBackWithoutADelivery(t *testing.T) {
	o := newOffice(t, nil)
	o.order("o-1", workflow.Pay, workflow.Ship)
	o.receive(report("o-1", shipping.Returned), reports.Attention)
	o.needsPerson("came back without a delivery", "ratchet orders apply o-1 deliver")

	o.receive(report("o-1", shipping.Delivered), reports.Applied)
	o.clock.Advance(time.Minute)
	o.sweep()
	o.stored(reports.Attention)

	if got := o.state("o-1"); got != workflow.Returned {
		t.Errorf("the order is %s", got)
	}

	own := newOffice(t, nil)
	own.define(t, workflow.Transition{Event: workflow.RequestReturn, From: []workflow.State{workflow.Shipped, workflow.Delivered}, To: workflow.ReturnRequested})
	own.order("o-1", workflow.Pay, workflow.Ship)
	own.receive(report("o-1", shipping.Returned), reports.Applied)

	if got := own.state("o-1"); got != workflow.Returned {
		t.Errorf("with a definition of its own: %s", got)
	}
}

// define replaces the transition of an event in the orders' definition.
func (o *office) define(t *testing.T, own workflow.Transition) {
	t.Helper()

	spec := workflow.Order().Spec()
	for i, tr := range spec.Transitions {
		if tr.Event == own.Event {
			spec.Transitions[i] = own
		}
	}

	definition, err := workflow.New(spec)
	if err != nil {
		t.Fatal(err)
	}

	if o.orders, err = transitions.New(transitions.Config{
		DynamoDB: o.db, Table: "orders", JournalTable: "events", Definition: definition, Log: embeddedtest.Quiet(),
	}); err != nil {
		t.Fatal(err)
	}

	if o.Receiver, err = reports.New(reports.Config{
		DynamoDB: o.db, Table: "reports", Orders: o.orders, Payments: o.payments, Log: embeddedtest.Quiet(),
	}); err != nil {
		t.Fatal(err)
	}
}

// TestTheLinesOfAParcelAreConfirmed by the carrier's answer.
func TestTheLinesOfAParcelAreConfirmed(t *testing.T) {
	for name, test := range map[string]struct {
		says   map[string][]shipping.Line
		effect reports.Effect
		reason string
	}{
		"the same":              {map[string][]shipping.Line{"a": {{SKU: "mug", Quantity: 1}, {SKU: "mug", Quantity: 1}}}, reports.Applied, ""},
		"more":                  {map[string][]shipping.Line{"a": {{SKU: "mug", Quantity: 3}}}, reports.Refused, "parcel a holds other lines"},
		"another SKU":           {map[string][]shipping.Line{"a": {{SKU: "cup", Quantity: 2}}}, reports.Refused, "parcel a holds other lines"},
		"nothing":               {nil, reports.Waiting, "does not say what parcel a holds"},
		"only of other parcels": {map[string][]shipping.Line{"b": {{SKU: "mug", Quantity: 2}}}, reports.Waiting, "does not say what parcel a holds"},
	} {
		o := newOffice(t, map[string]shipping.Shipment{"o-1/0000000000001/2/shipping": {
			Status: shipping.Shipped, Parcels: map[string]shipping.Milestone{"a": shipping.Shipped}, Lines: test.says,
		}})
		o.order("o-1", workflow.Pay)
		o.receive(parcel("o-1", "a", shipping.Shipped, 2), test.effect)

		want := workflow.PaymentReceived
		if test.effect == reports.Applied {
			want = workflow.PartiallyShipped
		} else {
			o.stored(test.effect, test.reason)
		}

		if got := o.state("o-1"); got != want {
			t.Errorf("%s: the order is %s, want %s", name, got, want)
		}
	}
}

// TestRowsOfParcelsEnd some time after the newest report.
func TestRowsOfParcelsEnd(t *testing.T) {
	o := newOffice(t, nil)
	o.paid("o-1")
	o.sent("o-1", "a")
	o.clock.Advance(24 * time.Hour)
	o.receive(parcel("o-1", "b", shipping.Delivered, 0), reports.Applied)

	out, err := o.db.Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String("reports")})
	if err != nil || len(out.Items) != 3 {
		t.Fatalf("%d rows, %v", len(out.Items), err)
	}

	for _, row := range out.Items {
		ends := time.Unix(dynamo.Number(row, reports.ExpiryAttribute), 0)
		if kept := ends.Sub(o.clock.Now()); kept < 398*24*time.Hour || kept > 400*24*time.Hour {
			t.Errorf("the row %s is kept for %s", dynamo.Text(row, "sk"), kept)
		}
	}
}

// TestAnOrderThatIsDeletedDuringItsReport: its report is refused, like the report of an order that
// never existed.
func TestAnOrderThatIsDeletedDuringItsReport(t *testing.T) {
	o := newOffice(t, nil)
	o.order("o-1", workflow.Pay)
	o.receive(parcel("o-1", "a", shipping.Shipped, 3), reports.Applied)

	key := dynamo.Item{"orderId": dynamo.S("o-1")}
	remove := func(c *embeddedtest.Call) error {
		if c.Operation != "UpdateItem" { // the note of the parcel
			return nil
		}

		o.wire.Clear()
		_, err := o.db.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: aws.String("orders"), Key: key})

		return err
	}
	o.wire.After(remove)
	o.receive(parcel("o-1", "a", shipping.Delivered, 0), reports.Refused)
	o.stored(reports.Refused, "NotFound")
}
