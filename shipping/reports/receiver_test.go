package reports_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"go.uber.org/goleak"

	"ratchet/embedded/embeddedtest"
	"ratchet/internal/dynamo"
	"ratchet/once"
	"ratchet/payments"
	"ratchet/shipping"
	"ratchet/shipping/reports"
	"ratchet/transitions"
	"ratchet/workflow"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// office is a desk, its orders, and a carrier that can be asked.
type office struct {
	*reports.Receiver
	db     *dynamodb.Client
	orders *transitions.Orders
	clock  embeddedtest.Clock
	wire   *embeddedtest.Transport
	t      *testing.T

	payments *payments.Payments
	bank     *bank

	mu    sync.Mutex
	known map[string]shipping.Shipment // the carrier's answers; nil: it cannot be asked
	down  error
}

func (o *office) Get(_ context.Context, key string) (shipping.Shipment, error) {
	o.mu.Lock()
	defer o.mu.Unlock()

	s, known := o.known[key]
	if !known && o.down == nil {
		return s, shipping.ErrUnknownShipment
	}

	return s, o.down
}

func newOffice(t *testing.T, known map[string]shipping.Shipment, changes ...func(*reports.Config)) *office {
	t.Helper()

	cfg := embeddedtest.Backend(t)
	cfg.Retryer = embeddedtest.RetryAtOnce
	o := &office{t: t, known: known, wire: embeddedtest.Intercept(&cfg)}
	db := dynamodb.NewFromConfig(cfg)
	o.db = db
	embeddedtest.Create(t, db, transitions.Mapping{}.OrdersTable("orders"), transitions.JournalTable("events"), once.TableInput("once"), reports.Table("reports"))

	var err error
	if o.orders, err = transitions.New(transitions.Config{DynamoDB: db, Table: "orders", JournalTable: "events", Log: embeddedtest.Quiet()}); err != nil {
		t.Fatal(err)
	}

	o.openPayments(db)

	c := reports.Config{
		DynamoDB: db, Table: "reports", Orders: o.orders,
		Payments: o.payments, RefundReturns: true, Log: embeddedtest.Quiet(),
	}
	if known != nil {
		c.Asker = o
	}

	for _, change := range changes {
		change(&c)
	}

	if o.Receiver, err = reports.New(c); err != nil {
		t.Fatal(err)
	}
	o.SetClock(o.clock.Now)

	return o
}

// order places an order of three mugs and moves it through the events.
func (o *office) order(id transitions.OrderID, events ...workflow.Event) {
	o.t.Helper()

	_, err := o.orders.Create(o.t.Context(), transitions.NewOrder{
		ID: id, Incarnation: life, Items: []transitions.Item{{SKU: "mug", Quantity: 3, Price: 100}}, Total: transitions.Money{Amount: 300, Currency: "EUR"},
	})
	if err != nil {
		o.t.Fatal(err)
	}
	o.move(id, events...)
}

func (o *office) move(id transitions.OrderID, events ...workflow.Event) {
	o.t.Helper()

	for _, e := range events {
		if r, err := o.orders.Apply(o.t.Context(), transitions.Request{OrderID: id, Event: e, RequestID: transitions.RequestID(e)}); err != nil || !r.Verdict.Done() {
			o.t.Fatalf("%s: %s, %v", e, r.Verdict, err)
		}
	}
}

// get reads an order that must exist.
func (o *office) get(id transitions.OrderID) *transitions.Order {
	o.t.Helper()

	order, found, err := o.orders.Get(o.t.Context(), id)
	if err != nil || !found {
		o.t.Fatal(found, err)
	}

	return order
}

// paymentID is the id of the payment of the order's present life.
func (o *office) paymentID(id transitions.OrderID) string {
	o.t.Helper()

	return payments.IDForOrder(o.get(id).LifeID())
}

func (o *office) state(id transitions.OrderID) workflow.State {
	o.t.Helper()

	order, _, err := o.orders.Get(o.t.Context(), id)
	if err != nil {
		o.t.Fatal(err)
	}

	return order.State
}

// life is the life of every order of these tests.
const life transitions.Incarnation = "0000000000001"

func report(order string, m shipping.Milestone) shipping.Report {
	return shipping.Report{ID: "r/" + order + "/" + string(m), Shipment: order + "/" + string(life) + "/2/shipping", OrderID: order, Milestone: m, Tracking: "JD1"}
}

func parcel(order, name string, m shipping.Milestone, mugs int64) shipping.Report {
	r := report(order, m)
	r.ID += "/" + name
	r.Parcel = name

	if m == shipping.Shipped {
		r.Lines = []shipping.Line{{SKU: "mug", Quantity: mugs}}
	}

	return r
}

