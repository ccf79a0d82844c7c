package server_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	sfntypes "github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"ratchet/activities/steps"
	"ratchet/payments"
	"ratchet/server"
	"ratchet/transitions"
	"ratchet/workflow"
)

// deployFormer replaces the state machine by the former one, whose waits were parked by an
// activity.
func (s *shop) deployFormer(t *testing.T) {
	t.Helper()

	text, err := os.ReadFile("../activities/steps/testdata/before-rendezvous.asl.json")
	if err != nil {
		t.Fatal(err)
	}

	definition := string(text)
	for _, activity := range steps.Activities() {
		out, err := s.SFN.CreateActivity(t.Context(), &sfn.CreateActivityInput{Name: aws.String(s.Config.Prefix + activity.Name)})
		if err != nil {
			t.Fatal(err)
		}

		definition = strings.ReplaceAll(definition, "${"+activity.Placeholder+"}", *out.ActivityArn)
	}

	arn, err := s.StateMachineARN(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	if _, err := s.SFN.UpdateStateMachine(t.Context(), &sfn.UpdateStateMachineInput{StateMachineArn: &arn, Definition: &definition}); err != nil {
		t.Fatal(err)
	}
}

// TestExecutionsOfTheFormerStateMachineFinish starts executions of the former state machine.
// They wait for their shipment, parked as they were then, when the new machine is deployed.
// Then one is delivered and one is canceled. An order that is placed afterwards runs on the
// new machine.
func TestExecutionsOfTheFormerStateMachineFinish(t *testing.T) {
	s := newShop(t, func(c *server.Config) { c.CarrierDelay = time.Hour })
	s.deployFormer(t)

	delivered, canceled, later := mug, mug, mug
	canceled.ID, later.ID = "o-2", "o-3"

	for _, order := range []transitions.NewOrder{delivered, canceled} {
		s.env.Execute(order)
		s.untilParked(t, order.ID, workflow.Shipped)
	}

	if err := s.Init(t.Context()); err != nil {
		t.Fatal(err)
	}

	move := func(id transitions.OrderID, event workflow.Event) {
		t.Helper()

		r, err := s.Orders.Apply(t.Context(), transitions.Request{OrderID: id, Event: event, RequestID: transitions.RequestID(event)})
		if err != nil || r.Verdict != transitions.Applied {
			t.Fatalf("%s: %s, %v", event, r.Verdict, err)
		}
	}
	move(delivered.ID, workflow.Ship)
	s.untilParked(t, delivered.ID, workflow.Delivered)
	move(delivered.ID, workflow.Deliver)
	move(canceled.ID, workflow.Cancel)

	s.env.Execute(later)
	s.untilParked(t, later.ID, workflow.Shipped)
	move(later.ID, workflow.Ship)
	move(later.ID, workflow.Deliver)

	for _, order := range []transitions.NewOrder{delivered, canceled, later} {
		s.env.WantExecution(order.ID, sfntypes.ExecutionStatusSucceeded)
	}

	if l, _, err := s.Stock.Level(t.Context(), "mug"); err != nil || l.Available != 8 || l.Reserved != 0 || l.Committed != 2 {
		t.Errorf("stock %+v, %v", l, err)
	}

	for key, want := range map[string]payments.OperationStatus{
		"o-1/payment": payments.OperationSucceeded,
		"o-2/payment": payments.OperationVoided,
	} {
		if op, err := s.Bank.Lookup(t.Context(), key); err != nil || op.Status != want {
			t.Errorf("%s is %s, %v", key, op.Status, err)
		}
	}

	if p, err := s.Payments.Get(t.Context(), "o-3"); err != nil || p.State != "CAPTURED" {
		t.Errorf("payment of o-3: %s, %v", p.State, err)
	}
}
