package reactions_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	sfntypes "github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"ratchet/activities"
	"ratchet/activities/tasktoken"
	"ratchet/embedded/embeddedtest"
	"ratchet/streams/reactions"
	"ratchet/tests/shop"
	"ratchet/workflow"
)

// machine creates a state machine with one task and returns its ARN.
func (s *orderSystem) machine(t *testing.T, name string, task map[string]any) string {
	t.Helper()

	task["Type"], task["End"] = "Task", true

	definition, err := json.Marshal(map[string]any{"StartAt": "Wait", "States": map[string]any{"Wait": task}})
	if err != nil {
		t.Fatal(err)
	}

	out, err := s.SFN.CreateStateMachine(t.Context(), &sfn.CreateStateMachineInput{
		Name: &name, Definition: aws.String(string(definition)), RoleArn: aws.String("arn:aws:iam::000000000000:role/any"),
	})
	if err != nil {
		t.Fatal(err)
	}

	return *out.StateMachineArn
}

// wait starts an execution that knows of a transition of the order and waits for the state.
func (s *orderSystem) wait(t *testing.T, awaited workflow.State, since int) (execution string) {
	t.Helper()

	arn := s.machine(t, "wait-"+string(awaited), map[string]any{
		"Resource": "arn:aws:states:::aws-sdk:dynamodb:updateItem.waitForTaskToken",
		"Parameters": tasktoken.WaitParameters(shop.ParkedTasksTable, string(awaited), tasktoken.Paths{
			OrderID: "$.run.order.orderId", Incarnation: "$.run.order.incarnation", Since: "$.run.order.transitionId", Visits: "$.run.visits",
		}),
		"TimeoutSeconds": 3600,
	})

	return s.start(t, arn, fmt.Sprintf(`{"run":{"visits":0,"order":{"orderId":"o-1","incarnation":"06h1hnv0clhti","transitionId":%d}}}`, since))
}

func (s *orderSystem) start(t *testing.T, machine, input string) (execution string) {
	t.Helper()

	out, err := s.SFN.StartExecution(t.Context(), &sfn.StartExecutionInput{StateMachineArn: &machine, Input: &input})
	if err != nil {
		t.Fatal(err)
	}

	return *out.ExecutionArn
}

// untilParked waits until the order has a parked task.
func (s *orderSystem) untilParked(t *testing.T) {
	t.Helper()

	until(t, "the task is parked", func() bool {
		tasks, err := s.parked.Waiting(t.Context(), life)
		if err != nil {
			t.Fatal(err)
		}

		return len(tasks) > 0
	})
}

// until waits for an act of the engine.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()

	for deadline := time.Now().Add(2 * time.Minute); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within 20 s", what)
		}
	}
}

// ended waits for the end of the execution and returns how it ended.
func (s *orderSystem) ended(t *testing.T, execution string) (result string) {
	t.Helper()

	until(t, "the execution ends", func() bool {
		out, err := s.SFN.DescribeExecution(t.Context(), &sfn.DescribeExecutionInput{ExecutionArn: &execution})
		if err != nil {
			t.Fatal(err)
		}
		result = fmt.Sprint(out.Status, " ", aws.ToString(out.Output), aws.ToString(out.Error))

		return out.Status != sfntypes.ExecutionStatusRunning
	})

	return result
}

// answers returns the answers to tasks that were sent since the last time.
func (s *orderSystem) answers() (sent []string) {
	for _, operation := range s.Wire.Calls() {
		if operation == "SendTaskSuccess" || operation == "SendTaskFailure" {
			sent = append(sent, operation)
		}
	}
	s.Wire.Reset()

	return sent
}

