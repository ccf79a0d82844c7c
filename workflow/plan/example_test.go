package plan_test

import (
	"fmt"
	"time"

	"ratchet"
	"ratchet/workflow/plan"
)

// How many orders a second can the shop take, and what stops it first?
func Example() {
	machine, err := plan.Parse("statemachine.asl.json", []byte(ratchet.StateMachine))
	if err != nil {
		panic(err)
	}

	report, err := plan.New(machine, plan.Load{
		Quotas: plan.USEast1(),
		Waits:  map[string]time.Duration{"AwaitShipped": 24 * time.Hour, "AwaitDelivered": 48 * time.Hour},
	})
	if err != nil {
		panic(err)
	}

	fmt.Println(report.Way)
	fmt.Println(report.Transitions, "transitions per order")
	fmt.Println("first limit:", report.Limits[0].Quota)
	// Output:
	// [Accept Pay AwaitShipped AwaitDelivered]
	// 4 transitions per order
	// first limit: OpenExecutions
}
