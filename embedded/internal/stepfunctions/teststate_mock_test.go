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

// testedMap renders what only Maps, Parallels and failures have in inspection data.
func testedMap(d *types.InspectionData) string {
	if d == nil {
		return ""
	}

	var text strings.Builder
	if d.AfterItemsPath != nil {
		fmt.Fprintf(&text, " items=%s", *d.AfterItemsPath)
	}

	if d.AfterItemSelector != nil {
		fmt.Fprintf(&text, " selected=%s", *d.AfterItemSelector)
	}

	if d.MaxConcurrency != nil {
		fmt.Fprintf(&text, " concurrency=%d", *d.MaxConcurrency)
	}

	if d.ToleratedFailureCount != nil {
		fmt.Fprintf(&text, " tolerated=%d", *d.ToleratedFailureCount)
	}

	if d.ToleratedFailurePercentage != nil {
		fmt.Fprintf(&text, " percentage=%v", *d.ToleratedFailurePercentage)
	}

	if e := d.ErrorDetails; e != nil {
		for _, field := range []struct {
			name  string
			value *int32
		}{{"catch", e.CatchIndex}, {"retry", e.RetryIndex}, {"interval", e.RetryBackoffIntervalSeconds}} {
			if field.value != nil {
				fmt.Fprintf(&text, " %s=%d", field.name, *field.value)
			}
		}
	}

	return text.String()
}

// A distributed Map, its items and what a mock answers for it.
const (
	testedItems     = `{"Values":[1,2,3]}`
	testedProcessor = `"ItemProcessor":{"ProcessorConfig":{"Mode":"DISTRIBUTED","ExecutionType":"STANDARD"},"StartAt":"I",` +
		`"States":{"I":{"Type":"Task","Resource":"arn:aws:lambda:your-region:your-account-id:function:f","End":true}}},"End":true`
	testedMapState = `{"Type":"Map","QueryLanguage":"JSONata","Items":"{% $states.input.Values %}",` + testedProcessor
)

