package stepfunctions

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"ratchet/embedded/internal/stepfunctions/lambda"
)

// outOfStock is an error with a name for Retry and Catch.
type outOfStock struct{}

func (outOfStock) Error() string     { return "no <stock>" }
func (outOfStock) ErrorType() string { return "OutOfStock" }

// functions are the functions that the tests of tasks invoke.
var functions = map[string]lambda.Function{
	"echo": func(_ context.Context, payload []byte) ([]byte, error) { return payload, nil },
	"odd": func(_ context.Context, payload []byte) ([]byte, error) {
		if string(payload) == "2" {
			return nil, outOfStock{}
		}

		return payload, nil
	},
	"slow": func(ctx context.Context, _ []byte) ([]byte, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	},
}

// function is the type and resource of a task.
func function(name string) string {
	return `"Type":"Task","Resource":"arn:aws:lambda:us-east-1:000000000000:function:` + name + `"`
}

// ending renders how an execution has ended.
func ending(d *sfn.DescribeExecutionOutput) string {
	text := string(d.Status)
	for _, part := range []*string{d.Output, d.Error, d.Cause} {
		if part != nil {
			text += " " + *part
		}
	}

	return text
}

// inFunctions runs a test with a service that has the functions, in simulated time.
func inFunctions(t *testing.T, test func(t *testing.T, b *bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, openWith(t, t.TempDir(), functions)) })
}

// A task whose Resource is the ARN of a function sends its input as the payload, and the result
// is the function's.
// Sources: https://github.com/localstack/localstack tests/aws/services/stepfunctions/v2,
// services/test_lambda_task, error_handling/test_task_lambda, arguments/test_arguments,
// query_language/test_mixed_query_language. The cause of an unknown function is the
// cause of lambda:invoke (error_handling/test_task_service_lambda): no recording has another.
func TestATaskThatIsAFunction(t *testing.T) {
	for _, row := range []struct{ is, states, input, want string }{
		{"gets the state's input", `"A":{` + function("echo") + `,"End":true}`, `{"v": "<x>"}`, `SUCCEEDED {"v":"<x>"}`},
		{"gets text", `"A":{` + function("echo") + `,"End":true}`, `"HelloWorld"`, `SUCCEEDED "HelloWorld"`},
		{"gets null", `"A":{` + function("echo") + `,"End":true}`, `null`, `SUCCEEDED null`},
		{"gets its Parameters", `"A":{` + function("echo") + `,"Parameters":{"Payload.$":"$.a"},"End":true}`, `{"a":1}`, `SUCCEEDED {"Payload":1}`},
		{
			"puts its result into the input", `"A":{` + function("echo") + `,"ResultSelector":{"n.$":"$.a"},"ResultPath":"$.b","End":true}`,
			`{"a":1}`, `SUCCEEDED {"a":1,"b":{"n":1}}`,
		},
		{
			"is in JSONata",
			`"A":{"QueryLanguage":"JSONata",` + function("echo") + `,"Arguments":{"n":"{% $states.input.a + 1 %}"},"Assign":{"r":"{% $states.result %}"},` +
				`"Output":"{% $states.result.n %}","Next":"B"},"B":{"Type":"Pass","Parameters":{"n.$":"$","r.$":"$r"},"End":true}`,
			`{"a":1}`, `SUCCEEDED {"n":2,"r":{"n":2}}`,
		},
		{"has a version", `"A":{` + function("echo:7") + `,"End":true}`, `1`, `SUCCEEDED 1`},
		{"is of any region and account", `"A":{"Type":"Task","Resource":"arn:aws:lambda:your-region:your-account-id:function:echo","End":true}`, `1`, `SUCCEEDED 1`},
		{"fails", `"A":{` + function("odd") + `,"End":true}`, `2`, `FAILED OutOfStock {"errorMessage":"no <stock>","errorType":"OutOfStock"}`},
		{
			"fails, and is caught", `"A":{` + function("odd") + `,"Catch":[{"ErrorEquals":["OutOfStock"],"ResultPath":"$","Next":"B"}],"End":true},` +
				`"B":{"Type":"Pass","OutputPath":"$.Error","End":true}`, `2`, `SUCCEEDED "OutOfStock"`,
		},
		{
			"fails, and is caught as any task", `"A":{` + function("odd") + `,"Catch":[{"ErrorEquals":["States.TaskFailed"],"ResultPath":null,"Next":"B"}],"End":true},` +
				`"B":{"Type":"Pass","End":true}`, `2`, `SUCCEEDED 2`,
		},
		{
			"is unknown", `"A":{` + function("none") + `,"End":true}`, `{}`,
			`FAILED Lambda.ResourceNotFoundException Function not found: arn:aws:lambda:us-east-1:000000000000:function:none:$LATEST ` +
				`(Service: AWSLambda; Status Code: 404; Error Code: ResourceNotFoundException; Request ID: ID; Proxy: null)`,
		},
		{"lasts too long", `"A":{` + function("slow") + `,"TimeoutSeconds":5,"End":true}`, `{}`, `FAILED States.Timeout`},
		{
			"is in a Parallel", `"A":{"Type":"Parallel","Branches":[{"StartAt":"L","States":{"L":{` + function("echo") + `,"End":true}}},` +
				`{"StartAt":"R","States":{"R":{` + function("odd") + `,"End":true}}}],"End":true}`, `1`, `SUCCEEDED [1,1]`,
		},
		{
			"is in a Map", `"A":{"Type":"Map","ItemProcessor":{"StartAt":"I","States":{"I":{` + function("odd") + `,"Catch":[{"ErrorEquals":["OutOfStock"],"ResultPath":null,"Next":"J"}],"End":true},` +
				`"J":{"Type":"Pass","Result":"none","End":true}}},"End":true}`, `[1,2,3]`, `SUCCEEDED [1,"none",3]`,
		},
	} {
		t.Run(row.is, func(t *testing.T) {
			inFunctions(t, func(t *testing.T, b *bench) {
				definition := `{"StartAt":"A","States":{` + row.states + `}}`
				if got := requestID.ReplaceAllString(ending(b.ended(b.start(b.machine("m", definition), "", row.input))), "Request ID: ID"); got != row.want {
					t.Errorf("got  %s\nwant %s", got, row.want)
				}

				if got := requestID.ReplaceAllString(b.express(definition, row.input), "Request ID: ID"); got != row.want {
					t.Errorf("an Express execution:\ngot  %s\nwant %s", got, row.want)
				}
			})
		})
	}
}

