package check_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"ratchet/workflow"
	"ratchet/workflow/check"
)

func TestTasksMatchTheEndOfAResourceName(t *testing.T) {
	rows := []struct {
		resource string
		want     check.Effect
	}{
		{resource: "${PlaceOrderArn}", want: check.Effect{Activity: true, Creates: true}},
		{resource: "arn:aws:states:eu-central-1:123456789012:activity:shop-place-order", want: check.Effect{Activity: true, Creates: true}},
		{resource: "${CheckStockFunctionArn}", want: check.Effect{}},
		{resource: "arn:aws:states:::lambda:invoke", want: check.Effect{}},
		{resource: "arn:aws:lambda:eu-central-1:123456789012:function:look", want: check.Effect{}},
		{resource: "", want: check.Effect{}},
	}
	for _, row := range rows {
		if diff := cmp.Diff(row.want, smallTasks().Effect(row.resource, nil)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.resource, diff)
		}
	}

	e := smallTasks().Effect("${ApplyTransitionArn}", map[string]any{"event": "pay", "transitionId.$": "$.id"})
	if e.Event != workflow.Pay || !e.Fenced {
		t.Errorf("apply-transition with an id is a fenced pay, got %+v", e)
	}
}

func TestTheLongestTaskNameCounts(t *testing.T) {
	tasks := check.Tasks{
		"order":       func(map[string]any) check.Effect { return check.Effect{Event: "wrong"} },
		"place-order": func(map[string]any) check.Effect { return check.Effect{Creates: true} },
	}

	want := check.Effect{Activity: true, Creates: true}
	if diff := cmp.Diff(want, tasks.Effect("${ShopPlaceOrderArn}", nil)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
