package embedded

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	sfntypes "github.com/aws/aws-sdk-go-v2/service/sfn/types"
)

// child creates the Standard machine "child", which other machines start.
func (f *flow) child(definition string) string {
	f.t.Helper()

	return *f.machine("child", definition, sfntypes.StateMachineTypeStandard)
}

// starts is a task that starts an execution by a resource.
func starts(resource, parameters, rest string) string {
	return `{"A":{"Type":"Task","Resource":"arn:aws:states:::` + resource + `","Parameters":{` + parameters + `}` + rest + `,"End":true}}`
}

const napping = `{"StartAt":"N","States":{"N":{"Type":"Wait","SecondsPath":"$.nap","Next":"C"},
	"C":{"Type":"Choice","Choices":[{"Variable":"$.fail","IsPresent":true,"Next":"F"}],"Default":"S"},
	"F":{"Type":"Fail","Error":"SomeFailure","Cause":"because"},"S":{"Type":"Pass","Result":{"Arg1":"argument1"},"End":true}}}`

// A task starts an execution and goes on at once, or waits for its end, also when the
// execution has ended while the engine was closed.
// Source: https://github.com/localstack/localstack tests/aws/services/stepfunctions/v2,
// callback/test_callback and services/test_sfn_task_service.
func TestATaskStartsAnExecution(t *testing.T) {
	const named = `"StateMachineArn":"CHILD","Name":"c","Input.$":"$"`

	for _, row := range []struct{ is, states, input, want string }{
		{
			"and goes on", starts("states:startExecution", named, `,"OutputPath":"$.ExecutionArn"`), `{"nap":9}`,
			`SUCCEEDED "arn:aws:states:us-east-1:000000000000:execution:child:c"`,
		},
		{
			"through the SDK", starts("aws-sdk:sfn:startExecution", named, `,"OutputPath":"$.StartDate"`), `{"nap":9}`,
			`SUCCEEDED "2000-01-01T00:00:00.000Z"`,
		},
		{
			"and takes its output as JSON", starts("states:startExecution.sync:2", named, `,"OutputPath":"$['Status','Output','Input']"`), `{"nap":9}`,
			`SUCCEEDED ["SUCCEEDED",{"Arg1":"argument1"},{"nap":9}]`,
		},
		{
			"and takes its output as text", starts("states:startExecution.sync", named, `,"OutputPath":"$['Output','StopDate']"`), `{"nap":9}`,
			`SUCCEEDED ["{\"Arg1\":\"argument1\"}",946684809000]`,
		},
		{
			"that has ended at once", starts("states:startExecution.sync:2", named, `,"OutputPath":"$.Output.Arg1"`), `{"nap":0}`, `SUCCEEDED "argument1"`,
		},
		{"that fails", starts("states:startExecution.sync:2", named, ""), `{"nap":9,"fail":1}`, `FAILED States.TaskFailed`},
		{
			"that fails, and catches it",
			`{"A":{"Type":"Task","Resource":"arn:aws:states:::states:startExecution.sync","Parameters":{` + named + `},"Catch":[{"ErrorEquals":["States.TaskFailed"],"Next":"B"}],"End":true},` +
				`"B":{"Type":"Pass","Parameters":{"cause.$":"States.StringToJson($.Cause)"},"OutputPath":"$.cause['Error','Cause','Status']","End":true}}`,
			`{"nap":0,"fail":1}`, `SUCCEEDED ["SomeFailure","because","FAILED"]`,
		},
		{"that lasts too long", starts("states:startExecution.sync:2", named, `,"TimeoutSeconds":5`), `{"nap":9}`, `FAILED States.Timeout`},
		{"that is unknown", starts("states:startExecution", `"StateMachineArn":"CHILDx"`, ""), `{}`, `FAILED StepFunctions.StateMachineDoesNotExistException`},
		{"that is unknown, and waits for it", starts("states:startExecution.sync", `"StateMachineArn":"CHILDx"`, ""), `{}`, `FAILED StepFunctions.StateMachineDoesNotExistException`},
		{"without a name and input", starts("states:startExecution.sync:2", `"StateMachineArn":"CHILD","Input":null`, ""), `{}`, `FAILED States.TaskFailed`},
	} {
		inFlow(t, t.TempDir(), func(t *testing.T, f *flow) {
			arn := f.start(strings.ReplaceAll(row.states, "CHILD", f.child(napping)), row.input)
			same(t, row.is, f.ended(arn), row.want)
		})
	}
}

func TestATaskThatWaitsForAnExecutionGoesOnAfterARestart(t *testing.T) {
	dir := t.TempDir()

	var arn *string
	inFlow(t, dir, func(t *testing.T, f *flow) {
		arn = f.start(starts("states:startExecution.sync:2", `"StateMachineArn":"`+f.child(napping)+`","Input.$":"$"`, `,"OutputPath":"$.Status"`), `{"nap":50}`)
		time.Sleep(time.Second)
		synctest.Wait()
	})

	inFlow(t, dir, func(t *testing.T, f *flow) {
		time.Sleep(40 * time.Second)
		same(t, "before its end", f.history(arn), "ExecutionStarted TaskStateEntered TaskScheduled TaskStarted TaskSubmitted")
		same(t, "end", f.ended(arn), `SUCCEEDED "SUCCEEDED"`)

		list, err := f.sfn.ListExecutions(t.Context(), &sfn.ListExecutionsInput{StateMachineArn: aws.String(strings.Replace(strings.TrimSuffix(*arn, ":m:e"), ":execution", ":stateMachine:child", 1))})
		if err != nil || len(list.Executions) != 1 {
			t.Errorf("%d executions were started, %v", len(list.Executions), err)
		}
	})
}

// An execution answers the token that started it.
func TestAnExecutionAnswersTheTaskThatStartedIt(t *testing.T) {
	inFlow(t, t.TempDir(), func(t *testing.T, f *flow) {
		child := f.child(`{"StartAt":"S","States":{"S":{"Type":"Task","Resource":"arn:aws:states:::aws-sdk:sfn:sendTaskSuccess",` +
			`"Parameters":{"TaskToken.$":"$.token","Output":{"done":true}},"End":true}}}`)

		arn := f.start(starts("states:startExecution.waitForTaskToken", `"StateMachineArn":"`+child+`","Input":{"token.$":"$$.Task.Token"}`, ""), `{}`)
		same(t, "end", f.ended(arn), `SUCCEEDED {"done":true}`)
	})
}
