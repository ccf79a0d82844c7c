package stepfunctions

import (
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"
	"github.com/aws/smithy-go"

	"ratchet/embedded/internal/stepfunctions/execution"
)

// A mock is the description of the execution that a task has waited for.
// Source: https://docs.aws.amazon.com/step-functions/latest/dg/test-state-isolation.html
func TestTestStateOfATaskThatWaitsForAnExecution(t *testing.T) {
	b := open(t, t.TempDir())
	const described = `{"ExecutionArn":"e","StateMachineArn":"m","StartDate":1,"Status":"SUCCEEDED","Output":{"a":1}}`

	for _, pattern := range []string{".sync", ".sync:2"} {
		in := &sfn.TestStateInput{
			Definition: aws.String(`{"Type":"Task","Resource":"arn:aws:states:::states:startExecution` + pattern + `",` +
				`"Parameters":{"StateMachineArn":"m","Input":{"t.$":"$$.Execution.Name"}},"OutputPath":"$.Output","Retry":[{"ErrorEquals":["E"]}],"End":true}`),
			Mock: &types.MockInput{Result: aws.String(described)},
		}

		if out, err := b.TestState(t.Context(), in); err != nil || tested(out) != `SUCCEEDED output={"a":1}` {
			t.Errorf("%s: %v, %v", pattern, out, err)
		}

		in.Mock = &types.MockInput{ErrorOutput: &types.MockErrorOutput{Error: aws.String("E")}}
		if out, err := b.TestState(t.Context(), in); err != nil || tested(out) != `RETRIABLE error=E` {
			t.Errorf("%s: %v, %v", pattern, out, err)
		}

		in.Mock = &types.MockInput{Result: aws.String(`{"ExecutionArn":"e"}`)}
		if _, err := b.TestState(t.Context(), in); err == nil || !strings.Contains(err.Error(), "Required field 'StartDate' is missing") {
			t.Errorf("%s: %v", pattern, err)
		}

		in.Mock, in.RoleArn = nil, aws.String("r")
		if _, err := b.TestState(t.Context(), in); err == nil || !strings.HasSuffix(err.Error(), "the service integration pattern "+pattern+".") {
			t.Errorf("%s: %v", pattern, err)
		}
	}
}

// TestTestStateRefusesNumbersAndLengths has numbers and documents that the API does not take.
// Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_TestState.html
func TestTestStateRefusesNumbersAndLengths(t *testing.T) {
	b := open(t, t.TempDir())
	mock := &types.MockInput{Result: aws.String(`[]`)}
	long := aws.String(`{"a":"` + strings.Repeat("x", execution.MaxDocument) + `"}`)

	for _, row := range []struct {
		in   sfn.TestStateInput
		want string
	}{
		{sfn.TestStateInput{StateConfiguration: &types.TestStateConfiguration{RetrierRetryCount: aws.Int32(-1)}}, "Value '-1' at 'stateConfiguration.retrierRetryCount'"},
		{sfn.TestStateInput{StateConfiguration: &types.TestStateConfiguration{MapIterationFailureCount: aws.Int32(-2)}}, "Value '-2' at 'stateConfiguration.mapIterationFailureCount'"},
		{sfn.TestStateInput{Input: long}, "at 'input'"},
		{sfn.TestStateInput{Context: long}, "at 'context'"},
		{sfn.TestStateInput{Variables: long}, "at 'variables'"},
	} {
		row.in.Definition, row.in.Mock = aws.String(testedMapState+`}`), mock

		_, err := b.TestState(t.Context(), &row.in)

		var api smithy.APIError
		if !errors.As(err, &api) || api.ErrorCode() != "ValidationException" || !strings.Contains(api.ErrorMessage(), row.want) {
			t.Errorf("%v, want %s", err, row.want)
		}
	}
}

// The failures that a Map tolerates are no negative number, as in an execution.
func TestTestStateRefusesANegativeTolerance(t *testing.T) {
	b := open(t, t.TempDir())

	out, err := b.TestState(t.Context(), &sfn.TestStateInput{
		Definition: aws.String(testedMapState + `,"ToleratedFailureCount":"{% -1 %}"}`),
		Input:      aws.String(testedItems), Mock: &types.MockInput{Result: aws.String(`[]`)},
	})
	if err != nil || tested(out) != `FAILED error=States.QueryEvaluationError cause=ToleratedFailureCount cannot be negative.` {
		t.Errorf("%v, %v", out, err)
	}
}

