package embedded

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	sfntypes "github.com/aws/aws-sdk-go-v2/service/sfn/types"
	"github.com/aws/smithy-go"
)

// express creates an Express machine with the states.
func (f *flow) express(name, definition string) *string {
	f.t.Helper()

	return f.machine(name, definition, sfntypes.StateMachineTypeExpress)
}

// count is a state that adds 1 to the number in row $.id of the table.
const count = `"Type":"Task","Resource":"arn:aws:states:::dynamodb:updateItem","Parameters":{"TableName":"counts","Key":{"id":{"S.$":"$.id"}},` +
	`"UpdateExpression":"ADD n :one","ExpressionAttributeValues":{":one":{"N":"1"}}},"ResultPath":null`

// A synchronous execution answers with its output or its error, calls services, retries in
// time, and ends after five minutes at the latest.
func TestStartSyncExecution(t *testing.T) {
	inFlow(t, t.TempDir(), func(t *testing.T, f *flow) {
		f.table("counts", "id", "", "")

		for _, row := range []struct{ is, definition, want string }{
			{"a result", `{"StartAt":"A","States":{"A":{"Type":"Pass","Result":{"Arg1":"argument1"},"End":true}}}`, `SUCCEEDED {"Arg1":"argument1"} 100ms`},
			{"a failure", `{"StartAt":"A","States":{"A":{"Type":"Fail","Error":"E","Cause":"c"}}}`, `FAILED E c 100ms`},
			{"a call", `{"StartAt":"A","States":{"A":{` + count + `,"End":true}}}`, `SUCCEEDED {"id":"1"} 100ms`},
			{"calls side by side", `{"StartAt":"M","States":{"M":{"Type":"Map","ItemsPath":"$$.Execution.Input.l","ItemProcessor":{"StartAt":"A","States":{"A":{` +
				`"Type":"Task","Resource":"arn:aws:states:::dynamodb:getItem","Parameters":{"TableName":"counts","Key":{"id":{"S":"1"}}},"OutputPath":"$.Item.n.N","End":true}}},"End":true}}}`,
				`SUCCEEDED ["1","1","1"] 100ms`},
			{"a retry", `{"StartAt":"A","States":{"A":{"Type":"Task","Resource":"arn:aws:states:::dynamodb:getItem","Parameters":{"TableName":"absent","Key":{}},` +
				`"Retry":[{"ErrorEquals":["States.ALL"],"IntervalSeconds":2,"MaxAttempts":2}],"Catch":[{"ErrorEquals":["DynamoDB.ResourceNotFoundException"],"Next":"B"}],"End":true},` +
				`"B":{"Type":"Pass","Parameters":{"r.$":"$.Error"},"End":true}}}`, `SUCCEEDED {"r":"DynamoDB.ResourceNotFoundException"} 6000ms`},
			{"a limit", `{"StartAt":"A","TimeoutSeconds":7,"States":{"A":{"Type":"Wait","Seconds":9,"End":true}}}`, `TIMED_OUT States.Timeout 7000ms`},
			{"a long wait", `{"StartAt":"A","States":{"A":{"Type":"Wait","Seconds":900,"End":true}}}`, `TIMED_OUT States.Timeout 300000ms`},
		} {
			arn := f.express(strings.ReplaceAll(row.is, " ", "-"), row.definition)

			out, err := f.sfn.StartSyncExecution(t.Context(), &sfn.StartSyncExecutionInput{
				StateMachineArn: arn, Name: aws.String("e"), Input: aws.String(`{"id":"1"` + map[bool]string{true: `,"l":[1,2,3]`}[strings.HasPrefix(row.is, "calls")] + `}`),
			})
			if err != nil {
				t.Fatal(row.is, err)
			}

			got := outcome(string(out.Status), out.Output, out.Error, out.Cause)
			same(t, row.is, fmt.Sprintf("%s %dms", got, out.BillingDetails.BilledDurationInMilliseconds), row.want)

			if want := strings.Replace(*arn, ":stateMachine:", ":express:", 1) + ":e:"; !strings.HasPrefix(*out.ExecutionArn, want) {
				t.Errorf("%s: its ARN is %s", row.is, *out.ExecutionArn)
			}
		}
	})
}

// outcome returns a status with the texts that are not nil.
func outcome(status string, texts ...*string) string {
	for _, text := range texts {
		if text != nil {
			status += " " + *text
		}
	}

	return status
}

// An asynchronous execution that a stop of the engine interrupts runs again from its start:
// at least once. An execution that has ended does not run again.
func TestAnExpressExecutionRunsAtLeastOnce(t *testing.T) {
	dir := t.TempDir()

	inFlow(t, dir, func(t *testing.T, f *flow) {
		f.table("counts", "id", "", "")
		arn := f.express("m", `{"StartAt":"A","States":{"A":{`+count+`,"Next":"B"},"B":{"Type":"Wait","SecondsPath":"$.wait","Next":"C"},"C":{`+count+`,"End":true}}}`)

		for _, input := range []string{`{"id":"short","wait":0}`, `{"id":"long","wait":100}`} {
			if _, err := f.sfn.StartExecution(t.Context(), &sfn.StartExecutionInput{StateMachineArn: arn, Name: aws.String("same"), Input: &input}); err != nil {
				t.Fatal(err)
			}
		}

		synctest.Wait()
		same(t, "short before the stop", f.counted("short"), "2")
		same(t, "long before the stop", f.counted("long"), "1")
	})

	inFlow(t, dir, func(t *testing.T, f *flow) {
		time.Sleep(101 * time.Second)
		synctest.Wait()
		same(t, "short", f.counted("short"), "2")
		same(t, "long", f.counted("long"), "3")
	})

	inFlow(t, dir, func(t *testing.T, f *flow) {
		synctest.Wait()
		same(t, "long after its end", f.counted("long"), "3")
	})
}

