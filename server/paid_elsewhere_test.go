package server_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	sfntypes "github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"ratchet/internal/dynamo"
	"ratchet/once/inventory"
	"ratchet/operate/executions"
	"ratchet/server"
	"ratchet/transitions"
	"ratchet/workflow"
)

// pays places the order and pays it, as callers of the API do, without an execution.
func (s *stockedBackend) pays(t *testing.T) {
	t.Helper()

	if _, err := s.Orders.Create(t.Context(), mug); err != nil {
		t.Fatal(err)
	}
	s.applies(t, workflow.Pay)
}

func (s *stockedBackend) applies(t *testing.T, event workflow.Event) {
	t.Helper()

	r, err := s.Orders.Apply(t.Context(), transitions.Request{OrderID: mug.ID, Event: event, RequestID: transitions.RequestID(event)})
	if err != nil || r.Verdict != transitions.Applied {
		t.Fatal(r.Verdict, err)
	}
}

// shipments counts the shipments of the sandbox carrier by their status.
func (s *stockedBackend) shipments(t *testing.T) (count map[string]int) {
	t.Helper()

	count = map[string]int{}
	scan(t, s.DynamoDB, s.Tables.SandboxShipments, func(item map[string]types.AttributeValue) {
		if status := dynamo.Text(item, "status"); status != "" {
			count[status]++
		}
	})

	return count
}

// untilStock waits until the mugs are where the test wants them.
func (s *stockedBackend) untilStock(t *testing.T, want inventory.Level) {
	t.Helper()

	want.SKU = "mug"
	s.env.Wait(fmt.Sprintf("the stock to be %+v", want), func() (bool, string, error) {
		l, _, err := s.Stock.Level(t.Context(), "mug")

		return l == want, fmt.Sprintf("%+v", l), err
	})
}

// TestAnOrderThatAnotherCallerPaidIsCoveredBeforeItShips: its execution starts only later. The shipment
// waits for the pieces, and in the end they are sold.
func TestAnOrderThatAnotherCallerPaidIsCoveredBeforeItShips(t *testing.T) {
	s := newStockedBackend(t)
	s.env.SetStock("mug", 0)
	s.pays(t)
	s.until(workflow.PaymentReceived)
	s.env.Execute(mug)

	if count := s.shipments(t); len(count) > 0 {
		t.Errorf("shipments %v without a mug", count)
	}
	s.env.SetStock("mug", 5)
	s.until(workflow.Delivered)
	s.untilStock(t, inventory.Level{Available: 4, Committed: 1})
	s.env.WantExecution(mug.ID, sfntypes.ExecutionStatusSucceeded)
}

// TestARepairUndoesAPaidOrderThatHadNoExecution: the reactions have reserved its mug and booked its
// shipment when it is canceled. A survey lists it, and the repair undoes both.
func TestARepairUndoesAPaidOrderThatHadNoExecution(t *testing.T) {
	s := newStockedBackend(t, func(c *server.Config) { c.CarrierDelay = time.Hour })
	s.pays(t)
	s.untilStock(t, inventory.Level{Available: 9, Reserved: 1})
	s.env.Wait("the shipment to be booked", func() (bool, string, error) {
		count := s.shipments(t)
		return count["BOOKED"] == 1, fmt.Sprint(count), nil
	})
	s.applies(t, workflow.Cancel)

	listed := 0
	err := s.Executions.Survey(t.Context(), time.Now().Add(time.Hour), executions.Filter{}, func(p executions.Problem) error {
		if listed++; p.OrderID != mug.ID || p.Kind != executions.Missing {
			t.Errorf("listed %+v", p)
		}

		return nil
	}, nil)
	if err != nil || listed != 1 {
		t.Errorf("%d orders are listed, %v", listed, err)
	}

	if _, _, err := s.Executions.Repair(t.Context(), mug.ID, false); err != nil {
		t.Fatal(err)
	}
	s.env.WantExecution(mug.ID, sfntypes.ExecutionStatusSucceeded)
	s.untilStock(t, inventory.Level{Available: 10})

	if count := s.shipments(t); count["BOOKED"] != 0 || count["CANCELED"] != 1 {
		t.Errorf("shipments %v, want one that is canceled", count)
	}
}
