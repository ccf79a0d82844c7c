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
	"ratchet/executions"
	"ratchet/server"
	"ratchet/shipping"
	"ratchet/transitions"
	"ratchet/workflow"
)

// TestAReturnedParcelReturnsItsOrder: the carrier reports everything twice, and the last
// report stands for two transitions.
func TestAReturnedParcelReturnsItsOrder(t *testing.T) {
	s := newShop(t, func(c *server.Config) {
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
	s := newShop(t, func(c *server.Config) {
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
	if len(found) != 1 || found[0].Kind != executions.Lost || found[0].Since.IsZero() || !strings.Contains(found[0].Cause, "parcel trk-o-1-2-shipping ") {
		t.Fatalf("listed: %+v", found)
	}

	// The parcel is found again.
	r, err := s.Orders.Apply(t.Context(), transitions.Request{OrderID: mug.ID, Event: workflow.Deliver, RequestID: "person"})
	if found := survey(); err != nil || !r.Verdict.Done() || len(found) != 0 {
		t.Errorf("%s, %v: %+v", r.Verdict, err, found)
	}
}

// TestAReportOfALostParcelIsRepeatedUntilItIsRecorded: the first write fails.
func TestAReportOfALostParcelIsRepeatedUntilItIsRecorded(t *testing.T) {
	s := newShop(t)
	process, wire, err := s.Process()
	if err != nil {
		t.Fatal(err)
	}

	report := shipping.Report{ID: "carrier/o-9/2/shipping/lost", OrderID: "o-9", Milestone: shipping.Lost}
	refused := wire.Inject(embeddedtest.Answer("AccessDeniedException", "PutItem"))

	if answer, err := process.ApplyCarrierReport(t.Context(), report); err == nil || answer != shipping.Retry {
		t.Errorf("answer %d, %v", answer, err)
	}
	refused.Remove()

	for range 2 {
		if answer, err := process.ApplyCarrierReport(t.Context(), report); err != nil || answer != shipping.Accepted {
			t.Errorf("answer %d, %v", answer, err)
		}
	}

	lock, found, err := s.Locks.Get(t.Context(), "lost-parcel/o-9")
	if err != nil || !found || lock.Holder != report.ID {
		t.Errorf("recorded: %+v, %v", lock, err)
	}
}

// TestACustomersReturnComesBefore: the customer has announced the parcel that comes back.
func TestACustomersReturnComesBefore(t *testing.T) {
	s := newShop(t, func(c *server.Config) {
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

// untilReported waits until the carrier has no open report.
func (s *shop) untilReported(t *testing.T) {
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