// receive checks the effect of a report.
func (o *office) receive(r shipping.Report, want reports.Effect) {
	o.t.Helper()

	if got, err := o.Receive(o.t.Context(), r); err != nil || got != want {
		o.t.Errorf("%s: %q, %v, want %q", r.ID, got, err, want)
	}
}

// stored checks the reasons of the stored reports with an effect.
func (o *office) stored(effect reports.Effect, reasons ...string) (all []reports.Stored) {
	o.t.Helper()

	for after := ""; ; {
		page, next, err := o.List(o.t.Context(), effect, after, 1)
		if err != nil {
			o.t.Fatal(err)
		}
		all = append(all, page...)

		if after = next; after == "" {
			break
		}
	}

	if len(all) != len(reasons) {
		o.t.Fatalf("%s: %+v, want %d", effect, all, len(reasons))
	}

	for i, reason := range reasons {
		if !strings.Contains(all[i].Reason, reason) || all[i].Effect != effect {
			o.t.Errorf("%s: %+v, want the reason %q", effect, all[i], reason)
		}
	}

	return all
}

// waitingRow is the key of a report that waits or needs a person, as the package stores it.
func (o *office) waitingRow(id string) map[string]types.AttributeValue {
	shard := fmt.Sprint("waiting#", dynamo.Shard("o-1", 8))

	return map[string]types.AttributeValue{"pk": dynamo.S(shard), "sk": dynamo.S("o-1/" + id)}
}

// restore stores a report with the effect Attention.
func (o *office) restore(s reports.Stored) error {
	text, err := json.Marshal(s.Report)
	if err != nil {
		return err
	}
	row := o.waitingRow(s.ID)
	row["report"], row["effect"], row["since"] = dynamo.S(string(text)), dynamo.S("attention"), dynamo.Millis(s.Since)

	_, err = o.db.PutItem(o.t.Context(), &dynamodb.PutItemInput{TableName: aws.String("reports"), Item: row})

	return err
}

// forget deletes a report that needs a person, as a try does that has succeeded.
func (o *office) forget(id string) error {
	_, err := o.db.DeleteItem(o.t.Context(), &dynamodb.DeleteItemInput{TableName: aws.String("reports"), Key: o.waitingRow(id)})

	return err
}

func (o *office) sweep() {
	o.t.Helper()

	if err := o.Sweep(o.t.Context()); err != nil {
		o.t.Error(err)
	}
}

// TestReportsMoveTheirOrder sends each report twice.
func TestReportsMoveTheirOrder(t *testing.T) {
	o := newOffice(t, nil)
	o.order("o-1", workflow.Pay)

	for _, step := range []struct {
		m    shipping.Milestone
		want workflow.State
	}{
		{shipping.Booked, workflow.PaymentReceived},
		{shipping.Shipped, workflow.Shipped},
		{shipping.Delivered, workflow.Delivered},
		{shipping.Returned, workflow.Returned},
	} {
		for range 2 {
			o.receive(report("o-1", step.m), reports.Applied)
		}

		if got := o.state("o-1"); got != step.want {
			t.Errorf("after %s: %s, want %s", step.m, got, step.want)
		}
	}
	o.stored(reports.Waiting)
	o.stored(reports.Refused)
}

// TestAnEarlyReportWaits until its order can take it. The pause keeps a sweep from asking at
// once.
func TestAnEarlyReportWaits(t *testing.T) {
	o := newOffice(t, nil)
	o.order("o-1", workflow.Pay)

	for range 2 {
		o.receive(report("o-1", shipping.Delivered), reports.Waiting)
	}
	o.sweep()
	o.stored(reports.Waiting, "the order is PAYMENT_RECEIVED")

	o.clock.Advance(time.Minute)
	o.sweep()

	if all := o.stored(reports.Waiting, "the order is PAYMENT_RECEIVED"); all[0].Tries != 1 || !all[0].NextTry.After(o.clock.Now()) {
		t.Errorf("after a sweep: %+v", all[0])
	}

	o.receive(report("o-1", shipping.Shipped), reports.Applied)
	o.clock.Advance(time.Hour)
	o.sweep()
	o.stored(reports.Waiting)

	if got := o.state("o-1"); got != workflow.Delivered {
		t.Errorf("the order is %s", got)
	}
}

