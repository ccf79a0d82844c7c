package workflow_test

import (
	"fmt"

	"ratchet/workflow"
)

func ExampleDefinition_Next() {
	to, ok := workflow.Order().Next(workflow.Pending, workflow.Pay)
	fmt.Println(to, ok)
	_, ok = workflow.Order().Next(workflow.Shipped, workflow.Cancel)
	fmt.Println(ok)
	// Output:
	// PAYMENT_RECEIVED true
	// false
}

func ExampleCheck() {
	asl := `{
  "StartAt": "Place",
  "TimeoutSeconds": 3600,
  "States": {
    "Place": {"Type": "Task", "Resource": "${PlaceOrderArn}", "ResultPath": "$.order",
      "TimeoutSeconds": 60, "HeartbeatSeconds": 20, "Next": "Ship"},
    "Ship": {"Type": "Task", "Resource": "${ApplyTransitionArn}", "ResultPath": "$.order",
      "Parameters": {"event": "ship", "transitionId.$": "States.MathAdd($.order.transitionId, 1)"},
      "TimeoutSeconds": 60, "HeartbeatSeconds": 20, "Next": "Done",
      "Catch": [{"ErrorEquals": ["States.ALL"], "ResultPath": "$.failure", "Next": "Stopped"}]},
    "Done": {"Type": "Succeed"},
    "Stopped": {"Type": "Fail"}
  }
}`

	report, err := workflow.Check([]byte(asl), workflow.Order(), workflow.CheckOptions{File: "hasty.asl.json"})
	if err != nil {
		fmt.Println(err)
		return
	}

	for _, f := range report.Findings {
		if f.Code != "illegal-event" {
			continue
		}
		fmt.Printf("line %d, %s: %s\n", f.Line, f.State, f.Message)

		for _, s := range f.Path {
			fmt.Printf("%s %q\n", s.State, s.Order)
		}
	}
	// Output:
	// line 7, Ship: event ship is legal from PAYMENT_RECEIVED, PARTIALLY_SHIPPED, but the order can only be PENDING here
	// Place ""
	// Ship "PENDING"
}

func ExampleRenderGuards() {
	c, err := workflow.RenderGuards([]workflow.Guard{
		{Name: "total-covered", Attribute: "captured", Op: workflow.OpAtLeast, Other: "total"},
		{Name: "in-return-window", Attribute: "deliveredAt", Op: workflow.OpMore, Request: "windowStart"},
	}, "g", map[string]any{"windowStart": 1763700000})
	fmt.Println(c.Expression, c.Names, c.Values, err)
	// Output: #g0 >= #g1 AND #g2 > :g0 map[#g0:captured #g1:total #g2:deliveredAt] map[:g0:1763700000] <nil>
}

func ExampleChargeStatus() {
	charge, err := workflow.ChargeStatus(5000, 5000, 1200)
	fmt.Println(charge, err)
	// Output: partially_refunded <nil>
}
