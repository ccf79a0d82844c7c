package stepfunctions

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"
	"github.com/aws/smithy-go"
)

// TestRefusalsHaveTheWordsOfTheService compares texts with the texts that were recorded on AWS.
func TestRefusalsHaveTheWordsOfTheService(t *testing.T) {
	b := open(t, t.TempDir())
	machine := b.machine("m", `{"StartAt":"A","States":{"A":{"Type":"Succeed"}}}`)
	long := strings.Repeat("x", 4000)

	for _, row := range []struct {
		is   string
		call func() error
		want string
	}{
		{"a page that is too large", func() error {
			_, err := b.ListActivities(t.Context(), &sfn.ListActivitiesInput{MaxResults: 1001})
			return err
		}, "ValidationException: 1 validation error detected: Value '1001' at 'maxResults' failed to satisfy constraint: Member must have value less than or equal to 1000"},
		{"a token that is too long", func() error {
			_, err := b.ListActivities(t.Context(), &sfn.ListActivitiesInput{NextToken: &long})
			return err
		}, "ValidationException: 1 validation error detected: Value '" + long + "' at 'nextToken' failed to satisfy constraint: Member must have length less than or equal to 1024"},
		{"a token of executions that is too long", func() error {
			_, err := b.ListExecutions(t.Context(), &sfn.ListExecutionsInput{StateMachineArn: &machine, NextToken: &long})
			return err
		}, "Member must have length less than or equal to 3096"},
		{"an unknown status", func() error {
			_, err := b.ListExecutions(t.Context(), &sfn.ListExecutionsInput{StateMachineArn: &machine, StatusFilter: types.ExecutionStatus("DONE")})
			return err
		}, "Value 'DONE' at 'statusFilter' failed to satisfy constraint: Member must satisfy enum value set: [SUCCEEDED, TIMED_OUT, PENDING_REDRIVE, ABORTED, FAILED, RUNNING]"},
		{"an input that is a word", func() error {
			_, err := b.StartExecution(t.Context(), &sfn.StartExecutionInput{StateMachineArn: &machine, Input: aws.String("not some json")})
			return err
		}, "InvalidExecutionInput: Invalid State Machine Execution Input: 'Unrecognized token 'not': was expecting (JSON String, Number, Array, Object or token 'null', 'true' or 'false')'"},
		{"an input with single quotes", func() error {
			_, err := b.StartExecution(t.Context(), &sfn.StartExecutionInput{StateMachineArn: &machine, Input: aws.String("{'not': 'json'")})
			return err
		}, "InvalidExecutionInput: Invalid State Machine Execution Input: 'Unexpected character (''' (code 39)): was expecting double-quote to start field name'"},
		{"an input that ends early", func() error {
			_, err := b.StartExecution(t.Context(), &sfn.StartExecutionInput{StateMachineArn: &machine, Input: aws.String(`{"a":`)})
			return err
		}, "InvalidExecutionInput: Invalid State Machine Execution Input: 'Invalid execution input.'"},
		{"a log without a destination", func() error {
			_, err := b.UpdateStateMachine(t.Context(), &sfn.UpdateStateMachineInput{
				StateMachineArn: &machine, LoggingConfiguration: &types.LoggingConfiguration{Level: types.LogLevelError},
			})
			return err
		}, "InvalidLoggingConfiguration: Invalid Logging Configuration: Must specify exactly one Log Destination."},
		{"a log with two destinations", func() error {
			_, err := b.UpdateStateMachine(t.Context(), &sfn.UpdateStateMachineInput{
				StateMachineArn: &machine, LoggingConfiguration: &types.LoggingConfiguration{Destinations: make([]types.LogDestination, 2)},
			})
			return err
		}, "InvalidLoggingConfiguration: Invalid Logging Configuration: Must specify exactly one Log Destination."},
		{"an update of nothing", func() error {
			_, err := b.UpdateStateMachine(t.Context(), &sfn.UpdateStateMachineInput{StateMachineArn: &machine})
			return err
		}, "MissingRequiredParameter: Either the definition, the role ARN, the LoggingConfiguration, or the TracingConfiguration must be specified"},
	} {
		var api smithy.APIError
		if err := row.call(); !errors.As(err, &api) || !strings.Contains(fmt.Sprintf("%s: %s", api.ErrorCode(), api.ErrorMessage()), row.want) {
			t.Errorf("%s: %v, want %s", row.is, err, row.want)
		}
	}
}