// TestTestStateWithMocks has the states and answers that were recorded on AWS, of the tests of
// LocalStack that the rows name.
// Source: https://github.com/localstack/localstack tests/aws/services/stepfunctions/v2/test_state
func TestTestStateWithMocks(t *testing.T) {
	b := open(t, t.TempDir())
	result := func(text string) *types.MockInput { return &types.MockInput{Result: &text} }
	failed := &types.MockInput{ErrorOutput: &types.MockErrorOutput{Error: aws.String("E"), Cause: aws.String("c")}}
	const (
		parallel = `{"Type":"Parallel","Branches":[{"StartAt":"A","States":{"A":{"Type":"Succeed"}}},{"StartAt":"B","States":{"B":{"Type":"Succeed"}}}],`
		handled  = `,"ToleratedFailureCount":1,"Retry":[{"ErrorEquals":["X"]},{"ErrorEquals":["States.ExceedToleratedFailureThreshold"],"MaxAttempts":2}]}`
		caught   = `,"ToleratedFailureCount":1,"Catch":[{"ErrorEquals":["X"],"Next":"A"},{"ErrorEquals":["States.ExceedToleratedFailureThreshold"],` +
			`"Output":"{% $states.errorOutput.Error %}","Next":"B"}]}`
		exceeded = ` error=States.ExceedToleratedFailureThreshold cause=The specified tolerated failure threshold was exceeded`
		machine  = `{"StartAt":"M","States":{"M":{"Type":"Map","ItemsPath":"$.Values","ItemProcessor":{"StartAt":"I","States":{"I":{"Type":"Pass","Next":"J"},` +
			`"J":{"Type":"Succeed"}}},"End":true}}}`
		task = `{"Type":"Task","QueryLanguage":"JSONata","Resource":"arn:aws:states:::lambda:invoke","Arguments":{"FunctionName":"f"},` +
			`"Retry":[{"ErrorEquals":["E"],"IntervalSeconds":1,"MaxAttempts":5,"BackoffRate":2}],"End":true}`
	)

	for _, row := range []struct {
		is   string
		in   sfn.TestStateInput
		want string
	}{
		{
			"test_io_parallel_state_mock_success",
			sfn.TestStateInput{Definition: aws.String(parallel + `"InputPath":"$.p","ResultPath":"$.r","End":true}`), Input: aws.String(`{"p":1}`), Mock: result(`[1, 2]`)},
			`SUCCEEDED output={"p":1,"r":[1, 2]} input={"p":1} afterResultSelector=[1, 2] afterResultPath={"p":1,"r":[1, 2]}`,
		},
		{
			"test_io_jsonata_parallel_state_mock_success",
			sfn.TestStateInput{Definition: aws.String(parallel + `"QueryLanguage":"JSONata","Output":"{% $states.result[0] %}","End":true}`), Mock: result(`[1,2]`)},
			`SUCCEEDED output=1 input={}`,
		},
		{
			"test_map_state_failure_count: without a tolerance", sfn.TestStateInput{
				Definition: aws.String(testedMapState + `}`), Input: aws.String(testedItems), Mock: result(`[0,0,1]`),
				StateConfiguration: &types.TestStateConfiguration{MapIterationFailureCount: aws.Int32(2)},
			}, `SUCCEEDED output=[0,0,1] input={"Values":[1,2,3]} concurrency=0`,
		},
		{
			"test_map_state_failure_count: retried", sfn.TestStateInput{
				Definition: aws.String(testedMapState + handled), Input: aws.String(testedItems), Mock: result(`[0,0,1]`),
				StateConfiguration: &types.TestStateConfiguration{MapIterationFailureCount: aws.Int32(2)},
			}, `RETRIABLE` + exceeded + ` input={"Values":[1,2,3]} concurrency=0 tolerated=1 retry=1 interval=1`,
		},
		{
			"test_map_state_failure_count: caught", sfn.TestStateInput{
				Definition: aws.String(testedMapState + caught), Input: aws.String(testedItems), Mock: result(`[0,0,1]`),
				StateConfiguration: &types.TestStateConfiguration{MapIterationFailureCount: aws.Int32(2)},
			}, `CAUGHT_ERROR output="States.ExceedToleratedFailureThreshold" next=B` + exceeded + ` input={"Values":[1,2,3]} concurrency=0 tolerated=1 catch=1`,
		},
		{
			"test_map_state_error_caused_by_state", sfn.TestStateInput{
				Definition: aws.String(testedMapState + `}`), Input: aws.String(testedItems), Mock: failed,
				StateConfiguration: &types.TestStateConfiguration{ErrorCausedByState: aws.String("I")},
			}, `FAILED error=E cause=c input={"Values":[1,2,3]} concurrency=0`,
		},
		{
			"test_base_map_state_inspect", sfn.TestStateInput{
				Definition: aws.String(testedMapState + `,"ToleratedFailurePercentage":"{% 1 %}","MaxConcurrency":"{% 2 %}"}`), Input: aws.String(testedItems), Mock: result(`[]`),
			}, `SUCCEEDED output=[] input={"Values":[1,2,3]} concurrency=2 percentage=1`,
		},
		{
			"test_state_map_context_object", sfn.TestStateInput{
				Definition: aws.String(`{"Type":"Map","ItemsPath":"$$.Execution.Input",` + testedProcessor + `}`), Context: aws.String(`{"Execution":{"Input":[4,5]}}`), Mock: result(`[]`),
			}, `SUCCEEDED output=[] input={} afterInputPath={} afterResultSelector=[] afterResultPath=[] items=[4,5] concurrency=0`,
		},
		{
			"test_state_map_context_object: no array", sfn.TestStateInput{
				Definition: aws.String(`{"Type":"Map","ItemsPath":"$$.Execution","ItemProcessor":{"StartAt":"I","States":{"I":{"Type":"Succeed"}}},"End":true}`), Context: aws.String(`{"Execution":{}}`), Mock: result(`[]`),
			}, `FAILED error=States.Runtime cause=Reference path "$.Execution" must point to array. input={} afterInputPath={}`,
		},
		{
			"the documentation's afterItemSelector", sfn.TestStateInput{
				Definition: aws.String(`{"Type":"Map","ItemsPath":"$.Values","ItemSelector":{"i.$":"$$.Map.Item.Value"},` + testedProcessor + `}`), Input: aws.String(testedItems), Mock: failed,
			}, `FAILED error=E cause=c input={"Values":[1,2,3]} afterInputPath={"Values":[1,2,3]} items=[1,2,3] selected=[{"i":1},{"i":2},{"i":3}] concurrency=0`,
		},
		{
			"test_state_wait_task_context_object", sfn.TestStateInput{
				Definition: aws.String(`{"Type":"Task","Resource":"arn:aws:states:::sqs:sendMessage.waitForTaskToken","Parameters":{"t.$":"$$.Task.Token"},"End":true}`),
				Context:    aws.String(`{"Task":{"Token":"abcd123"}}`), Mock: result(`5`),
			}, `SUCCEEDED output=5 input={} afterInputPath={} afterParameters={"t":"abcd123"} result=5 afterResultSelector=5 afterResultPath=5`,
		},
		{
			"test_state_context_object_edge_cases", sfn.TestStateInput{
				Definition: aws.String(`{"Type":"Pass","Parameters":{"c.$":"$$"},"OutputPath":"$.c","End":true}`), Context: aws.String(`{}`),
			}, `SUCCEEDED output={} input={} afterInputPath={} afterParameters={"c":{}} afterResultSelector={"c":{}} afterResultPath={"c":{}}`,
		},
		{
			"test_state_configuration_retrier_retry_count: below", sfn.TestStateInput{
				Definition: aws.String(task), Mock: failed, StateConfiguration: &types.TestStateConfiguration{RetrierRetryCount: aws.Int32(4)},
			}, `RETRIABLE error=E cause=c input={} retry=0 interval=16`,
		},
		{
			"test_state_configuration_retrier_retry_count: exceeded", sfn.TestStateInput{
				Definition: aws.String(task), Mock: failed, StateConfiguration: &types.TestStateConfiguration{RetrierRetryCount: aws.Int32(5)},
			}, `FAILED error=E cause=c input={} retry=0`,
		},
		{
			"test_base_state_name", sfn.TestStateInput{Definition: aws.String(machine), StateName: aws.String("I")},
			`SUCCEEDED output={} next=J input={} afterInputPath={} afterParameters={} afterResultSelector={} afterResultPath={}`,
		},
		{
			"test_state_with_variables: the name, and no role", sfn.TestStateInput{
				Definition: aws.String(strings.Replace(machine, `"Type":"Pass"`, `"Type":"Pass","QueryLanguage":"JSONata","Output":"{% [$states.context.State.Name, $states.context.Execution.RoleArn] %}"`, 1)),
				StateName:  aws.String("I"),
			}, `SUCCEEDED output=["StateName",null] next=J input={}`,
		},
		{
			"test_put_events_mock_success: a service that the engine has not", sfn.TestStateInput{
				Definition: aws.String(`{"Type":"Task","Resource":"arn:aws:states:::events:putEvents","End":true}`), Mock: result(`{"Entries":[]}`), InspectionLevel: types.InspectionLevelInfo,
			}, `SUCCEEDED output={"Entries":[]}`,
		},
		{
			"test_none_mode_sfn_task", sfn.TestStateInput{
				Definition:      aws.String(`{"Type":"Task","Resource":"arn:aws:states:::states:startExecution","End":true}`),
				Mock:            &types.MockInput{Result: aws.String(`{"StartDate":true}`), FieldValidationMode: types.MockResponseValidationModeNone},
				InspectionLevel: types.InspectionLevelInfo,
			}, `SUCCEEDED output={"StartDate":true}`,
		},
	} {
		if row.in.InspectionLevel == "" {
			row.in.InspectionLevel = types.InspectionLevelDebug
		}

		out, err := b.TestState(t.Context(), &row.in)
		if err != nil {
			t.Errorf("%s: %v", row.is, err)
			continue
		}

		if got := tested(out) + testedMap(out.InspectionData); got != row.want {
			t.Errorf("%s:\n%s\nwant:\n%s", row.is, got, row.want)
		}
	}
}

