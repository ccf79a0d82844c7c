package server_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/embedded/embeddedtest"
	"ratchet/operate/executions"
	"ratchet/payments"
	"ratchet/server"
	"ratchet/shipping"
	"ratchet/shipping/reports"
	"ratchet/transitions"
	"ratchet/workflow"
)

// TestAReturnedParcelReturnsItsOrder: the carrier reports everything twice, and the last
// report stands for two transitions.
func TestAReturnedParcelReturnsItsOrder(t *testing.T) {
	s := newStockedBackend(t, func(c *server.Config) {
		c.CarrierFaults = server.CarrierFaults{ReturnedPercent: 100, DuplicatePercent: 100}
	})
	s.env.Execute(mug)
	s.until(workflow.Returned)
	s.untilReported(t)

	var events []workflow.Event
	for _, row := range s.env.Journal(mug.ID) {
		events = append(events, row.Event)
	}

	want := []workflow.Event{workflow.Place, workflow.Pay, workflow.Ship, workflow.Deliver, workflow.RequestReturn, workflow.ReceiveReturn}
	if !slices.Equal(events, want) {
		t.Errorf("transitions %v, want %v", events, want)
	}
}

// TestALostParcelLeavesItsOrderShipped: no transition says that a parcel was lost, and the
// carrier, which reports everything twice, does not repeat its report without end. A person
// finds the order.
func TestALostParcelLeavesItsOrderShipped(t *testing.T) {
	s := newStockedBackend(t, func(c *server.Config) {
		c.CarrierFaults = server.CarrierFaults{LostPercent: 100, DuplicatePercent: 100}
	})
	s.env.Execute(mug)
	s.until(workflow.Shipped)
	s.untilReported(t)

	order, _, err := s.Orders.Get(t.Context(), mug.ID)
	if err != nil || order.State != workflow.Shipped {
		t.Errorf("order %+v, %v", order, err)
	}

	survey := func() (found []executions.Problem) {
		if err := s.Executions.Survey(t.Context(), time.Now(), executions.Filter{}, func(p executions.Problem) error {
			found = append(found, p)
			return nil
		}, nil); err != nil {
			t.Fatal(err)
		}

		return found
	}

	found := survey()
	// The sandbox makes the tracking number from the key of the shipment.
	parcel := "parcel trk-" + strings.ReplaceAll(order.EffectKey(2, shipping.Effect), "/", "-")
	if len(found) != 1 || found[0].Kind != executions.Lost || found[0].Since.IsZero() || !strings.Contains(found[0].Cause, parcel+" ") {
		t.Fatalf("listed: %+v, want %s", found, parcel)
	}

	// The parcel is found again.
	r, err := s.Orders.Apply(t.Context(), transitions.Request{OrderID: mug.ID, Event: workflow.Deliver, RequestID: "person"})
	if found := survey(); err != nil || !r.Verdict.Done() || len(found) != 0 {
		t.Errorf("%s, %v: %+v", r.Verdict, err, found)
	}
}

// TestAReportOfALostParcelIsRepeatedUntilItIsRecorded: the first write fails.
func TestAReportOfALostParcelIsRepeatedUntilItIsRecorded(t *testing.T) {
	s := newStockedBackend(t)
	process, wire, err := s.Process()
	if err != nil {
		t.Fatal(err)
	}

	placed, err := s.Orders.Create(t.Context(), mug)
	if err != nil {
		t.Fatal(err)
	}

	report := shipping.Report{ID: "carrier/lost", Shipment: placed.Order.EffectKey(2, shipping.Effect), OrderID: string(mug.ID), Milestone: shipping.Lost}
	refused := wire.Inject(embeddedtest.Answer("AccessDeniedException", "UpdateItem"))

	if answer, err := process.ApplyCarrierReport(t.Context(), report); err == nil || answer != shipping.Retry {
		t.Errorf("answer %d, %v", answer, err)
	}
	refused.Remove()

	for range 2 {
		if answer, err := process.ApplyCarrierReport(t.Context(), report); err != nil || answer != shipping.Accepted {
			t.Errorf("answer %d, %v", answer, err)
		}
	}

	lost, found, err := s.Reports.Lost(t.Context(), placed.Order)
	if err != nil || !found || lost.ID != report.ID {
		t.Errorf("recorded: %+v, %v", lost, err)
	}
}

// TestEveryCarriersReportsAreSwept: the sandbox repeats its reports itself, but others are stored, too.
func TestEveryCarriersReportsAreSwept(t *testing.T) {
	s := newStockedBackend(t)
	if s.Carrier == nil {
		t.Fatal("the carrier is not the sandbox")
	}

	due := map[string]types.AttributeValue{
		"pk": &types.AttributeValueMemberS{Value: "waiting#0"}, "sk": &types.AttributeValueMemberS{Value: "r-1"},
		"report": &types.AttributeValueMemberS{Value: `{"id":"r-1","shipment":"o-9/2/shipping","orderId":"o-9","milestone":"shipped"}`},
	}
	if _, err := s.DynamoDB.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &s.Tables.CarrierReports, Item: due}); err != nil {
		t.Fatal(err)
	}

	if err := s.SweepAll(t.Context()); err != nil {
		t.Fatal(err)
	}

	if all, _, err := s.Reports.List(t.Context(), reports.Refused, "", 10); err != nil || len(all) != 1 || all[0].ID != "r-1" {
		t.Errorf("refused: %+v, %v", all, err)
	}
}