// TestDiagnosticsHaveTheWordsOfTheService compares diagnostics with the diagnostics that were recorded on AWS.
// Source: https://github.com/localstack/localstack tests/aws/services/stepfunctions/v2,
// test_sfn_api_validation.py, test_create_delete_invalid_sm, test_wait_timestamp_invalid,
// test_illegal_escapes, test_invalid_integration and test_parallel_state_empty_branches.
func TestDiagnosticsHaveTheWordsOfTheService(t *testing.T) {
	b := open(t, t.TempDir())

	for _, row := range []struct{ definition, code, location, message string }{
		{
			`{"StartAt":"Q","States":{"Q":{"Type":"Task","Resource":"arn:aws:states:::dynamodb:query","End":true}}}`,
			"SCHEMA_VALIDATION_FAILED", "/States/Q/Resource",
			"The resource provided arn:aws:states:::dynamodb:query is not recognized. The value is not a valid resource ARN, or the resource is not available in this region.",
		},
		{`{}`, "SCHEMA_VALIDATION_FAILED", "/", "These fields are required: [States, StartAt]"},
		{`{"StartAt":"A"}`, "SCHEMA_VALIDATION_FAILED", "/", "These fields are required: [States]"},
		{`{"States":{"A":{"Type":"Succeed"}}}`, "SCHEMA_VALIDATION_FAILED", "/", "These fields are required: [StartAt]"},
		{` `, "SCHEMA_VALIDATION_FAILED", "", "Definition must be a valid JSON object"},
		{
			`{"StartAt":"W","States":{"W":{"Type":"Wait","Timestamp":"2016-12-05 21:29:29Z","End":true}}}`,
			"SCHEMA_VALIDATION_FAILED", "/States/W/Timestamp", "String does not match RFC3339 timestamp",
		},
		{
			"not a definition", "INVALID_JSON_DESCRIPTION", "[Source: (String)\"not a definition\"; line: 1, column: 4]",
			"Unrecognized token 'not': was expecting (JSON String, Number, Array, Object or token 'null', 'true' or 'false')\n" +
				" at [Source: (String)\"not a definition\"; line: 1, column: 4]",
		},
		{
			`{"StartAt":"A","States":{"A":{"Type":"Pass","Parameters":{"parsed.$":"States.Format('\\\"{}\\\"', 1)"},"End":true}}}`,
			"SCHEMA_VALIDATION_FAILED", "/States/A/Parameters",
			// The service says nothing after the colon.
			"The value for the field 'parsed.$' must be a valid JSONPath or a valid intrinsic function call: " +
				`\" is no escape at position 17 of "States.Format('\\\"{}\\\"', 1)"`,
		},
		{
			`{"StartAt":"P","States":{"P":{"Type":"Parallel","Branches":[],"End":true}}}`,
			"SCHEMA_VALIDATION_FAILED", "/States/P/Branches", "Value cannot be empty",
		},
	} {
		out, err := b.ValidateStateMachineDefinition(t.Context(), &sfn.ValidateStateMachineDefinitionInput{Definition: &row.definition})
		if err != nil {
			t.Fatal(err)
		}

		if len(out.Diagnostics) != 1 {
			t.Fatalf("%s: %d diagnostics", row.definition, len(out.Diagnostics))
		}

		d := out.Diagnostics[0]
		if aws.ToString(d.Code) != row.code || aws.ToString(d.Location) != row.location || aws.ToString(d.Message) != row.message {
			t.Errorf("%s: %s at %q: %s", row.definition, *d.Code, aws.ToString(d.Location), *d.Message)
		}
	}
}

func TestAMachineHasARevisionIDFromItsFirstUpdateOn(t *testing.T) {
	b := open(t, t.TempDir())
	machine := b.machine("m", `{"StartAt":"A","States":{"A":{"Type":"Succeed"}}}`)
	revision := func() string {
		t.Helper()

		d, err := b.DescribeStateMachine(t.Context(), &sfn.DescribeStateMachineInput{StateMachineArn: &machine})
		if err != nil {
			t.Fatal(err)
		}

		return aws.ToString(d.RevisionId)
	}

	if id := revision(); id != "" {
		t.Errorf("before: %q", id)
	}

	if _, err := b.UpdateStateMachine(t.Context(), &sfn.UpdateStateMachineInput{
		StateMachineArn: &machine, Definition: aws.String(`{"StartAt":"B","States":{"B":{"Type":"Succeed"}}}`),
	}); err != nil {
		t.Fatal(err)
	}

	if id := revision(); id == "" {
		t.Error("after it there is none")
	}
}