// TestARepeatDoesNotProlongTheWait: the carrier sends the same report every day and does not confirm it. The
// pauses grow to an hour, and the report is refused after a week, because the order cannot take it.
func TestARepeatDoesNotProlongTheWait(t *testing.T) {
	o := newOffice(t, map[string]shipping.Shipment{})
	o.order("o-1", workflow.Pay, workflow.Ship)
	o.receive(report("o-1", shipping.Shipped), reports.Waiting)

	for range 12 {
		o.clock.Advance(30 * time.Minute)
		o.sweep()
	}

	if all := o.stored(reports.Waiting, "does not know"); all[0].NextTry.Sub(o.clock.Now()) < 29*time.Minute {
		t.Errorf("after %d tries the next one is due in %s", all[0].Tries, all[0].NextTry.Sub(o.clock.Now()))
	}

	for range 8 {
		o.receive(report("o-1", shipping.Shipped), reports.Waiting)
		o.clock.Advance(24 * time.Hour)
		o.sweep()
	}
	o.stored(reports.Refused, "has waited for 168h0m0s")
}

// TestAReportWaitsAsLongAsItsOrderCanTakeIt: a paid order is held after its shipment was booked, and the
// carrier ships it. The hold is released after any time. The carrier may not be asked meanwhile.
func TestAReportWaitsAsLongAsItsOrderCanTakeIt(t *testing.T) {
	for _, down := range []error{nil, errors.New("maintenance")} {
		o := newOffice(t, map[string]shipping.Shipment{report("o-1", shipping.Shipped).Shipment: {Status: shipping.Shipped}})
		o.order("o-1", workflow.Pay, workflow.Hold)
		o.says(down)
		o.receive(report("o-1", shipping.Shipped), reports.Waiting)

		for range 20 {
			o.clock.Advance(9 * 24 * time.Hour)
			o.sweep()
		}
		o.says(nil)
		o.move("o-1", workflow.Release)
		o.clock.Advance(time.Hour)
		o.sweep()

		if got := o.state("o-1"); got != workflow.Shipped {
			t.Errorf("released after half a year: %s", got)
		}
		o.stored(reports.Waiting)
	}

	// When the order has ended, the report ends with its next try.
	o := newOffice(t, nil)
	o.order("o-1", workflow.Pay, workflow.Hold)
	o.receive(report("o-1", shipping.Shipped), reports.Waiting)
	o.clock.Advance(300 * 24 * time.Hour)
	o.move("o-1", workflow.Cancel)
	o.sweep()
	o.stored(reports.Waiting)
	o.stored(reports.Refused, "the order is CANCELLED")
}

// TestAnUnreadableRowHidesNoOther and is not taken for a report.
func TestAnUnreadableRowHidesNoOther(t *testing.T) {
	o := newOffice(t, nil)
	o.order("o-1")

	for _, id := range []string{"a", "b"} {
		r := report("o-1", shipping.Shipped)
		r.ID = id
		o.receive(r, reports.Waiting)
	}
	o.spoil("o-1/a")
	o.clock.Advance(time.Hour)

	if err := o.Sweep(t.Context()); err == nil || !strings.Contains(err.Error(), "report o-1/a") {
		t.Errorf("swept: %v", err)
	}

	page, _, err := o.List(t.Context(), reports.Waiting, "", 10)
	if err != nil || len(page) != 2 {
		t.Errorf("%+v, %v", page, err)
	}
}

// spoil makes the row of a waiting report unreadable.
func (o *office) spoil(id string) {
	o.t.Helper()

	out, err := o.db.Scan(o.t.Context(), &dynamodb.ScanInput{TableName: aws.String("reports")})
	if err != nil {
		o.t.Fatal(err)
	}

	for _, row := range out.Items {
		if sk, _ := row["sk"].(*types.AttributeValueMemberS); sk != nil && sk.Value == id {
			row["report"] = &types.AttributeValueMemberS{Value: "{"}
			if _, err := o.db.PutItem(o.t.Context(), &dynamodb.PutItemInput{TableName: aws.String("reports"), Item: row}); err != nil {
				o.t.Fatal(err)
			}
		}
	}
}

// TestAReportThatNeverFitsIsRefused at once.
func TestAReportThatNeverFitsIsRefused(t *testing.T) {
	o := newOffice(t, nil)
	o.order("canceled", workflow.Pay, workflow.Cancel)
	o.order("shipped", workflow.Pay, workflow.Ship)

	o.receive(report("canceled", shipping.Shipped), reports.Refused)
	o.receive(report("none", shipping.Shipped), reports.Refused)
	o.receive(report("shipped", shipping.Lost), reports.Applied)
	o.receive(parcel("shipped", "p", shipping.Delivered, 1), reports.Refused)

	for range 30 {
		o.clock.Advance(6 * time.Hour)
		o.sweep()
	}
	o.stored(reports.Waiting)
	o.stored(reports.Refused, "the order is CANCELLED", "NotFound", "the order has no such parcel")
}