func TestAWaitingExecutionIsAnswered(t *testing.T) {
	for _, test := range []struct {
		name   string
		events []workflow.Event
		want   string
	}{
		{"the state is reached", []workflow.Event{workflow.Ship}, `SUCCEEDED {"orderId":"o-1","incarnation":"06h1hnv0clhti","state":"SHIPPED","transitionId":3}`},
		{"it is reached after a hold", []workflow.Event{workflow.Hold, workflow.Release, workflow.Ship}, `SUCCEEDED {"orderId":"o-1","incarnation":"06h1hnv0clhti","state":"SHIPPED","transitionId":5}`},
		{"it is reached in parts", []workflow.Event{workflow.ShipPart, workflow.ShipPart, workflow.Ship}, `SUCCEEDED {"orderId":"o-1","incarnation":"06h1hnv0clhti","state":"SHIPPED","transitionId":5}`},
		{"it can no longer be reached", []workflow.Event{workflow.Cancel}, "FAILED Order.WrongState"},
		{"it can no longer be reached after a hold", []workflow.Event{workflow.Hold, workflow.Cancel}, "FAILED Order.WrongState"},
	} {
		s := newOrderSystem(t)
		orders, handlers := s.at(t, 1)
		placeAndPay(t, orders)
		execution := s.wait(t, workflow.Shipped, 2)
		s.untilParked(t)

		for _, event := range test.events {
			record := s.move(t, orders, event)
			for range 2 {
				handle(t, handlers[reactions.ParkedHandler], record)
			}
		}

		if got := s.ended(t, execution); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}

		if tasks, err := s.parked.Waiting(t.Context(), life); err != nil || len(tasks) > 0 {
			t.Errorf("%s: %v wait, %v", test.name, tasks, err)
		}

		// The handler saw each change twice: the second time the task no longer took the answer.
		if row, found, err := s.parked.Get(t.Context(), life); err != nil || !found || row.Moved == 0 {
			t.Errorf("%s: the row of an answered task must stay: %+v, %t, %v", test.name, row, found, err)
		}
	}
}