// counted waits for a count's write to be made and returns the number of a row.
func (f *flow) counted(id string) string {
	f.t.Helper()

	row := f.get("counts", item{"id": str(id)})
	if row == nil {
		return "none"
	}

	return number(row["n"])
}

// TestExpressRefusals compares the texts with those recorded on AWS.
// Source: https://github.com/localstack/localstack tests/aws/services/stepfunctions/v2/test_sfn_api_express
func TestExpressRefusals(t *testing.T) {
	f := &flow{fixture: open(t)}
	f.sfn = sfn.NewFromConfig(f.Engine.AWSConfig())
	machine := f.express("m", `{"StartAt":"A","States":{"A":{"Type":"Succeed"}}}`)
	execution := strings.Replace(*machine, ":stateMachine:", ":express:", 1) + ":e:r"

	create := func(resource string) error {
		_, err := f.sfn.CreateStateMachine(t.Context(), &sfn.CreateStateMachineInput{
			Name: aws.String("x"), Type: sfntypes.StateMachineTypeExpress, RoleArn: aws.String("arn:aws:iam::000000000000:role/r"),
			Definition: aws.String(`{"StartAt":"T","States":{"T":{"Type":"Task","Resource":"` + resource + `","Parameters":{},"End":true}}}`),
		})

		return err
	}

	standard := f.machine("s", `{"StartAt":"A","States":{"A":{"Type":"Succeed"}}}`, sfntypes.StateMachineTypeStandard)

	for _, row := range []struct {
		is   string
		call func() error
		want string
	}{
		{"an activity", func() error { return create("arn:aws:states:us-east-1:000000000000:activity:a") },
			"InvalidDefinition: Invalid State Machine Definition: 'SCHEMA_VALIDATION_FAILED: Express state machine does not support Activity ARN at /States/T/Resource'"},
		{"a task token", func() error { return create("arn:aws:states:::sqs:sendMessage.waitForTaskToken") },
			"'SCHEMA_VALIDATION_FAILED: Express state machine does not support '.waitForTaskToken' service integration  at /States/T/Resource'"},
		{"a list of executions", func() error {
			_, err := f.sfn.ListExecutions(t.Context(), &sfn.ListExecutionsInput{StateMachineArn: machine})
			return err
		}, "StateMachineTypeNotSupported: This operation is not supported by this type of state machine"},
		{"the description of an execution", func() error {
			_, err := f.sfn.DescribeExecution(t.Context(), &sfn.DescribeExecutionInput{ExecutionArn: &execution})
			return err
		}, "InvalidArn: Invalid Arn: 'Resource type not valid in this context: express'"},
		{"a synchronous start of a Standard machine", func() error {
			_, err := f.sfn.StartSyncExecution(t.Context(), &sfn.StartSyncExecutionInput{StateMachineArn: standard})
			return err
		}, "StateMachineTypeNotSupported: This operation is not supported by this type of state machine"},
		{"the name of a machine of the other type", func() error {
			_, err := f.sfn.CreateStateMachine(t.Context(), &sfn.CreateStateMachineInput{
				Name: aws.String("m"), RoleArn: aws.String("arn:aws:iam::000000000000:role/r"), Definition: aws.String(`{"StartAt":"A","States":{"A":{"Type":"Succeed"}}}`),
			})
			return err
		}, "StateMachineAlreadyExists"},
	} {
		err := row.call()

		var api smithy.APIError
		if !errors.As(err, &api) || !strings.Contains(api.ErrorCode()+": "+api.ErrorMessage(), row.want) {
			t.Errorf("%s: %v, want %s", row.is, err, row.want)
		}
	}

	v, err := f.sfn.ValidateStateMachineDefinition(t.Context(), &sfn.ValidateStateMachineDefinitionInput{
		Type:       sfntypes.StateMachineTypeExpress,
		Definition: aws.String(`{"StartAt":"T","States":{"T":{"Type":"Task","Resource":"arn:aws:states:us-east-1:000000000000:activity:a","End":true}}}`),
	})
	if err != nil || v.Result != sfntypes.ValidateStateMachineDefinitionResultCodeFail || *v.Diagnostics[0].Message != "Express state machine does not support Activity ARN" {
		t.Errorf("validation: %+v %v", v, err)
	}

	d, err := f.sfn.DescribeStateMachine(t.Context(), &sfn.DescribeStateMachineInput{StateMachineArn: machine})
	if err != nil || d.Type != sfntypes.StateMachineTypeExpress {
		t.Errorf("type %s, %v", d.Type, err)
	}
}
