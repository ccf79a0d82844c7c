package executions_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sfn"

	"ratchet/internal/dynamo"
	"ratchet/operate/executions"
	"ratchet/transitions"
	"ratchet/workflow"
)

// livesAgain deletes the order, whose id another order gets.
func (e *orderExecutions) livesAgain(id transitions.OrderID) {
	e.t.Helper()

	if _, err := e.db.DeleteItem(e.t.Context(), &dynamodb.DeleteItemInput{
		TableName: aws.String("orders"), Key: dynamo.Item{"orderId": dynamo.S(string(id))},
	}); err != nil {
		e.t.Fatal(err)
	}

	again := content(id)
	again.Incarnation = transitions.NewIncarnation(time.Now().Add(time.Second))

	if _, err := e.orders.Create(e.t.Context(), again); err != nil {
		e.t.Fatal(err)
	}
}

// lifeIn returns the life in the input of an execution.
func (e *orderExecutions) lifeIn(x executions.Execution) transitions.Incarnation {
	e.t.Helper()

	out, err := e.sfn.DescribeExecution(e.t.Context(), &sfn.DescribeExecutionInput{ExecutionArn: &x.ARN})
	if err != nil {
		e.t.Fatal(err)
	}

	var input struct {
		Incarnation transitions.Incarnation `json:"incarnation"`
	}
	if err := json.Unmarshal([]byte(*out.Input), &input); err != nil {
		e.t.Fatal(err)
	}

	return input.Incarnation
}

// TestEachLifeHasItsExecution: the execution of the life before still waits for that life, for up to 30
// days. It is not taken for the present life's, which gets one of its own, with the life in its input.
func TestEachLifeHasItsExecution(t *testing.T) {
	for name, begin := range map[string]func(*orderExecutions){
		"the id is used again": func(e *orderExecutions) { e.livesAgain("wait-1") },
		"the order is renewed": func(e *orderExecutions) {
			order, _, err := e.orders.Get(e.t.Context(), "wait-1")
			if err != nil {
				e.t.Fatal(err)
			}

			// The first execution was started in an earlier millisecond.
			for first, _, _ := e.Current(e.t.Context(), "wait-1"); time.Now().UnixMilli() <= first.StartedAt.UnixMilli(); {
			}

			if renewed, err := e.orders.Renew(e.t.Context(), order); !renewed || err != nil {
				e.t.Fatal(renewed, err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newOrderExecutions(t)
			e.place("wait-1")
			begin(e)

			if x, found, err := e.Current(t.Context(), "wait-1"); found || err != nil {
				t.Errorf("before its start: %+v, %v", x, err)
			}
			e.apply("wait-1", workflow.Pay)
			got, _ := e.survey(time.Now().Add(time.Hour), executions.Filter{})
			equal(t, "listed", got, []string{"wait-1 missing"})

			order, _, err := e.orders.Get(t.Context(), "wait-1")
			if err != nil {
				t.Fatal(err)
			}

			var second executions.Execution
			for range 2 { // a repeat finds the same
				x, err := e.StartPlaced(t.Context(), "wait-1")
				if err != nil || x.Number != 2 || e.lifeIn(x) != order.Incarnation {
					t.Fatalf("%+v of life %q, %v; want the second, of life %q", x, e.lifeIn(x), err, order.Incarnation)
				}
				second = x
			}

			current, found, err := e.Current(t.Context(), "wait-1")
			equal(t, "current", []any{current.ARN, found, err}, []any{second.ARN, true, nil})
		})
	}
}