// An input that is there and empty is refused.
// Source: https://github.com/localstack/localstack test_invalid_start_execution_input.
func TestAnEmptyInputStartsNothing(t *testing.T) {
	b := open(t, t.TempDir())
	machine := b.machine("m", `{"StartAt":"A","States":{"A":{"Type":"Succeed"}}}`)

	_, err := b.StartExecution(t.Context(), &sfn.StartExecutionInput{StateMachineArn: &machine, Input: aws.String("")})

	var api smithy.APIError
	if !errors.As(err, &api) || api.ErrorMessage() != "Invalid State Machine Execution Input: 'Invalid execution input.'" {
		t.Error(err)
	}
}

// An inline Map may have a tolerance, which only a distributed one uses.
// Source: https://github.com/localstack/localstack evaluate_jsonata/test_base_evaluate_expressions.py.
func TestAnInlineMapMayHaveATolerance(t *testing.T) {
	b := open(t, t.TempDir())
	b.machine("m", `{"StartAt":"M","States":{"M":{"Type":"Map","ToleratedFailureCount":1,"ToleratedFailurePercentagePath":"$.p",
		"ItemProcessor":{"StartAt":"I","States":{"I":{"Type":"Succeed"}}},"End":true}}}`)

	out, err := b.ValidateStateMachineDefinition(t.Context(), &sfn.ValidateStateMachineDefinitionInput{Definition: aws.String(
		`{"StartAt":"M","States":{"M":{"Type":"Map","ToleratedFailurePercentage":101,` +
			`"ItemProcessor":{"StartAt":"I","States":{"I":{"Type":"Succeed"}}},"End":true}}}`)})
	if err != nil || len(out.Diagnostics) != 1 {
		t.Error(out, err)
	}
}

// An evaluation that has failed tells its state and its field, or no field if it was of the input.
// Source: LocalStack's recordings of AWS (test_map_state_items_input_types).
func TestAFailedEvaluationTellsItsField(t *testing.T) {
	b := open(t, t.TempDir())
	const iterate = `"ItemProcessor":{"StartAt":"I","States":{"I":{"Type":"Pass","End":true}}},"End":true}}}`

	for name, want := range map[string]string{"Items": "M Items", "": "M "} {
		field := ""
		if name != "" {
			field = `"` + name + `":"{% 1 %}",`
		}

		execution := b.start(b.machine("m"+name, `{"QueryLanguage":"JSONata","StartAt":"M","States":{"M":{"Type":"Map",`+field+iterate), "", `{}`)

		h, err := b.GetExecutionHistory(t.Context(), &sfn.GetExecutionHistoryInput{ExecutionArn: &execution})
		if err != nil {
			t.Fatal(err)
		}

		d := h.Events[2].EvaluationFailedEventDetails
		if d == nil || aws.ToString(d.State)+" "+aws.ToString(d.Location) != want || (d.Location == nil) != (name == "") {
			t.Errorf("%s: %+v", name, d)
		}
	}
}

// A history has the input of a state as its text is, and what a state has made without blanks.
// Source: LocalStack's recordings of AWS (test_map_state_legacy_config_inline, test_map_state_nested, test_parallel_state_nested
// and nine more of 2024-02 and 2024-03). Two of distributed Maps with a Label, of 2024-07 and 2024-08, have no
// blanks in MapStateEntered: test_map_state_label and test_map_state_result_writer. What differs is not known, so the engine does
// as the twelve.
func TestAStatesInputKeepsItsBlanks(t *testing.T) {
	b := open(t, t.TempDir())
	const input = `["Hello",  "World"]`

	execution := b.start(b.machine("m", `{"StartAt":"M","States":{"M":{"Type":"Map","ItemProcessor":{"StartAt":"I","States":{"I":{"Type":"Pass","End":true}}},"Next":"E"},"E":{"Type":"Succeed"}}}`), "", input)

	events, _ := b.history(execution)
	inputs := map[types.HistoryEventType]string{}
	for _, e := range events {
		if e.StateEnteredEventDetails != nil {
			inputs[e.Type] = *e.StateEnteredEventDetails.Input
		}
	}

	if inputs[types.HistoryEventTypeMapStateEntered] != input || inputs[types.HistoryEventTypeSucceedStateEntered] != `["Hello","World"]` {
		t.Error(inputs)
	}
}