// The inputs of iterations are shown while they are no longer than a document: together they can
// be as long as the square of the input.
func TestTestStateShowsNoLongInputsOfIterations(t *testing.T) {
	b := open(t, t.TempDir())
	const items = 1000

	out, err := b.TestState(t.Context(), &sfn.TestStateInput{
		Definition: aws.String(`{"Type":"Map","ItemsPath":"$","ItemSelector":{"all.$":"$"},` + testedProcessor + `}`),
		Input:      aws.String(`[` + strings.Repeat(`0,`, items-1) + `0]`), Mock: &types.MockInput{Result: aws.String(`[]`)},
		InspectionLevel: types.InspectionLevelDebug,
	})
	if err != nil || out.Status != types.TestExecutionStatusSucceeded || out.InspectionData.AfterItemSelector != nil {
		t.Errorf("%v, %v", out, err)
	}
}

// A test with a context object of its own sees the items of a Map in it.
func TestTestStateOfAMapWithAContext(t *testing.T) {
	b := open(t, t.TempDir())

	for _, state := range []string{
		`"ItemSelector":{"v.$":"$$.Map.Item.Value","n.$":"$$.Execution.Name"}`,
		`"QueryLanguage":"JSONata","ItemSelector":{"v":"{% $states.context.Map.Item.Value %}","n":"{% $states.context.Execution.Name %}"}`,
	} {
		out, err := b.TestState(t.Context(), &sfn.TestStateInput{
			Definition: aws.String(`{"Type":"Map",` + state + `,` + testedProcessor + `}`), Input: aws.String(`[4,5]`),
			Context: aws.String(`{"Execution":{"Name":"x"}}`), Mock: &types.MockInput{Result: aws.String(`[]`)},
			InspectionLevel: types.InspectionLevelDebug,
		})
		if err != nil || aws.ToString(out.InspectionData.AfterItemSelector) != `[{"v":4,"n":"x"},{"v":5,"n":"x"}]` {
			t.Errorf("%s: %v, %v", state, out, err)
		}
	}
}

// A state inside of a Map sees its input as the first item, unless the test has a context object.
// Source: https://docs.aws.amazon.com/step-functions/latest/dg/test-state-isolation.html
func TestTestStateInsideOfAMap(t *testing.T) {
	b := open(t, t.TempDir())
	const (
		state   = `{"Type":"Pass","Parameters":{"m.$":"$$.Map"},"End":true}`
		machine = `{"StartAt":"M","States":{"M":{"Type":"Map","ItemProcessor":{CONFIG"StartAt":"P","States":{"P":{"Type":"Parallel","Branches":[` +
			`{"StartAt":"I","States":{"I":` + state + `}}],"End":true}}},"Next":"O"},"O":` + state + `}}`
		distributed = `"ProcessorConfig":{"Mode":"DISTRIBUTED","ExecutionType":"STANDARD"},`
	)

	for _, config := range []string{"", distributed} {
		in := &sfn.TestStateInput{
			Definition: aws.String(strings.Replace(machine, "CONFIG", config, 1)), StateName: aws.String("I"), Input: aws.String(`{"x":1}`),
		}

		if out, err := b.TestState(t.Context(), in); err != nil || tested(out) != `SUCCEEDED output={"m":{"Item":{"Index":0,"Value":{"x":1}}}}` {
			t.Errorf("%s: %v, %v", config, out, err)
		}

		in.StateName = aws.String("O")
		if out, err := b.TestState(t.Context(), in); err != nil || out.Status != types.TestExecutionStatusFailed {
			t.Errorf("after the Map: %v, %v", out, err)
		}

		in.StateName, in.Context = aws.String("I"), aws.String(`{}`)
		if out, err := b.TestState(t.Context(), in); err != nil || out.Status != types.TestExecutionStatusFailed {
			t.Errorf("with a context: %v, %v", out, err)
		}
	}
}

