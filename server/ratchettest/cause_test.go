package ratchettest_test

import (
	"testing"

	sfntypes "github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"ratchet/server/ratchettest"
	"ratchet/workflow"
)

// TestACanceledOrderSaysWhy, as its execution has canceled it.
func TestACanceledOrderSaysWhy(t *testing.T) {
	env := ratchettest.Start(t, ratchettest.Config{})
	env.SetStock("mug", 1)

	order := ratchettest.NewOrder("o-1", "mug", "mug")
	env.Execute(order)
	env.WantExecution("o-1", sfntypes.ExecutionStatusSucceeded)

	const text = "out of stock: mug, wanted 2, 1 left"

	canceled := env.WantOrder("o-1", workflow.Cancelled, 2)
	if c := canceled.Cause; c.Code != "out-of-stock" || c.Text != text || c.Actor != "execution:o-1" {
		t.Errorf("order: %+v", c)
	}
}
