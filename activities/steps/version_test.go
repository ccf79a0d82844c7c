package steps_test

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"ratchet/activities"
	"ratchet/activities/steps"
	"ratchet/embedded/embeddedtest"
	"ratchet/tasktoken"
	"ratchet/transitions"
	"ratchet/workflow"
)

// TestUnknownVersionStopsTheExecution: the failure has a name of its own, no
// retry, and leaves nothing behind; an execution may be redriven after the migration.
func TestUnknownVersionStopsTheExecution(t *testing.T) {
	db := embeddedtest.DynamoDB(t, transitions.OrdersTable("orders"), transitions.JournalTable("events"), tasktoken.TableInput("parked"))
	at := func(version int) *steps.Steps {
		spec := workflow.Order().Spec()
		spec.Version = version

		definition, err := workflow.New(spec)
		if err != nil {
			t.Fatal(err)
		}

		orders, err := transitions.New(transitions.Config{DynamoDB: db, Table: "orders", JournalTable: "events", Definition: definition, Log: embeddedtest.Quiet()})
		if err != nil {
			t.Fatal(err)
		}

		parked, err := tasktoken.New(tasktoken.Config{DynamoDB: db, Table: "parked"})
		if err != nil {
			t.Fatal(err)
		}

		return &steps.Steps{Orders: orders, Parked: parked, ParkFor: time.Hour}
	}
	if _, err := at(2).Orders.Create(t.Context(), transitions.NewOrder{ID: "o-1", Total: transitions.Money{Amount: 5, Currency: "EUR"}}); err != nil {
		t.Fatal(err)
	}

	old := at(1)
	for name, input := range map[string]string{
		"apply-transition": `{"orderId":"o-1","event":"pay","transitionId":2}`,
		"await-order":      `{"orderId":"o-1","awaited":"SHIPPED","since":1}`,
	} {
		all := old.All()
		step := all[slices.IndexFunc(all, func(s steps.Step) bool { return s.Name == name })]

		_, err := step.Handle(t.Context(), activities.Task{Token: "token", Input: json.RawMessage(input)})
		var failure *activities.Error
		if !errors.As(err, &failure) || failure.Name != "Order.UnknownVersion" {
			t.Errorf("%s: %v", name, err)
		} else if slices.Contains(steps.RetryableErrors(), failure.Name) {
			t.Errorf("%s is retried", failure.Name)
		}
	}

	if tasks, err := old.Parked.Waiting(t.Context(), "o-1"); err != nil || len(tasks) > 0 {
		t.Errorf("%d tasks are parked, %v", len(tasks), err)
	}
}
