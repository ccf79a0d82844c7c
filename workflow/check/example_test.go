package check_test

import (
	"fmt"

	"ratchet/activities/steps"
	"ratchet/workflow"
	"ratchet/workflow/check"
)

func ExampleStateMachine() {
	asl := `{
  "StartAt": "Place",
  "TimeoutSeconds": 3600,
  "States": {
    "Place": {"Type": "Task", "Resource": "${PlaceArn}", "ResultPath": "$.order",
      "TimeoutSeconds": 60, "HeartbeatSeconds": 20, "Next": "Ship"},
    "Ship": {"Type": "Task", "Resource": "${ApplyArn}", "ResultPath": "$.order",
      "Parameters": {"event": "ship", "transitionId.$": "States.MathAdd($.order.transitionId, 1)"},
      "TimeoutSeconds": 60, "HeartbeatSeconds": 20, "Next": "Done",
      "Catch": [{"ErrorEquals": ["States.ALL"], "ResultPath": "$.failure", "Next": "Stopped"}]},
    "Done": {"Type": "Succeed"},
    "Stopped": {"Type": "Fail"}
  }
}`

	report, err := check.StateMachine([]byte(asl), workflow.Order(), steps.GeneralCheckConfig())
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
