package embedded

import (
	"context"
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
)

// stockError is an error with a name for Catch.
type stockError struct{}

func (stockError) Error() string     { return "no stock" }
func (stockError) ErrorType() string { return "OutOfStock" }

// A task invokes a function of the embedding program by its name or ARN, and sees its result
// or its error.
func TestATaskInvokesAFunction(t *testing.T) {
	functions := map[string]func(context.Context, []byte) ([]byte, error){
		"echo":  func(_ context.Context, payload []byte) ([]byte, error) { return payload, nil },
		"typed": func(context.Context, []byte) ([]byte, error) { return nil, stockError{} },
		"plain": func(context.Context, []byte) ([]byte, error) { return nil, errors.New("broken") },
		"text":  func(context.Context, []byte) ([]byte, error) { return []byte("text"), nil },
		"panic": func(context.Context, []byte) ([]byte, error) { panic("boom") },
		"fault": func(_ context.Context, payload []byte) ([]byte, error) { return payload[1000:], nil },
	}
	f := open(t, func(c *Config) { c.Functions = functions })
	client := sfn.NewFromConfig(f.Engine.AWSConfig())

	for _, row := range []struct{ is, function, input, want string }{
		{"by name", "echo", `{"a":1}`, `SUCCEEDED {"a":1}`},
		{"by ARN with a version", "arn:aws:lambda:us-east-1:000000000000:function:echo:7", `{"a":1}`, `SUCCEEDED {"a":1}`},
		// Source: LocalStack's recordings of AWS, test_lambda_task_service.py, test_invoke.
		{"with null", "echo", `null`, "SUCCEEDED {}"},
		{"that fails with a type", "typed", `{"a":1}`, `FAILED OutOfStock {"errorMessage":"no stock","errorType":"OutOfStock"}`},
		{"that fails", "plain", `{"a":1}`, `FAILED errorString {"errorMessage":"broken","errorType":"errorString"}`},
		{"that panics", "panic", `{"a":1}`, `FAILED string {"errorMessage":"boom","errorType":"string"}`},
		{"that panics with an error", "fault", `{"a":1}`, `FAILED boundsError {"errorMessage":"runtime error: slice bounds out of range [1000:7]","errorType":"boundsError"}`},
		{"whose result is not JSON", "text", `{"a":1}`, `FAILED errorString {"errorMessage":"the result is not JSON: unexpected 'e' in JSON text at offset 1","errorType":"errorString"}`},
		{"that is unknown", "none", `{"a":1}`, `FAILED Lambda.ResourceNotFoundException Function not found: arn:aws:lambda:us-east-1:000000000000:function:none:$LATEST (Service: AWSLambda; Status Code: 404; Error Code: ResourceNotFoundException; Request ID: ID; Proxy: null)`},
	} {
		out, err := client.TestState(t.Context(), &sfn.TestStateInput{
			RoleArn: aws.String("arn:aws:iam::000000000000:role/r"), Input: aws.String(row.input),
			Definition: aws.String(`{"Type":"Task","Resource":"arn:aws:states:::lambda:invoke",` +
				`"Parameters":{"FunctionName":"` + row.function + `","Payload.$":"$"},"OutputPath":"$.Payload","End":true}`),
		})
		if err != nil {
			t.Fatal(row.is, err)
		}

		same(t, row.is, withoutIDs(outcome(string(out.Status), out.Output, out.Error, out.Cause)), row.want)
	}
}
