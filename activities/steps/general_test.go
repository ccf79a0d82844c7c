package steps_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ratchet"
	"ratchet/activities"
	"ratchet/activities/steps"
	"ratchet/activities/tasktoken"
	"ratchet/embedded/embeddedtest"
	"ratchet/transitions"
	"ratchet/workflow"
)

// newGeneral returns the general steps for a definition other than the shop's, by name.
func newGeneral(t *testing.T) (run func(step, input string) (string, error), orders *transitions.Orders) {
	t.Helper()

	definition, err := workflow.New(workflow.Spec{
		Name: "ticket", Version: 1, Place: "open", Initial: "OPEN",
		States: []workflow.StateSpec{{State: "OPEN"}, {State: "CLOSED", Terminal: true}},
		Transitions: []workflow.Transition{
			{Event: "close", From: []workflow.State{"OPEN"}, To: "CLOSED"},
			{Event: "drop", From: []workflow.State{"OPEN"}, To: "CLOSED"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}

	db := embeddedtest.DynamoDB(t, transitions.Mapping{}.OrdersTable("orders"), tasktoken.TableInput("parked"))

	orders, err = transitions.New(transitions.Config{DynamoDB: db, Table: "orders", Definition: definition, Log: embeddedtest.Quiet()})
	if err != nil {
		t.Fatal(err)
	}

	parked, err := tasktoken.New(tasktoken.Config{DynamoDB: db, Table: "parked"})
	if err != nil {
		t.Fatal(err)
	}

	general, err := steps.NewGeneral(steps.GeneralConfig{Orders: orders, Parked: parked})
	if err != nil {
		t.Fatal(err)
	}

	run = func(name, input string) (string, error) {
		for _, step := range general.All() {
			if step.Name != name {
				continue
			}

			out, err := step.Handle(t.Context(), activities.Task{Input: json.RawMessage(input)})
			if err != nil {
				return "", err
			}

			text, err := json.Marshal(out)

			return string(text), err
		}

		return "", fmt.Errorf("no step %s", name)
	}

	return run, orders
}

// incarnations matches the incarnation of a position, which differs in each run.
var incarnations = regexp.MustCompile(`"incarnation":"[0-9a-v]{13}",`)

// TestTheGeneralStepsBringAnOrderOn: every task may run twice, and an order that another caller
// has moved stops it with the order's position.
func TestTheGeneralStepsBringAnOrderOn(t *testing.T) {
	run, orders := newGeneral(t)

	place := func(id, started, more string) string {
		return fmt.Sprintf(`{"order": {"orderId": %q, "total": {"amount": 0, "currency": "EUR"}%s}, "started": %q}`, id, more, started)
	}

	for _, id := range []string{"t-1", "t-2"} {
		if _, err := run("place", place(id, "2026-01-01T00:00:00.000Z", "")); err != nil {
			t.Fatal(err)
		}
	}

	for _, row := range []struct{ name, step, input, want, fails string }{
		{"a second try finds the order", "place", place("t-1", "2026-01-01T00:00:00.000Z", ""), `{"orderId":"t-1","state":"OPEN","transitionId":1}`, ""},
		{"another execution is refused", "place", place("t-1", "2026-01-02T00:00:00.000Z", ""), "", "Order.AlreadyAccepted"},
		{"a successor adopts it", "place", place("t-1", "2026-01-02T00:00:00.000Z", `, "adopt": true`), `{"orderId":"t-1","state":"OPEN","transitionId":1}`, ""},
		{"other content is refused", "place", place("t-1", "2026-01-01T00:00:00.000Z", `, "customer": "c-1"`), "", "Order.OtherContent"},
		{"a successor whose order is unknown places it", "place", place("t-3", "2026-01-02T00:00:00.000Z", `, "adopt": true`), `{"orderId":"t-3","state":"OPEN","transitionId":1}`, ""},
		{"an unknown member is refused", "place", `{"order": {}, "begun": ""}`, "", "Order.InvalidInput"},
		{"data after the input is refused", "look", `{"orderId":"t-1","started":""}{}`, "", "Order.InvalidInput"},
		{"look", "look", `{"orderId":"t-1","started":"2026-01-01T00:00:00.000Z"}`, `{"orderId":"t-1","state":"OPEN","transitionId":1}`, ""},
		{"look for an order that does not exist", "look", `{"orderId":"t-9","started":""}`, "", "Order.NotFound"},
		{"apply", "apply", `{"orderId":"t-1","event":"close","transitionId":2}`, `{"orderId":"t-1","state":"CLOSED","transitionId":2}`, ""},
		{"apply to an order that does not exist", "apply", `{"orderId":"t-9","event":"close","transitionId":2}`, "", "Order.NotFound"},
		{"a second try of apply", "apply", `{"orderId":"t-1","event":"close","transitionId":2}`, `{"orderId":"t-1","state":"CLOSED","transitionId":2}`, ""},
		{"apply another event under the id", "apply", `{"orderId":"t-1","event":"drop","transitionId":2}`, "", "Order.Conflict"},
		{"apply when the order has moved", "apply", `{"orderId":"t-1","event":"close","transitionId":3}`, "", "Order.WrongState"},
		{"an event that the definition does not have", "apply", `{"orderId":"t-2","event":"fly","transitionId":2}`, "", "Order.Illegal"},
		{"place when the order has moved", "place", place("t-1", "2026-01-01T00:00:00.000Z", ""), "", "Order.WrongState"},
	} {
		got, err := run(row.step, row.input)
		got = incarnations.ReplaceAllString(got, "")
		if got != row.want || name(err) != row.fails {
			t.Errorf("%s: got %s, %v; want %s%s", row.name, got, err, row.want, row.fails)
		}

		if row.fails == "Order.WrongState" && !strings.Contains(fmt.Sprint(err), `"state":"CLOSED"`) {
			t.Errorf("%s: %v does not say where the order is", row.name, err)
		}
	}

	if order, _, err := orders.Get(t.Context(), "t-2"); err != nil || order.State != "OPEN" {
		t.Errorf("t-2 is %v, %v", order, err)
	}

	if _, err := steps.NewGeneral(steps.GeneralConfig{}); err == nil || !strings.Contains(err.Error(), "Orders") || !strings.Contains(err.Error(), "Parked") {
		t.Errorf("an empty configuration: %v", err)
	}
}

// TestNestedTasksAreRead: a Map and a Parallel have tasks of their own, and a time-out may be an
// expression.
func TestNestedTasksAreRead(t *testing.T) {
	const wait = `{"Type": "Task", "Resource": "arn:aws:states:::aws-sdk:dynamodb:updateItem.waitForTaskToken",
		"%s": {"ExpressionAttributeValues": {":awaited": {"S": "%s"}}}, "TimeoutSeconds": "{%% $t %%}"}`

	asl := `{"States": {
		"P": {"Type": "Parallel", "Branches": [
			{"States": {"A": {"Type": "Task", "Resource": "${AArn}", "TimeoutSeconds": 60, "HeartbeatSeconds": 20}}},
			{"States": {"B": ` + fmt.Sprintf(wait, "Parameters", "CLOSED") + `}}]},
		"M": {"Type": "Map", "ItemProcessor": {"States": {
			"C": {"Type": "Task", "Resource": "${CArn}", "TimeoutSeconds": "{% $t %}", "HeartbeatSeconds": 5}}}},
		"I": {"Type": "Map", "Iterator": {"States": {"D": ` + fmt.Sprintf(wait, "Arguments", "ANSWERED") + `}}}}}`

	timings, err := steps.Timings(asl)
	if err != nil || len(timings) != 2 || timings["AArn"].Timeout == 0 || timings["CArn"].Heartbeat == 0 || timings["CArn"].Timeout != 0 {
		t.Errorf("timings %v, %v", timings, err)
	}

	awaited, err := steps.Awaited(asl)
	if want := []workflow.State{"ANSWERED", "CLOSED"}; err != nil || !cmp.Equal(awaited, want) {
		t.Errorf("awaited %v, %v, want %v", awaited, err, want)
	}

	if shop, err := steps.Awaited(ratchet.StateMachine); err != nil || !cmp.Equal(shop, []workflow.State{workflow.Delivered, workflow.Pending, workflow.Shipped}) {
		t.Errorf("the shop awaits %v, %v", shop, err)
	}

	for _, bad := range []string{`{`, `{"States": {"A": null}}`, `{"States": {"A": {"Type": "Task", "TimeoutSeconds": 1.5}}}`} {
		if _, err := steps.Awaited(bad); err == nil {
			t.Errorf("%s is accepted", bad)
		}
	}
}