// TestSeveralParcels leave one after the other. The order is delivered with the last one, and
// returned with the last one.
func TestSeveralParcels(t *testing.T) {
	o := newOffice(t, nil)
	o.order("o-1", workflow.Pay)

	for _, step := range []struct {
		report shipping.Report
		effect reports.Effect
		want   workflow.State
	}{
		{parcel("o-1", "a", shipping.Delivered, 0), reports.Waiting, workflow.PaymentReceived},
		{parcel("o-1", "a", shipping.Shipped, 2), reports.Applied, workflow.PartiallyShipped},
		{parcel("o-1", "a", shipping.Shipped, 2), reports.Applied, workflow.PartiallyShipped},
		{parcel("o-1", "a", shipping.Delivered, 0), reports.Applied, workflow.PartiallyShipped},
		{parcel("o-1", "b", shipping.Shipped, 2), reports.Refused, workflow.PartiallyShipped}, // one too many
		{parcel("o-1", "c", shipping.Shipped, 1), reports.Applied, workflow.Shipped},
		{parcel("o-1", "x", shipping.Delivered, 0), reports.Refused, workflow.Shipped},
		{parcel("o-1", "c", shipping.Delivered, 0), reports.Applied, workflow.Delivered},
		{parcel("o-1", "c", shipping.Delivered, 0), reports.Applied, workflow.Delivered},
		{parcel("o-1", "c", shipping.Returned, 0), reports.Attention, workflow.Delivered}, // its money is not here
		{parcel("o-1", "a", shipping.Returned, 0), reports.Applied, workflow.Returned},
	} {
		o.receive(step.report, step.effect)

		if got := o.state("o-1"); got != step.want {
			t.Errorf("after %s: %s, want %s", step.report.ID, got, step.want)
		}
	}
}

// TestParcelsThatAreDeliveredAtOnce deliver the order once.
func TestParcelsThatAreDeliveredAtOnce(t *testing.T) {
	o := newOffice(t, nil)

	for i := range 10 {
		id := fmt.Sprint("o-", i)
		o.order(transitions.OrderID(id), workflow.Pay)

		var group sync.WaitGroup

		for _, name := range []string{"a", "b", "c"} {
			o.receive(parcel(id, name, shipping.Shipped, 1), reports.Applied)
		}

		for _, name := range []string{"a", "b", "c"} {
			group.Go(func() { o.receive(parcel(id, name, shipping.Delivered, 0), reports.Applied) })
		}
		group.Wait()

		if got := o.state(transitions.OrderID(id)); got != workflow.Delivered {
			t.Errorf("%s is %s", id, got)
		}
	}
}

func TestALostParcelIsRecordedForAPerson(t *testing.T) {
	o := newOffice(t, nil)
	o.order("o-1", workflow.Pay, workflow.Ship)

	for _, id := range []string{"first", "second"} {
		r := report("o-1", shipping.Lost)
		r.ID = id
		o.receive(r, reports.Applied)
	}

	lost, found, err := o.Lost(t.Context(), o.get("o-1"))
	if err != nil || !found || lost.ID != "first" || lost.Tracking != "JD1" || !lost.Since.Equal(o.clock.Now()) || o.state("o-1") != workflow.Shipped {
		t.Errorf("recorded: %+v, %v", lost, err)
	}
}

// TestALostParcelIsForgottenAfterAllRepeats: the table's TTL deletes what has expired, at any time
// after its end.
func TestALostParcelIsForgottenAfterAllRepeats(t *testing.T) {
	const kept = 400 * 24 * time.Hour

	o := newOffice(t, nil)
	o.order("o-1", workflow.Pay, workflow.Ship)
	o.receive(report("o-1", shipping.Lost), reports.Applied)

	for _, after := range []struct {
		wait  time.Duration
		found bool
	}{{kept - time.Second, true}, {time.Second, false}} {
		o.clock.Advance(after.wait)

		if _, found, err := o.Lost(t.Context(), o.get("o-1")); err != nil || found != after.found {
			t.Errorf("%v later: found %t, %v", after.wait, found, err)
		}
	}

	again := report("o-1", shipping.Lost)
	again.ID = "another"
	o.receive(again, reports.Applied)

	if lost, found, err := o.Lost(t.Context(), o.get("o-1")); err != nil || !found || lost.ID != again.ID {
		t.Errorf("recorded again: %+v, %t, %v", lost, found, err)
	}
}

