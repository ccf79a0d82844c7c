package ratchettest_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	sfntypes "github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"ratchet/notify/destination"
	"ratchet/server"
	"ratchet/server/ratchettest"
	"ratchet/transitions"
	"ratchet/workflow"
)

// oddIDs have what separates the parts of a key, a path, a header, a line of a log and a command line.
var oddIDs = []transitions.OrderID{
	"..",
	"shop/2026/1 #a~b%2F",
	"it's \"one\" `id` $(x) = é\u2028",
	"x.0000000000001",
	transitions.OrderID(strings.Repeat("é", 128)),
}

// Every part of an order's way takes every id: an order is paid, shipped and delivered, with each effect once.
func TestAnOrderOfAnyIDIsDelivered(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "notices")
	env := ratchettest.Start(t, ratchettest.Config{Server: server.Config{Notify: "dir:" + dir}})
	env.SetStock("mug", 10)

	for _, id := range oddIDs {
		env.Execute(ratchettest.NewOrder(id, "mug"))
	}

	for _, id := range oddIDs {
		env.WantExecution(id, sfntypes.ExecutionStatusSucceeded)
		env.WantOrder(id, workflow.Delivered, 4)
		env.WantJournal(id, workflow.Pending, workflow.PaymentReceived, workflow.Shipped, workflow.Delivered)
		env.WantEffects(id, "2/shipping", "2/notify", "3/notify", "4/notify")
	}

	files, err := destination.NewDir(dir)
	if err != nil {
		t.Fatal(err)
	}

	if n, err := files.Count(); err != nil || n != 3*len(oddIDs) {
		t.Errorf("there are %d notifications (%v), want %d", n, err, 3*len(oddIDs))
	}
}

// A cancellation finds the shipment, the stock and the money of the order.
func TestAnOrderOfAnyIDIsCanceled(t *testing.T) {
	env := ratchettest.Start(t, ratchettest.Config{Server: server.Config{CarrierDelay: time.Minute}})
	env.SetStock("mug", 10)

	for _, id := range oddIDs {
		env.Execute(ratchettest.NewOrder(id, "mug"))
	}

	for _, id := range oddIDs {
		env.WantOrder(id, workflow.PaymentReceived, 2)
		env.Apply(transitions.Request{OrderID: id, Event: workflow.Cancel, RequestID: "customer/1"}, transitions.Applied)
	}

	for _, id := range oddIDs {
		env.WantExecution(id, sfntypes.ExecutionStatusSucceeded)
		env.WantJournal(id, workflow.Pending, workflow.PaymentReceived, workflow.Cancelled)
	}
}
