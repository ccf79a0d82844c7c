package tasktoken_test

import (
	"encoding/json"
	"fmt"

	"ratchet/activities/tasktoken"
)

// The parameters of a state that parks its task until the order is SHIPPED. The paths say where
// the execution's data has what the row needs.
func ExampleWaitParameters() {
	parameters := tasktoken.WaitParameters("${ParkedTable}", "SHIPPED", tasktoken.Paths{
		OrderID:     "$.order.orderId",
		Incarnation: "$.order.incarnation",
		Since:       "$.order.transitionId",
		Visits:      "$.run.visits",
	})

	values := parameters["ExpressionAttributeValues"].(map[string]any)
	for _, part := range []any{parameters["TableName"], parameters["Key"], values[":awaited"], values[":since"], values[":visits"], values[":token"]} {
		text, err := json.Marshal(part)
		if err != nil {
			panic(err)
		}

		fmt.Println(string(text))
	}
	// Output:
	// "${ParkedTable}"
	// {"orderId":{"S.$":"States.Format('{}.{}', $.order.orderId, $.order.incarnation)"}}
	// {"S":"SHIPPED"}
	// {"N.$":"States.Format('{}', $.order.transitionId)"}
	// {"N.$":"States.Format('{}', $.run.visits)"}
	// {"S.$":"$$.Task.Token"}
}
