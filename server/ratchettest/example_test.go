package ratchettest_test

import (
	"testing"

	sfntypes "github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"ratchet/server"
	"ratchet/server/ratchettest"
	"ratchet/transitions"
	"ratchet/workflow"
)

// An order is executed from its placing to its delivery.
func Example() {
	var t *testing.T // of the test

	env := ratchettest.Start(t, ratchettest.Config{})
	env.SetStock("mug", 10)

	env.Execute(ratchettest.NewOrder("o-1", "mug"))

	env.WantExecution("o-1", sfntypes.ExecutionStatusSucceeded)
	env.WantOrder("o-1", workflow.Delivered, 4)
	env.WantJournal("o-1", workflow.Pending, workflow.PaymentReceived, workflow.Shipped, workflow.Delivered)
	env.WantEffects("o-1", "2/shipping", "2/notify", "3/notify", "4/notify")
}

// Single transitions, without an execution: a customer cancels, and the retry of the
// request is answered as the first one was.
func ExampleEnv_Apply() {
	var t *testing.T // of the test

	env := ratchettest.Start(t, ratchettest.Config{})
	env.Place(ratchettest.NewOrder("o-1", "mug"))

	cancel := transitions.Request{OrderID: "o-1", Event: workflow.Cancel, RequestID: "customer/1"}
	env.Apply(cancel, transitions.Applied)
	env.Apply(cancel, transitions.Replayed)

	env.WantJournal("o-1", workflow.Pending, workflow.Cancelled)
	env.WantEffects("o-1", "2/notify")
}

// A bank that declines every payment.
func ExampleConfig() {
	var t *testing.T // of the test

	env := ratchettest.Start(t, ratchettest.Config{Server: server.Config{DeclinePercent: 100}})
	env.SetStock("mug", 10)

	env.Execute(ratchettest.NewOrder("o-1", "mug"))
	env.WantOrder("o-1", workflow.PaymentFailed, 2)
}

// A definition of your own in a file, without the worker, whose state machine it does not fit.
func ExampleConfig_ownDefinition() {
	var t *testing.T // of the test

	env := ratchettest.Start(t, ratchettest.Config{
		NoWorker: true,
		Server:   server.Config{OrderDefinition: "testdata/parking.yaml", Journal: "transactional"},
	})
	env.Place(ratchettest.NewOrder("car-1", "ticket"))
	env.Move("car-1", "leave")
	env.WantJournal("car-1", "INSIDE", "LEFT")
}
