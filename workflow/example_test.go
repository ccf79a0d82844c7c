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

func ExampleRenderGuards() {
	c, err := workflow.RenderGuards([]workflow.Guard{
		{Name: "total-covered", Attribute: "captured", Op: ">=", Other: "total"},
		{Name: "in-return-window", Attribute: "deliveredAt", Op: ">", Request: "windowStart"},
	}, "g", map[string]any{"windowStart": 1763700000})
	fmt.Println(c.Expression, c.Names, c.Values, err)
	// Output: #g0 >= #g1 AND #g2 > :g0 map[#g0:captured #g1:total #g2:deliveredAt] map[:g0:1763700000] <nil>
}