// TestTestStateRefusesMocks has what AWS refused, by the tests of LocalStack that recorded it.
// Source: https://github.com/localstack/localstack tests/aws/services/stepfunctions/v2/test_state
func TestTestStateRefusesMocks(t *testing.T) {
	b := open(t, t.TempDir())
	result := func(text string) *types.MockInput { return &types.MockInput{Result: &text} }
	service := func(resource string) *string {
		return aws.String(`{"Type":"Task","Resource":"arn:aws:states:::` + resource + `","End":true}`)
	}
	const (
		parallel = `{"Type":"Parallel","Branches":[{"StartAt":"A","States":{"A":{"Type":"Succeed"}}}],"End":true}`
		schema   = "Mock result schema validation error: "
		context  = "Invalid Context object provided: "
	)
	mapState := aws.String(testedMapState + `}`)

	for _, row := range []struct {
		is   string
		in   sfn.TestStateInput
		want string
	}{
		{"a mock of nothing", sfn.TestStateInput{Definition: mapState, Mock: &types.MockInput{}}, "A test mock must have one of the following fields: [result, errorOutput]."},
		{"test_mock_result_is_not_array_on_map_state_without_result_writer", sfn.TestStateInput{Definition: mapState, Mock: result(`{}`)}, "Mocked result must be an array."},
		{
			"test_mock_result_array_size_mismatch_on_parallel_state", sfn.TestStateInput{Definition: aws.String(parallel), Mock: result(`[]`)},
			"Mocked result must contain the same number of items as number of Parallel branches.",
		},
		{"test_base_lambda_service_task_mock_is_not_json_string", sfn.TestStateInput{Definition: service("lambda:invoke"), Mock: result("not JSON")}, "Mocked result must be valid JSON"},
		{
			"test_map_iteration_failure_count_without_mock",
			sfn.TestStateInput{Definition: mapState, StateConfiguration: &types.TestStateConfiguration{MapIterationFailureCount: aws.Int32(0)}},
			"TestState does not support MapIterationFailureCount when a mock is not specified.",
		},
		{
			"test_map_iteration_failure_count_exceeds_mock_result_items", sfn.TestStateInput{
				Definition: mapState, Input: aws.String(testedItems), Mock: result(`[1,1,1]`),
				StateConfiguration: &types.TestStateConfiguration{MapIterationFailureCount: aws.Int32(4)},
			}, "Map iteration failure count must be less than or equal to the number of Map iterations",
		},
		{
			"the engine has no ItemReader",
			sfn.TestStateInput{Definition: mapState, Mock: result(`[]`), StateConfiguration: &types.TestStateConfiguration{MapItemReaderData: aws.String(`[]`)}},
			"takes no mapItemReaderData",
		},
		{
			"test_base_state_name_validation_failures", sfn.TestStateInput{Definition: aws.String(`{"StartAt":"A","States":{"A":{"Type":"Succeed"}}}`), StateName: aws.String("dne")},
			"State not found in definition",
		},
		{
			"test_state_name_invalid_state_definition", sfn.TestStateInput{Definition: aws.String(`{"StartAt":"A","States":{"A":{"Type":"Nap","End":true}}}`), StateName: aws.String("A")},
			"The field 'Type' should have one of these values: [Task, Wait, Pass, Succeed, Fail, Choice, Parallel, Map] at /States/A/Type",
		},
		{"test_strict_mode_sfn_task", sfn.TestStateInput{Definition: service("states:startExecution"), Mock: result(`{}`)}, schema + "Required field 'ExecutionArn' is missing"},
		{
			"test_present_mode_sfn_task_validation_fail", sfn.TestStateInput{
				Definition: service("states:startExecution"),
				Mock:       &types.MockInput{Result: aws.String(`{"StartDate":true}`), FieldValidationMode: types.MockResponseValidationModePresent},
			}, schema + "Field 'StartDate' must be a string",
		},
		{
			"test_strict_mode_dynamodb_task", sfn.TestStateInput{Definition: service("dynamodb:putItem"), Mock: result(`{"ConsumedCapacity":{"CapacityUnits":"1"}}`)},
			schema + "Field 'CapacityUnits' must be a number",
		},
		{"an object", sfn.TestStateInput{Definition: service("dynamodb:putItem"), Mock: result(`{"ConsumedCapacity":1}`)}, schema + "Field 'ConsumedCapacity' must be an object"},
		{
			"test_base_lambda_task_state: nothing runs it", sfn.TestStateInput{Definition: service("events:putEvents"), RoleArn: aws.String("r")},
			"INVALID_RESOURCE: the embedded engine runs activities",
		},
		{
			"test_state_context_object_invalid_states", sfn.TestStateInput{Definition: service("lambda:invoke"), Mock: result(`{}`), Context: aws.String(`{"Task":{"Token":"t"}}`)},
			context + "Context object contains 'Task' when state is not a Task state with a '.sync' or '.waitForTaskToken' service integration pattern",
		},
		{"INVALID_EXECUTION_ID_TYPE", sfn.TestStateInput{Definition: service("lambda:invoke"), Mock: result(`{}`), Context: aws.String(`{"Execution":{"Id":1}}`)}, context + "Execution.Id must be a string"},
		{"INVALID_MAP", sfn.TestStateInput{Definition: service("lambda:invoke"), Mock: result(`{}`), Context: aws.String(`{"Map":{}}`)}, context + "'Map' field is not supported when mocking a Context object"},
		{"INVALID_FIELD", sfn.TestStateInput{Definition: service("lambda:invoke"), Mock: result(`{}`), Context: aws.String(`{"Pokedex":{}}`)}, context + "Field 'Pokedex' is not allowed"},
		{"INVALID_EXECUTION_FIELD", sfn.TestStateInput{Definition: service("lambda:invoke"), Mock: result(`{}`), Context: aws.String(`{"Execution":{"pokemon":1}}`)}, context + "Field 'pokemon' is not allowed"},
		{"no object", sfn.TestStateInput{Definition: service("lambda:invoke"), Mock: result(`{}`), Context: aws.String(`{"State":1}`)}, context + "State must be an object"},
		{"no JSON", sfn.TestStateInput{Definition: service("lambda:invoke"), Mock: result(`{}`), Context: aws.String(`x`)}, context},
	} {
		_, err := b.TestState(t.Context(), &row.in)

		var api smithy.APIError
		if !errors.As(err, &api) || !strings.Contains(api.ErrorMessage(), row.want) {
			t.Errorf("%s: %v, want %s", row.is, err, row.want)
		}
	}
}
