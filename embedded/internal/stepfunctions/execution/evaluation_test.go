package execution

import (
	"fmt"
	"strings"
	"testing"
)

// TestAFailedEvaluationIsInTheHistory compares the events of fields in JSONata that fail with
// the recordings of AWS.
// Source: https://github.com/localstack/localstack tests/aws/services/stepfunctions/v2,
// test_undefined_reference, test_wait_timestamp_jsonata, test_map_state_items_eval_jsonata_fail,
// test_map_state_items_input_types and test_map_catch_error.
func TestAFailedEvaluationIsInTheHistory(t *testing.T) {
	const iterate = `"ItemProcessor":{"StartAt":"I","States":{"I":{"Type":"Pass","End":true}}}`

	for _, row := range []struct{ is, state, input, field, history string }{
		{
			"the Output of a Pass", `"Type":"Pass","Output":{"result":"{% $none %}"}`, `{}`, "Output/result",
			"3<0 EvaluationFailed, 4<3 ExecutionFailed",
		},
		{
			"the Arguments of a Task",
			`"Type":"Task","Resource":"arn:aws:states:::dynamodb:getItem","Arguments":"{% $none %}"`, `{}`, "Arguments",
			"3<0 EvaluationFailed, 4<3 ExecutionFailed",
		},
		{
			"the Timestamp of a Wait", `"Type":"Wait","Timestamp":"{% $states.input.at %}"`, `{"at":"05-12-2016T21:29:29Z"}`, "Timestamp",
			"3<2 EvaluationFailed, 4<3 ExecutionFailed",
		},
		{
			"the Items of a Map", `"Type":"Map","Items":"{% 1 %}",` + iterate, `{}`, "Items",
			"3<0 EvaluationFailed, 4<3 MapStateFailed, 5<4 ExecutionFailed",
		},
		{
			"the input of a Map", `"Type":"Map",` + iterate, `null`, "",
			"3<0 EvaluationFailed, 4<3 MapStateFailed, 5<4 ExecutionFailed",
		},
		{
			"in an iteration",
			`"Type":"Map","ItemProcessor":{"StartAt":"I","States":{"I":{"Type":"Pass","Output":"{% $none %}","End":true}}}`, `[1]`, "Output",
			"3<2 MapStateStarted, 4<3 MapIterationStarted, 5<4 PassStateEntered, 6<4 EvaluationFailed, " +
				"7<6 MapIterationFailed, 8<6 MapStateFailed, 9<8 ExecutionFailed",
		},
	} {
		x := newMemoryExecution(t, `{"QueryLanguage":"JSONata","StartAt":"S","States":{"S":{`+row.state+`,"End":true}}}`)
		if err := x.start(row.input); err != nil {
			t.Fatal(err)
		}

		for i := range x.events {
			e := &x.events[i]
			if e.Type == EvaluationFailed && (e.Worker != row.field || e.Error != queryError || e.Cause != x.state().Cause) {
				t.Errorf("%s: field %q, %s: %s", row.is, e.Worker, e.Error, e.Cause)
			}
		}

		if got := strings.Join(x.eventTypes()[2:], ", "); got != row.history {
			t.Errorf("%s:\n%s\nwant\n%s", row.is, got, row.history)
		}
	}
}

// A Map that is retried has not failed, although its field has.
func TestAFailedEvaluationOfAMapThatIsRetried(t *testing.T) {
	x := newMemoryExecution(t, `{"QueryLanguage":"JSONata","StartAt":"S","States":{"S":{"Type":"Map","Items":"{% 1 %}","Retry":[{"ErrorEquals":["States.ALL"]}],`+
		`"ItemProcessor":{"StartAt":"I","States":{"I":{"Type":"Pass","End":true}}},"End":true}}}`)
	if err := x.start(`{}`); err != nil {
		t.Fatal(err)
	}

	if got := strings.Join(x.eventTypes()[2:], ", "); got != "3<0 EvaluationFailed" || x.state().Status != Running {
		t.Error(got)
	}
}

// A call whose time ends was started, also if its answer is missing.
// Source: https://github.com/localstack/localstack
// tests/aws/services/stepfunctions/v2/error_handling/test_task_service_lambda.py, test_invoke_timeout.
func TestACallThatTimesOutWasStarted(t *testing.T) {
	x := newMemoryExecution(t, `{"StartAt":"S","States":{"S":{"Type":"Task","Resource":"arn:aws:states:::dynamodb:getItem","TimeoutSeconds":5,"End":true}}}`)
	if err := x.start(`{}`); err != nil {
		t.Fatal(err)
	}

	if err := x.command("sleep 5s"); err != nil {
		t.Fatal(err)
	}

	const want = "1<0 ExecutionStarted, 2<0 TaskStateEntered, 3<2 TaskScheduled, 4<3 TaskStarted, 5<4 TaskTimedOut, 6<5 ExecutionFailed"
	if got := strings.Join(x.eventTypes(), ", "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// An Assign without variables is not in the history.
// Source: https://github.com/localstack/localstack
// tests/aws/services/stepfunctions/v2/assign/test_assign_base.py, test_base_cases[BASE_EMPTY].
func TestAnEmptyAssignIsNotInTheHistory(t *testing.T) {
	x := newMemoryExecution(t, `{"StartAt":"S","States":{"S":{"Type":"Pass","Assign":{},"End":true}}}`)
	if err := x.start(`{}`); err != nil {
		t.Fatal(err)
	}

	if e := x.events[2]; e.Type != StateExited || e.Assigned != nil {
		t.Errorf("%s assigns %s", e.Name(x.machine), e.Assigned)
	}
}

// The inputs of iterations have no spaces.
// Source: https://github.com/localstack/localstack
// tests/aws/services/stepfunctions/v2/scenarios/test_base_scenarios.py, test_map_state_nested and
// test_map_state_config_inline_parameters.
func TestInputsOfIterationsHaveNoSpaces(t *testing.T) {
	for _, selector := range []string{"", `"ItemSelector":{"v.$":"$$.Map.Item.Value"},`} {
		x := newMemoryExecution(t, `{"StartAt":"S","States":{"S":{"Type":"Map",`+selector+
			`"ItemProcessor":{"StartAt":"I","States":{"I":{"Type":"Pass","End":true}}},"End":true}}}`)
		if err := x.start(`[[4, 5]]`); err != nil {
			t.Fatal(err)
		}

		output, err := x.Document(x.state().Output)
		if err != nil || strings.Contains(string(output), " ") || !strings.Contains(string(output), "[4,5]") {
			t.Errorf("%s: %s, %v", selector, output, err)
		}
	}
}

// eventTypes returns the events as "id<previous id Type".
func (x *memoryExecution) eventTypes() (lines []string) {
	for i := range x.events {
		e := &x.events[i]
		lines = append(lines, fmt.Sprintf("%d<%d %s", e.ID, e.Prev, e.Name(x.machine)))
	}

	return lines
}
