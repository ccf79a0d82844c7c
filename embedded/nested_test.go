package embedded

import (
	"regexp"
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
			`SUCCEEDED {"Status":"SUCCEEDED","Output":{"Arg1":"argument1"},"Input":{"nap":9}}`,
		},
		{
			"and takes its output as text", starts("states:startExecution.sync", named, `,"OutputPath":"$['Output','StopDate']"`), `{"nap":9}`,
			`SUCCEEDED {"Output":"{\"Arg1\":\"argument1\"}","StopDate":946684809000}`,
		},
		{
			"that has ended at once", starts("states:startExecution.sync:2", named, `,"OutputPath":"$.Output.Arg1"`), `{"nap":0}`, `SUCCEEDED "argument1"`,
		},
		{"that fails", starts("states:startExecution.sync:2", named, ""), `{"nap":9,"fail":1}`, `FAILED States.TaskFailed`},
		{
			"that fails, and catches it",
			`{"A":{"Type":"Task","Resource":"arn:aws:states:::states:startExecution.sync","Parameters":{` + named + `},"Catch":[{"ErrorEquals":["States.TaskFailed"],"Next":"B"}],"End":true},` +
				`"B":{"Type":"Pass","Parameters":{"cause.$":"States.StringToJson($.Cause)"},"OutputPath":"$.cause['Error','Cause','Status']","End":true}}`,
			`{"nap":0,"fail":1}`, `SUCCEEDED {"Error":"SomeFailure","Cause":"because","Status":"FAILED"}`,
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

// The answer to the token of a task that waits for an execution ends the task.
// Source: https://github.com/localstack/localstack callback/test_callback, test_sync_with_task_token.
func TestTheTokenOfATaskThatWaitsForAnExecution(t *testing.T) {
	inFlow(t, t.TempDir(), func(t *testing.T, f *flow) {
		child := f.child(`{"StartAt":"A","States":{"A":{"Type":"Task","Resource":"arn:aws:states:::aws-sdk:sfn:sendTaskSuccess",
			"Parameters":{"TaskToken.$":"$.token","Output":"\"answered\""},"Next":"N"},"N":{"Type":"Wait","Seconds":60,"End":true}}}`)
		arn := f.start(starts("states:startExecution.sync", `"StateMachineArn":"`+child+`","Input":{"token.$":"$$.Task.Token"}`, ""), `{}`)

		same(t, "end", f.ended(arn), `SUCCEEDED "answered"`)

		if history := f.history(arn); !strings.HasSuffix(history, "TaskSucceeded TaskStateExited ExecutionSucceeded") {
			t.Error(history)
		}
	})
}

// requestID is the ID of a request in a cause.
var requestID = regexp.MustCompile(`Request ID: [0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// withoutIDs returns a cause with ID in place of the ID of the request.
func withoutIDs(cause string) string { return requestID.ReplaceAllString(cause, "Request ID: ID") }

// The cause of an error names the service as the SDK does that the integration uses.
// Source: https://github.com/localstack/localstack error_handling/test_task_service_dynamodb,
// test_task_service_sqs and test_task_service_sfn, callback/test_callback.
func TestCausesOfRefusedCalls(t *testing.T) {
	for _, row := range []struct{ resource, parameters, want string }{
		{
			"dynamodb:putItem", `{"TableName":"none","Item":{}}`,
			`DynamoDB.ResourceNotFoundException Requested resource not found ` +
				`(Service: AmazonDynamoDBv2; Status Code: 400; Error Code: ResourceNotFoundException; Request ID: ID; Proxy: null)`,
		},
		{
			"dynamodb:putItem", `{"TableName":"none"}`,
			`DynamoDB.AmazonDynamoDBException 1 validation error detected: Value null at 'item' failed to satisfy constraint: Member must not be null ` +
				`(Service: AmazonDynamoDBv2; Status Code: 400; Error Code: ValidationException; Request ID: ID; Proxy: null)`,
		},
		{
			"states:startExecution", `{"StateMachineArn":"arn:aws:states:us-east-1:000000000000:stateMachine:none"}`,
			`StepFunctions.StateMachineDoesNotExistException State Machine Does Not Exist: 'arn:aws:states:us-east-1:000000000000:stateMachine:none' ` +
				`(Service: AWSStepFunctions; Status Code: 400; Error Code: StateMachineDoesNotExist; Request ID: ID; Proxy: null)`,
		},
		{
			"sqs:sendMessage", `{"QueueUrl":"http://localhost/000000000000/q","MessageBody":null}`,
			`SQS.AmazonSQSException The request must contain the parameter MessageBody. ` +
				`(Service: AmazonSQS; Status Code: 400; Error Code: MissingParameter; Request ID: ID; Proxy: null)`,
		},
		{
			"aws-sdk:sfn:sendTaskSuccess", `{"TaskToken":"none","Output":"1"}`,
			`Sfn.InvalidTokenException Invalid Token: 'Invalid token' (Service: Sfn, Status Code: 400, Request ID: ID) (SDK Attempt Count: 1)`,
		},
	} {
		inFlow(t, t.TempDir(), func(t *testing.T, f *flow) {
			arn := f.start(`{"A":{"Type":"Task","Resource":"arn:aws:states:::aws-sdk:sqs:createQueue","Parameters":{"QueueName":"q"},"Next":"B"},
				"B":{"Type":"Task","Resource":"arn:aws:states:::`+row.resource+`","Parameters":`+row.parameters+`,"End":true}}`, `{}`)
			f.ended(arn)

			d, err := f.sfn.DescribeExecution(f.t.Context(), &sfn.DescribeExecutionInput{ExecutionArn: arn})
			if err != nil {
				t.Fatal(err)
			}

			same(t, row.resource, withoutIDs(aws.ToString(d.Error)+" "+aws.ToString(d.Cause)), row.want)
		})
	}
}