// requestID is the ID of a request in a cause.
var requestID = regexp.MustCompile(`Request ID: [0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// express runs an Express execution to its end.
func (b *bench) express(definition, input string) string {
	b.t.Helper()

	m, err := b.CreateStateMachine(b.t.Context(), &sfn.CreateStateMachineInput{
		Name: aws.String("express"), Definition: &definition, RoleArn: aws.String("arn:aws:iam::000000000000:role/r"), Type: types.StateMachineTypeExpress,
	})
	if err != nil {
		b.t.Fatal(err)
	}

	d, err := b.StartSyncExecution(b.t.Context(), &sfn.StartSyncExecutionInput{StateMachineArn: m.StateMachineArn, Input: &input})
	if err != nil {
		b.t.Fatal(err)
	}

	return ending(&sfn.DescribeExecutionOutput{Status: types.ExecutionStatus(d.Status), Output: d.Output, Error: d.Error, Cause: d.Cause})
}

// The history of a function has events of its own.
// Source: https://github.com/localstack/localstack tests/aws/services/stepfunctions/v2,
// timeouts/test_timeouts, test_fixed_timeout_lambda, and services/test_lambda_task.
func TestTheHistoryOfAFunction(t *testing.T) {
	const arn = "arn:aws:lambda:us-east-1:000000000000:function:"

	for _, row := range []struct{ is, name, input, scheduled, ended string }{
		{
			"that succeeds", "echo", `1`, `{"Resource":"` + arn + `echo","Input":"1","InputDetails":{"Truncated":false},"TaskCredentials":null,"TimeoutInSeconds":5}`,
			`{"Output":"1","OutputDetails":{"Truncated":false}}`,
		},
		{
			"that fails", "odd", `2`, `{"Resource":"` + arn + `odd","Input":"2","InputDetails":{"Truncated":false},"TaskCredentials":null,"TimeoutInSeconds":5}`,
			`{"Cause":"{\"errorMessage\":\"no \u003cstock\u003e\",\"errorType\":\"OutOfStock\"}","Error":"OutOfStock"}`,
		},
		{
			"that lasts too long", "slow", `{}`, `{"Resource":"` + arn + `slow","Input":"{}","InputDetails":{"Truncated":false},"TaskCredentials":null,"TimeoutInSeconds":5}`,
			`{"Cause":null,"Error":"States.Timeout"}`,
		},
	} {
		inFunctions(t, func(t *testing.T, b *bench) {
			execution := b.start(b.machine("m", `{"StartAt":"A","States":{"A":{`+function(row.name)+`,"TimeoutSeconds":5,"HeartbeatSeconds":2,"End":true}}}`), "", row.input)
			b.ended(execution)

			events, text := b.history(execution)
			kind := map[string]string{"echo": "Succeeded", "odd": "Failed", "slow": "TimedOut"}[row.name]
			want := "1<0 ExecutionStarted 2<0 TaskStateEntered 3<2 LambdaFunctionScheduled 4<3 LambdaFunctionStarted 5<4 LambdaFunction" + kind
			if len(events) < 6 || text[:len(want)] != want {
				t.Fatalf("%s: %s", row.is, text)
			}

			if got := compared(t, events[2].LambdaFunctionScheduledEventDetails, row.scheduled); got != "" {
				t.Errorf("%s: scheduled %s", row.is, got)
			}

			details := map[string]any{
				"echo": events[4].LambdaFunctionSucceededEventDetails, "odd": events[4].LambdaFunctionFailedEventDetails,
				"slow": events[4].LambdaFunctionTimedOutEventDetails,
			}[row.name]
			if got := compared(t, details, row.ended); got != "" {
				t.Errorf("%s: ended %s", row.is, got)
			}
		})
	}
}

// compared returns a value as JSON if it is not the wanted JSON, "" otherwise.
func compared(t *testing.T, value any, want string) string {
	t.Helper()

	got, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}

	var a, b any
	if err := errors.Join(json.Unmarshal(got, &a), json.Unmarshal([]byte(want), &b)); err != nil {
		t.Fatal(err)
	}

	x, _ := json.Marshal(a)
	if y, _ := json.Marshal(b); string(x) == string(y) {
		return ""
	}

	return string(x)
}

// A function that a stop of the service interrupts runs again, with the same payload.
func TestAnInterruptedFunctionRunsAgain(t *testing.T) {
	dir := t.TempDir()

	var arn string
	synctest.Test(t, func(t *testing.T) {
		b := openWith(t, dir, functions)
		arn = b.start(b.machine("m", `{"StartAt":"A","States":{"A":{`+function("slow")+`,"Parameters":{"id.$":"States.UUID()"},"TimeoutSeconds":100,"End":true}}}`), "", `{}`)
		time.Sleep(time.Second)
		synctest.Wait()
	})

	synctest.Test(t, func(t *testing.T) {
		b := openWith(t, dir, map[string]lambda.Function{"slow": functions["echo"]})

		d := b.ended(arn)
		events, text := b.history(arn)
		const want = "1<0 ExecutionStarted 2<0 TaskStateEntered 3<2 LambdaFunctionScheduled 4<3 LambdaFunctionStarted " +
			"5<4 LambdaFunctionSucceeded 6<5 TaskStateExited 7<6 ExecutionSucceeded"
		if text != want || aws.ToString(events[2].LambdaFunctionScheduledEventDetails.Input) != *d.Output {
			t.Errorf("%s\n%s", text, ending(d))
		}
	})
}

// Functions run side by side, and other calls do not wait for them.
func TestFunctionsMayWaitForEachOther(t *testing.T) {
	const together = 40 // more than there are callers

	synctest.Test(t, func(t *testing.T) {
		var arrived sync.WaitGroup
		arrived.Add(together)

		b := openWith(t, t.TempDir(), map[string]lambda.Function{"meet": func(_ context.Context, payload []byte) ([]byte, error) {
			arrived.Done()
			arrived.Wait()

			return payload, nil
		}})
		arn := b.start(b.machine("m", `{"StartAt":"M","States":{"M":{"Type":"Map","ItemProcessor":{"StartAt":"F","States":{"F":{`+
			function("meet")+`,"End":true}}},"End":true}}}`), "", "[0"+strings.Repeat(",0", together-1)+"]")

		if d := b.ended(arn); d.Status != types.ExecutionStatusSucceeded {
			t.Error(ending(d))
		}
	})
}

// Functions run in the children of a distributed Map, and a redrive runs the failed ones again.
func TestFunctionsOfADistributedMap(t *testing.T) {
	for _, kind := range []string{"STANDARD", "EXPRESS"} {
		synctest.Test(t, func(t *testing.T) {
			var calls atomic.Int32

			b := openWith(t, t.TempDir(), map[string]lambda.Function{"f": func(_ context.Context, payload []byte) ([]byte, error) {
				if calls.Add(1); string(payload) == "2" && calls.Load() <= 3 {
					return nil, outOfStock{}
				}

				return payload, nil
			}})
			arn := b.start(b.machine("m", mapOf(kind, "", "F", `"F":{`+function("f")+`,"End":true}`)), "e", `[1,2,3]`)

			if d := b.ended(arn); d.Status != types.ExecutionStatusFailed {
				t.Fatal(ending(d))
			}

			b.redrive(arn)

			if got := ending(b.ended(arn)); got != `SUCCEEDED [1,2,3]` {
				t.Errorf("%s: %s", kind, got)
			}
		})
	}
}

// A definition with functions has no diagnostics, in machines of both types.
func TestADefinitionWithFunctionsIsValid(t *testing.T) {
	b := open(t, t.TempDir())

	for _, kind := range []types.StateMachineType{types.StateMachineTypeStandard, types.StateMachineTypeExpress} {
		out, err := b.ValidateStateMachineDefinition(t.Context(), &sfn.ValidateStateMachineDefinitionInput{
			Type: kind, Definition: aws.String(`{"StartAt":"A","States":{"A":{` + function("f:$LATEST") + `,"TimeoutSeconds":60,"HeartbeatSeconds":5,"End":true}}}`),
		})
		if err != nil || out.Result != types.ValidateStateMachineDefinitionResultCodeOk || len(out.Diagnostics) > 0 {
			t.Errorf("%s: %+v, %v", kind, out, err)
		}
	}
}

// TestState runs a function, or takes any mocked result for it.
// Source: https://github.com/localstack/localstack
// tests/aws/services/stepfunctions/v2/test_state/test_test_state_scenarios.py, test_base_lambda_task_state.
func TestTestStateOfAFunction(t *testing.T) {
	b := openWith(t, t.TempDir(), functions)

	for _, row := range []struct {
		is, name, input string
		mock            *types.MockInput
		want            string
	}{
		{"runs it", "echo", `{"a":1}`, nil, `SUCCEEDED {"a":1}`},
		{"runs one that fails", "odd", `2`, nil, `FAILED OutOfStock {"errorMessage":"no <stock>","errorType":"OutOfStock"}`},
		{"mocks it with a result", "none", `{}`, &types.MockInput{Result: aws.String(`{"StatusCode":"any"}`)}, `SUCCEEDED {"StatusCode":"any"}`},
		{
			"mocks it with an error", "none", `{}`, &types.MockInput{ErrorOutput: &types.MockErrorOutput{Error: aws.String("E"), Cause: aws.String("c")}},
			`FAILED E c`,
		},
	} {
		d, err := b.TestState(t.Context(), &sfn.TestStateInput{
			Definition: aws.String(`{` + function(row.name) + `,"End":true}`), Input: &row.input, Mock: row.mock,
			RoleArn: aws.String("arn:aws:iam::000000000000:role/r"), InspectionLevel: types.InspectionLevelDebug,
		})
		if err != nil {
			t.Fatal(row.is, err)
		}

		got := ending(&sfn.DescribeExecutionOutput{Status: types.ExecutionStatus(d.Status), Output: d.Output, Error: d.Error, Cause: d.Cause})
		if got != row.want {
			t.Errorf("%s: %s, want %s", row.is, got, row.want)
		}

		if in := d.InspectionData; aws.ToString(in.AfterParameters) != row.input || aws.ToString(in.Result) != aws.ToString(d.Output) {
			t.Errorf("%s: parameters %s, result %s", row.is, aws.ToString(in.AfterParameters), aws.ToString(in.Result))
		}
	}
}

// lambda:invoke sends a text that is JSON as that JSON, and no payload for null.
// Source: https://github.com/localstack/localstack
// tests/aws/services/stepfunctions/v2/services/test_lambda_task_service.py, test_invoke and
// test_invoke_json_values.
func TestPayloadsOfInvoke(t *testing.T) {
	inFunctions(t, func(t *testing.T, b *bench) {
		machine := b.machine("m", `{"StartAt":"A","States":{"A":{"Type":"Task","Resource":"arn:aws:states:::lambda:invoke",`+
			`"Parameters":{"FunctionName":"echo","Payload.$":"$"},"OutputPath":"$.Payload","End":true}}}`)

		without := b.machine("without", `{"StartAt":"A","States":{"A":{"Type":"Task","Resource":"arn:aws:states:::lambda:invoke",`+
			`"Parameters":{"FunctionName":"000000000000:function:echo:1"},"End":true}}}`)
		if got := ending(b.ended(b.start(without, "", `1`))); got != `SUCCEEDED {"ExecutedVersion":"$LATEST","Payload":{},"StatusCode":200}` {
			t.Error(got)
		}

		for _, row := range []struct{ payload, want string }{
			{`null`, `{}`},
			{`"null"`, `null`},
			{`"0.0"`, `0.0`},
			{`"\"HelloWorld\""`, `"HelloWorld"`},
			{`"{\"a\": [1]}"`, `{"a":[1]}`},
			{`"no JSON"`, `"no JSON"`},
			{`["a"]`, `["a"]`},
		} {
			if got := ending(b.ended(b.start(machine, "", row.payload))); got != "SUCCEEDED "+row.want {
				t.Errorf("%s: %s", row.payload, got)
			}
		}
	})
}