// TestATaskIsNotParkedAfterTheArrival: the reaction came first. The execution learns it from
// the condition of its write, and looks at the order.
func TestATaskIsNotParkedAfterTheArrival(t *testing.T) {
	s := newOrderSystem(t)
	orders, handlers := s.at(t, 1)
	placeAndPay(t, orders)
	handle(t, handlers[reactions.ParkedHandler], s.move(t, orders, workflow.Ship))

	if got, want := s.ended(t, s.wait(t, workflow.Shipped, 2)), "FAILED DynamoDb.ConditionalCheckFailedException"; got != want {
		t.Errorf("%s, want %s", got, want)
	}

	// An execution that knows of the arrival waits for the next state.
	execution := s.wait(t, workflow.Delivered, 3)
	s.untilParked(t)
	handle(t, handlers[reactions.ParkedHandler], s.move(t, orders, workflow.Deliver))

	if got, want := s.ended(t, execution), `SUCCEEDED {"orderId":"o-1","incarnation":"06h1hnv0clhti","state":"DELIVERED","transitionId":4}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestALaggingReactionDoesNotAnswerANewerWait: the execution has seen the arrival before the
// reaction has.
func TestALaggingReactionDoesNotAnswerANewerWait(t *testing.T) {
	s := newOrderSystem(t)
	orders, handlers := s.at(t, 1)
	placeAndPay(t, orders)
	shipped := s.move(t, orders, workflow.Ship)
	execution := s.wait(t, workflow.Delivered, 3)
	s.untilParked(t)
	s.Wire.Reset()
	handle(t, handlers[reactions.ParkedHandler], shipped)

	if n := s.Wire.Count("Query"); n != 0 {
		t.Errorf("%d queries for the tasks of activities, although the execution parks its own", n)
	}

	if sent := s.answers(); len(sent) > 0 {
		t.Errorf("answers %q", sent)
	}
	handle(t, handlers[reactions.ParkedHandler], s.move(t, orders, workflow.Deliver))

	if got, want := s.ended(t, execution), `SUCCEEDED {"orderId":"o-1","incarnation":"06h1hnv0clhti","state":"DELIVERED","transitionId":4}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestAnAnswerIsSentAgainAfterAnOutage: the arrival is recorded, and Step Functions does not
// take the answer.
func TestAnAnswerIsSentAgainAfterAnOutage(t *testing.T) {
	s := newOrderSystem(t)
	impatient, err := activities.NewCompleter(activities.CompleterConfig{SFN: s.SFN, Timeout: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}

	orders, handlers := s.at(t, 1)
	_, during := s.at(t, 1, func(c *reactions.Config) { c.Completer = impatient })
	placeAndPay(t, orders)
	execution := s.wait(t, workflow.Shipped, 2)
	s.untilParked(t)
	record := s.move(t, orders, workflow.Ship)
	outage := s.Wire.Inject(embeddedtest.Throttle("SendTaskSuccess"))

	if err := during[reactions.ParkedHandler](t.Context(), record); err == nil {
		t.Error("the answer was not sent, and the handler has ended")
	}
	outage.Remove()
	handle(t, handlers[reactions.ParkedHandler], record)

	if got, want := s.ended(t, execution), `SUCCEEDED {"orderId":"o-1","incarnation":"06h1hnv0clhti","state":"SHIPPED","transitionId":3}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestAWaitThatAnotherFollowsIsAnsweredWithoutAWrite: the next wait writes the row again. The
// last one leaves a record, with which the row expires.
func TestAWaitThatAnotherFollowsIsAnsweredWithoutAWrite(t *testing.T) {
	s := newOrderSystem(t)
	orders, handlers := s.at(t, 1)
	placeAndPay(t, orders)
	execution := s.wait(t, workflow.Shipped, 2)
	s.untilParked(t)

	shipped := s.move(t, orders, workflow.Ship)
	s.Wire.Reset()
	handle(t, handlers[reactions.ParkedHandler], shipped)

	if calls, want := s.Wire.Calls(), []string{"GetItem", "SendTaskSuccess"}; !slices.Equal(calls, want) {
		t.Errorf("calls %q, want %q", calls, want)
	}

	if got, want := s.ended(t, execution), `SUCCEEDED {"orderId":"o-1","incarnation":"06h1hnv0clhti","state":"SHIPPED","transitionId":3}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}

	execution = s.wait(t, workflow.Delivered, 3)
	until(t, "the second task is parked in the row of the first", func() bool {
		row, _, err := s.parked.Get(t.Context(), life)
		return err == nil && row.Since == 3
	})
	handle(t, handlers[reactions.ParkedHandler], shipped) // once more, as after a crash
	handle(t, handlers[reactions.ParkedHandler], s.move(t, orders, workflow.Deliver))

	if got, want := s.ended(t, execution), `SUCCEEDED {"orderId":"o-1","incarnation":"06h1hnv0clhti","state":"DELIVERED","transitionId":4}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}

	if row, _, err := s.parked.Get(t.Context(), life); err != nil || row.Moved != 4 {
		t.Errorf("the row %+v, %v", row, err)
	}
}

// An execution ends in a settled state. That others wait for a state to which the order may still go does not keep the
// answered task in the list of those that wait.
func TestNoTaskIsListedAfterTheLastWait(t *testing.T) {
	s := newOrderSystem(t)
	orders, handlers := s.at(t, 1, func(c *reactions.Config) {
		c.Awaited = []workflow.State{workflow.Shipped, workflow.Delivered, workflow.Refunded}
	})
	placeAndPay(t, orders)
	handle(t, handlers[reactions.ParkedHandler], s.move(t, orders, workflow.Ship))

	execution := s.wait(t, workflow.Delivered, 3)
	s.untilParked(t)
	handle(t, handlers[reactions.ParkedHandler], s.move(t, orders, workflow.Deliver))

	if got, want := s.ended(t, execution), `SUCCEEDED {"orderId":"o-1","incarnation":"06h1hnv0clhti","state":"DELIVERED","transitionId":4}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}

	if tasks, err := s.parked.List(t.Context(), "", 10); err != nil || len(tasks) > 0 {
		t.Errorf("%+v still wait, %v", tasks, err)
	}
}

// TestOnlyAChangeThatCanEndAWaitCostsAWrite goes the way of an order that is held.
func TestOnlyAChangeThatCanEndAWaitCostsAWrite(t *testing.T) {
	s := newOrderSystem(t)
	orders, handlers := s.at(t, 1)
	records := []string{}

	for _, event := range []workflow.Event{
		workflow.Place, workflow.Hold, workflow.Release, workflow.Pay, workflow.Hold, workflow.Release, workflow.ShipPart, workflow.ShipPart,
		workflow.Ship, workflow.Deliver, workflow.RequestReturn, workflow.ReceiveReturn, workflow.Refund,
	} {
		record := s.change(t, func() {
			if event == workflow.Place {
				place(t, orders)
			} else {
				s.move(t, orders, event)
			}
		})
		s.Wire.Reset()
		handle(t, handlers[reactions.ParkedHandler], record)

		if n := len(s.Wire.Calls()); n > 0 {
			records = append(records, fmt.Sprint(event, " ", n))
		}
	}

	// Changes that another wait may follow look for a token first.
	if want := []string{"release 2", "ship 2", "deliver 1", "receive_return 1"}; !slices.Equal(records, want) {
		t.Errorf("calls %q, want %q", records, want)
	}
}