// TestACustomersReturnComesBefore: the customer has announced the parcel that comes back.
func TestACustomersReturnComesBefore(t *testing.T) {
	s := newStockedBackend(t, func(c *server.Config) {
		c.CarrierFaults.ReturnedPercent = 100
		c.CarrierDelay = 200 * time.Millisecond
	})
	s.env.Execute(mug)
	s.until(workflow.Delivered)

	r, err := s.Orders.Apply(t.Context(), transitions.Request{OrderID: mug.ID, Event: workflow.RequestReturn, RequestID: "customer"})
	if err != nil || !r.Verdict.Done() && r.Verdict != transitions.WrongState { // the carrier may have been quicker
		t.Fatalf("%s, %v", r.Verdict, err)
	}
	s.until(workflow.Returned)
}

// TestParcelsThatComeBackRefundTheirOrder: the first by its lines, the last with all the rest.
func TestParcelsThatComeBackRefundTheirOrder(t *testing.T) {
	s := newStockedBackend(t, func(c *server.Config) { c.RefundReturns, c.CarrierDelay = true, time.Hour })
	s.env.Execute(mugs)
	s.until(workflow.PaymentReceived)

	for _, r := range []struct {
		milestone shipping.Milestone
		parcel    string
		refunded  int64
	}{
		{shipping.Shipped, "a", 0}, {shipping.Shipped, "b", 0}, {shipping.Delivered, "a", 0}, {shipping.Delivered, "b", 0},
		{shipping.Returned, "a", 833}, {shipping.Returned, "a", 833}, {shipping.Returned, "b", 2500},
	} {
		s.report(t, r.milestone, r.parcel)

		s.env.With(t).Wait("the refund", func() (bool, string, error) {
			p, err := s.Payments.Get(t.Context(), payments.IDForOrder(lifeOf(t, s.Orders, mugs.ID)))
			return p.Refunded == r.refunded, fmt.Sprintf("%s of %s: %d refunded, want %d", r.milestone, r.parcel, p.Refunded, r.refunded), err
		})
	}
	s.until(workflow.Refunded)
}

// TestAnOrderOfWhichParcelsHadArrivedIsDelivered when a person says that it has left as a whole.
func TestAnOrderOfWhichParcelsHadArrivedIsDelivered(t *testing.T) {
	s := newStockedBackend(t, func(c *server.Config) { c.CarrierDelay = time.Hour })
	s.env.Execute(mugs)
	s.until(workflow.PaymentReceived)
	s.report(t, shipping.Shipped, "a")
	s.report(t, shipping.Delivered, "a")
	s.env.Move(mugs.ID, workflow.Ship)
	s.until(workflow.Delivered)
}

// mugs is an order of three mugs with a discount: 833 of 833.33 each.
var mugs = transitions.NewOrder{
	ID:    mug.ID,
	Items: []transitions.Item{{SKU: "mug", Quantity: 3, Price: 1250}},
	Total: transitions.Money{Amount: 2500, Currency: "EUR"},
}

// report takes a report of one of the parcels: a with one mug, b with two.
func (s *stockedBackend) report(t *testing.T, m shipping.Milestone, parcel string) {
	t.Helper()

	r := shipping.Report{ID: parcel + "/" + string(m), Shipment: effectKey(t, s.Orders, mugs.ID, 2, shipping.Effect), OrderID: string(mugs.ID), Milestone: m, Parcel: parcel}
	if m == shipping.Shipped {
		r.Lines = []shipping.Line{{SKU: "mug", Quantity: map[string]int64{"a": 1, "b": 2}[parcel]}}
	}

	if effect, err := s.Reports.Receive(t.Context(), r); err != nil || effect != reports.Applied {
		t.Fatalf("%s of %s: %s, %v", m, parcel, effect, err)
	}
}

// untilReported waits until the carrier has no open report.
func (s *stockedBackend) untilReported(t *testing.T) {
	t.Helper()

	s.env.With(t).Wait("the carrier to have no open report", func() (bool, string, error) {
		out, err := s.DynamoDB.Query(t.Context(), &dynamodb.QueryInput{
			TableName:                 &s.Tables.SandboxShipments,
			KeyConditionExpression:    aws.String("pk = :queue"),
			ExpressionAttributeValues: map[string]types.AttributeValue{":queue": &types.AttributeValueMemberS{Value: "queue"}},
		})
		if err != nil {
			return false, "", err
		}

		return out.Count == 0, fmt.Sprintf("%d open reports", out.Count), nil
	})
}

// effectKey is the key of an effect of the order as it is now.
func effectKey(t *testing.T, orders *transitions.Orders, id transitions.OrderID, n transitions.TransitionID, handler string) string {
	t.Helper()

	order, found, err := orders.Get(t.Context(), id)
	if err != nil || !found {
		t.Fatal(found, err)
	}

	return order.EffectKey(n, handler)
}