// TestAReportIsBelievedWhenTheCarrierConfirmsIt: a stranger who has the secret moves nothing.
func TestAReportIsBelievedWhenTheCarrierConfirmsIt(t *testing.T) {
	o := newOffice(t, map[string]shipping.Shipment{})
	o.order("o-1", workflow.Pay)
	o.receive(report("o-1", shipping.Shipped), reports.Waiting)
	o.stored(reports.Waiting, "does not know the shipment")

	say := func(s shipping.Shipment, down error) {
		o.mu.Lock()
		defer o.mu.Unlock()

		o.known["o-1/0000000000001/2/shipping"], o.down = s, down
	}

	for _, step := range []struct {
		says   shipping.Milestone
		down   error
		reason string
		want   workflow.State
	}{
		{shipping.Booked, nil, `says that the shipment is "booked"`, workflow.PaymentReceived},
		{shipping.Shipped, errors.New("503"), "cannot be asked: 503", workflow.PaymentReceived},
		{shipping.Delivered, nil, "", workflow.Shipped},
	} {
		say(shipping.Shipment{Status: step.says}, step.down)
		o.clock.Advance(2 * time.Hour)
		o.sweep()

		if got := o.state("o-1"); got != step.want {
			t.Errorf("the carrier says %s: %s, want %s", step.says, got, step.want)
		}

		if step.reason != "" {
			o.stored(reports.Waiting, step.reason)
		}
	}
	o.stored(reports.Waiting)
}

// TestAReportOfWhatAPersonHasDoneIsApplied: the order is where the report says.
func TestAReportOfWhatAPersonHasDoneIsApplied(t *testing.T) {
	o := newOffice(t, nil)
	o.order("o-1", workflow.Pay, workflow.Ship)
	o.receive(report("o-1", shipping.Shipped), reports.Applied)
	o.receive(report("o-1", shipping.Delivered), reports.Applied)

	if got := o.state("o-1"); got != workflow.Delivered {
		t.Errorf("the order is %s", got)
	}
}

// TestAReportTakesNoOtherRequestsID.
func TestAReportTakesNoOtherRequestsID(t *testing.T) {
	o := newOffice(t, nil)
	o.order("o-1", workflow.Pay)

	r := report("o-1", shipping.Shipped)
	r.ID = "deliver" // the request id of the move below
	o.receive(r, reports.Applied)
	o.move("o-1", workflow.Deliver)

	if got := o.state("o-1"); got != workflow.Delivered {
		t.Errorf("the order is %s", got)
	}
}

// TestAFailureKeepsTheReport: while the orders cannot be reached, the carrier has to come
// again, and a report that waits goes on waiting.
func TestAFailureKeepsTheReport(t *testing.T) {
	o := newOffice(t, nil)
	o.order("o-1", workflow.Pay)
	o.receive(report("o-1", shipping.Delivered), reports.Waiting)
	o.clock.Advance(time.Hour)

	broken := o.wire.Inject(embeddedtest.Answer("AccessDeniedException", "GetItem", "UpdateItem").If(func(c *embeddedtest.Call) bool {
		return strings.Contains(string(c.Body()), `"orders"`)
	}))

	if effect, err := o.Receive(t.Context(), report("o-1", shipping.Shipped)); err == nil {
		t.Errorf("received: %s", effect)
	}

	if err := o.Sweep(t.Context()); err == nil {
		t.Error("the sweep reports no error")
	}
	broken.Remove()
	o.stored(reports.Waiting, "AccessDenied")

	o.receive(report("o-1", shipping.Shipped), reports.Applied)
	o.clock.Advance(2 * time.Hour)
	o.sweep()

	if got := o.state("o-1"); got != workflow.Delivered {
		t.Errorf("the order is %s", got)
	}
}

func TestAReportOfAnotherOrdersShipmentIsRefused(t *testing.T) {
	o := newOffice(t, nil)
	r := report("o-1", shipping.Shipped)
	r.OrderID = "o-2"

	if _, err := o.Receive(t.Context(), r); !errors.Is(err, shipping.ErrInvalidReport) {
		t.Errorf("got %v", err)
	}
}

func TestNewNamesEveryFieldThatBreaksARule(t *testing.T) {
	_, err := reports.New(reports.Config{})
	for _, field := range []string{"DynamoDB", "Table", "Orders", "Payments"} {
		if err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%s is missing in %v", field, err)
		}
	}
}
