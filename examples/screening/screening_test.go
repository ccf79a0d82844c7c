package main

import (
	"testing"
	"testing/synctest"
	"time"

	sfntypes "github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"ratchet/embedded/faults"
	"ratchet/server"
	"ratchet/server/ratchettest"
	"ratchet/transitions"
	"ratchet/workflow"
)

func start(t *testing.T, cfg ratchettest.Config) *ratchettest.Env {
	t.Helper()

	parts, err := newParts()
	if err != nil {
		t.Fatal(err)
	}

	cfg.Server.Parts = parts

	return ratchettest.Start(t, cfg)
}

// order returns an order of so many mugs.
func order(id transitions.OrderID, mugs int64) transitions.NewOrder {
	return transitions.NewOrder{
		ID:    id,
		Items: []transitions.Item{{SKU: "mug", Quantity: mugs, Price: 100}},
		Total: transitions.Money{Amount: mugs * 100, Currency: "EUR"},
	}
}

func TestAGoodOrderIsPaidAndShipped(t *testing.T) {
	env := start(t, ratchettest.Config{})
	env.SetStock("mug", 100)

	env.Execute(order("o-1", 2))
	env.WantExecution("o-1", sfntypes.ExecutionStatusSucceeded)
	env.WantJournal("o-1", workflow.Pending, workflow.PaymentReceived, workflow.Shipped, workflow.Delivered)
	wantStock(t, env, 98)
}

// wantStock fails unless so many mugs are left.
func wantStock(t *testing.T, env *ratchettest.Env, available int64) {
	t.Helper()

	level, _, err := env.Backend.Stock.Level(t.Context(), "mug")
	if err != nil || level.Available != available || level.Reserved != 0 {
		t.Errorf("stock %+v, %v, want %d", level, err, available)
	}
}

func TestASuspiciousOrderIsCanceledBeforeItIsPaid(t *testing.T) {
	env := start(t, ratchettest.Config{})
	env.SetStock("mug", 100)

	env.Execute(order("o-1", 60))
	env.WantExecution("o-1", sfntypes.ExecutionStatusSucceeded)
	env.WantJournal("o-1", workflow.Pending, workflow.Cancelled)
	wantStock(t, env, 100)
}

// TestAnOrderIsShippedOnceOnABadDay: answers of AWS get lost after the write, so its caller writes again. The
// order, its stock and its notifications are the same as on a good day.
func TestAnOrderIsShippedOnceOnABadDay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the pauses before each repeat take no time
		env := start(t, ratchettest.Config{Repeats: true, Patience: time.Hour})
		env.SetStock("mug", 100)

		lost, err := env.Backend.Engine.Inject(faults.LoseAnswer(faults.Writes()...).EveryNth(11))
		if err != nil {
			t.Fatal(err)
		}

		env.Execute(order("o-1", 2))
		env.WantExecution("o-1", sfntypes.ExecutionStatusSucceeded)
		env.WantEffects("o-1", "2/shipping", "2/notify", "3/notify", "4/notify")
		env.Backend.Engine.ClearFaults()
		wantStock(t, env, 98)

		if lost.Strikes() == 0 {
			t.Error("no answer was lost")
		}
	})
}

// TestDefinitionStateMachineAndStepsFit makes the check that every command makes first.
func TestDefinitionStateMachineAndStepsFit(t *testing.T) {
	parts, err := newParts()
	if err != nil {
		t.Fatal(err)
	}

	if _, err := (server.Config{Parts: parts}).CheckWorkflow(); err != nil {
		t.Error(err)
	}
}