// TestTestStateTolerates has the failures of iterations at the tolerance of a Map of four items and above
// it. A mocked error comes before the error of the tolerance.
func TestTestStateTolerates(t *testing.T) {
	b := open(t, t.TempDir())
	failed := &types.MockInput{ErrorOutput: &types.MockErrorOutput{Error: aws.String("E")}}

	for _, row := range []struct {
		tolerance string
		failures  int32
		mock      *types.MockInput
		want      string
	}{
		{`"ToleratedFailureCount":2`, 2, nil, ""},
		{`"ToleratedFailureCount":2`, 3, nil, "States.ExceedToleratedFailureThreshold"},
		{`"ToleratedFailurePercentage":50`, 2, nil, ""},
		{`"ToleratedFailurePercentage":50`, 3, nil, "States.ExceedToleratedFailureThreshold"},
		{`"ToleratedFailureCount":1,"ToleratedFailurePercentage":50`, 2, nil, "States.ExceedToleratedFailureThreshold"},
		{`"ToleratedFailureCount":4,"ToleratedFailurePercentage":50`, 3, nil, "States.ExceedToleratedFailureThreshold"},
		{`"ToleratedFailureCount":1`, 2, failed, "E"},
	} {
		if row.mock == nil {
			row.mock = &types.MockInput{Result: aws.String(`[]`)}
		}

		out, err := b.TestState(t.Context(), &sfn.TestStateInput{
			Definition: aws.String(testedMapState + `,` + row.tolerance + `}`), Input: aws.String(`{"Values":[1,2,3,4]}`), Mock: row.mock,
			StateConfiguration: &types.TestStateConfiguration{MapIterationFailureCount: &row.failures},
		})
		if err != nil || aws.ToString(out.Error) != row.want {
			t.Errorf("%s and %d failures: %v, %v", row.tolerance, row.failures, out, err)
		}
	}
}

// A mock does not keep the fields of a Parallel from their evaluation.
func TestTestStateEvaluatesTheParametersOfAParallel(t *testing.T) {
	b := open(t, t.TempDir())

	out, err := b.TestState(t.Context(), &sfn.TestStateInput{
		Definition: aws.String(`{"Type":"Parallel","Parameters":{"v.$":"$.none"},"Branches":[{"StartAt":"A","States":{"A":{"Type":"Succeed"}}}],"End":true}`),
		Mock:       &types.MockInput{Result: aws.String(`[1]`)},
	})
	if err != nil || aws.ToString(out.Error) != "States.Runtime" {
		t.Errorf("%v, %v", out, err)
	}
}

// The time before another attempt grows no longer than a Wait may be.
func TestTestStateOfManyRetries(t *testing.T) {
	b := open(t, t.TempDir())

	out, err := b.TestState(t.Context(), &sfn.TestStateInput{
		Definition: aws.String(`{"Type":"Task","Resource":"arn:aws:states:::sqs:sendMessage","Retry":[{"ErrorEquals":["E"],"MaxAttempts":9999}],"End":true}`),
		Mock:       &types.MockInput{ErrorOutput: &types.MockErrorOutput{Error: aws.String("E")}}, InspectionLevel: types.InspectionLevelDebug,
		StateConfiguration: &types.TestStateConfiguration{RetrierRetryCount: aws.Int32(9998)},
	})
	if err != nil || tested(out)+testedMap(out.InspectionData) != `RETRIABLE error=E input={} afterInputPath={} afterParameters={} retry=0 interval=99999999` {
		t.Errorf("%v, %v", out, err)
	}
}

// A Choice of a machine leads to the states that it names.
func TestTestStateOfAChoiceInAMachine(t *testing.T) {
	b := open(t, t.TempDir())

	for input, next := range map[string]string{`{"x":1}`: "A", `{}`: "B"} {
		out, err := b.TestState(t.Context(), &sfn.TestStateInput{
			Definition: aws.String(`{"StartAt":"C","States":{"C":{"Type":"Choice","Choices":[{"Variable":"$.x","IsPresent":true,"Next":"A"}],"Default":"B"},` +
				`"A":{"Type":"Fail","Error":"A"},"B":{"Type":"Fail","Error":"B"}}}`),
			StateName: aws.String("C"), Input: &input,
		})
		if want := "SUCCEEDED output=" + input + " next=" + next; err != nil || tested(out) != want {
			t.Errorf("%s: %v, %v", input, out, err)
		}
	}
}
