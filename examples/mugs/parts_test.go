package main

import (
	"testing"

	sfntypes "github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"ratchet/server"
	"ratchet/server/ratchettest"
	"ratchet/transitions"
)

// start starts the workflow on an engine of the test, with ten mugs.
func start(t *testing.T, cfg server.Config) *ratchettest.Env {
	t.Helper()

	parts, err := newParts()
	if err != nil {
		t.Fatal(err)
	}
	cfg.Parts = parts

	env := ratchettest.Start(t, ratchettest.Config{Server: cfg})
	env.SetStock("mug", 10)

	return env
}

// order orders mugs at 5.00 EUR.
func order(mugs int64) transitions.NewOrder {
	return transitions.NewOrder{
		ID:    "mugs-1",
		Items: []transitions.Item{{SKU: "mug", Quantity: mugs, Price: 500}},
		Total: transitions.Money{Amount: mugs * 500, Currency: "EUR"},
	}
}

// wantPaid waits until the bank has kept the amount of the order's payment.
func wantPaid(t *testing.T, env *ratchettest.Env, amount int64) {
	t.Helper()

	o, _, err := env.Backend.Orders.Get(t.Context(), "mugs-1")
	if err != nil {
		t.Fatal(err)
	}

	env.Wait("the payment", func() (bool, string, error) {
		p, err := env.Backend.Payments.Get(t.Context(), o.LifeID())
		kept := p.Captured - p.Refunded

		return kept == amount, string(p.State), err
	})
}

// wantStock waits until so many mugs are available.
func wantStock(t *testing.T, env *ratchettest.Env, available int64) {
	t.Helper()

	env.Wait("the stock", func() (bool, string, error) {
		level, _, err := env.Backend.Stock.Level(t.Context(), "mug")
		return level.Available == available && level.Reserved == 0, "", err
	})
}

func TestAnOrderIsSentAndReceived(t *testing.T) {
	env := start(t, server.Config{})

	env.Execute(order(2))

	env.WantOrder("mugs-1", "RECEIVED", 4)
	env.WantExecution("mugs-1", sfntypes.ExecutionStatusSucceeded)
	env.WantJournal("mugs-1", "PLACED", "ACCEPTED", "SENT", "RECEIVED")
	wantPaid(t, env, 1000)
	wantStock(t, env, 8)
}

func TestACanceledOrderCostsNothing(t *testing.T) {
	env := start(t, server.Config{CarrierDelay: 1 << 40}) // no parcel leaves in this test

	env.Execute(order(2))
	env.WantOrder("mugs-1", "ACCEPTED", 2)
	env.Move("mugs-1", "cancel")

	env.WantExecution("mugs-1", sfntypes.ExecutionStatusSucceeded)
	wantPaid(t, env, 0)
	wantStock(t, env, 10)
}

func TestMissingPiecesRejectTheOrder(t *testing.T) {
	env := start(t, server.Config{})

	env.Execute(order(11))

	env.WantOrder("mugs-1", "REJECTED", 2)
	env.WantExecution("mugs-1", sfntypes.ExecutionStatusSucceeded)
	wantStock(t, env, 10)
}

func TestADeclinedOrderKeepsNothing(t *testing.T) {
	env := start(t, server.Config{DeclinePercent: 100})

	env.Execute(order(2))

	env.WantOrder("mugs-1", "DECLINED", 2)
	env.WantExecution("mugs-1", sfntypes.ExecutionStatusSucceeded)
	wantStock(t, env, 10)
}

func TestAReturnedOrderIsRefunded(t *testing.T) {
	env := start(t, server.Config{})

	env.Execute(order(2))
	env.WantOrder("mugs-1", "RECEIVED", 4)
	env.Move("mugs-1", "send_back")

	env.WantOrder("mugs-1", "REFUNDED", 6)
	wantPaid(t, env, 0)
}

// TestDefinitionStateMachineAndStepsFit makes the check that every command makes before it begins.
func TestDefinitionStateMachineAndStepsFit(t *testing.T) {
	parts, err := newParts()
	if err != nil {
		t.Fatal(err)
	}

	if _, err := (server.Config{Parts: parts}).CheckWorkflow(); err != nil {
		t.Error(err)
	}
}
