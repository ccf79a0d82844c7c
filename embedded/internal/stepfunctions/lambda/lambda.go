package lambda

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"ratchet/embedded/internal/stepfunctions/arns"
	"ratchet/embedded/internal/stepfunctions/execution"
	"ratchet/embedded/internal/stepfunctions/rawjson"
	"ratchet/embedded/internal/wire"
)

// Function is a function that tasks invoke as a Lambda function: payload and result are JSON.
type Function func(ctx context.Context, payload []byte) ([]byte, error)

// Service returns the service that the integration lambda:invoke and the ARNs of functions call, with
// functions by name.
func Service(functions map[string]Function) wire.Service {
	return wire.Service{
		InternalError: "ServiceException",
		Operations: map[string]wire.Operation{"Invoke": func(ctx context.Context, body []byte) (any, error) {
			return invoke(ctx, functions, body)
		}},
	}
}

// invoke answers as the optimized integration does: the result is JSON and not a text. Without a
// payload a function gets an empty object.
// Source: LocalStack's recordings of AWS (test_lambda_task_service, test_invoke).
func invoke(ctx context.Context, functions map[string]Function, body []byte) (any, error) {
	value, _ := rawjson.Member(body, "FunctionName")
	// Without a FunctionName, no function is found below.
	name, _ := rawjson.Text(value)

	function := functions[functionName(name)]
	if function == nil {
		return nil, &wire.Error{Type: "ResourceNotFoundException", Status: 404, Message: "Function not found: " + qualifiedFunction(name)}
	}

	payload, ok := rawjson.Member(body, "Payload")
	if !ok {
		payload = []byte("{}")
	}

	result, err := function.run(ctx, payload)
	if err != nil {
		return nil, &Error{err}
	}

	if err := rawjson.Valid(result); err != nil {
		return nil, &Error{fmt.Errorf("the result is not JSON: %w", err)}
	}

	answer := rawjson.AppendCompact([]byte(`{"ExecutedVersion":"$LATEST","Payload":`), result)

	return json.RawMessage(append(answer, `,"StatusCode":200}`...)), nil
}

// run runs the function. A panic is its error, as in the Go runtime of Lambda, and does not end the process.
// Source: https://github.com/aws/aws-lambda-go lambda/panics.go
func (f Function) run(ctx context.Context, payload []byte) (result []byte, err error) {
	defer func() {
		if value := recover(); value != nil {
			err = panicError{value}
		}
	}()

	return f(ctx, payload)
}

// panicError is the error of a function that panicked.
type panicError struct{ value any }

func (e panicError) Error() string { return fmt.Sprint(e.value) }

// ErrorType returns the name of the value's type.
func (e panicError) ErrorType() string {
	// As in the Go runtime of Lambda, a pointer has the name of its element's type.
	t := reflect.TypeOf(e.value)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}

	return t.Name()
}

// Request returns the request that invokes a task's function. The function of a Resource gets
// the parameters as they are. lambda:invoke sends no payload for null, and a text that is JSON as
// that JSON.
// Source: LocalStack's recordings of AWS (test_lambda_task and test_lambda_task_service,
// test_invoke_json_values).
func Request(account arns.Account, call execution.Call) []byte {
	name, payload := call.Function, call.Parameters
	if name == "" {
		value, _ := rawjson.Member(call.Parameters, "FunctionName")
		name, _ = rawjson.Text(value)
		name = functionARN(account, name)
		payload, _ = rawjson.Member(call.Parameters, "Payload")

		// A text that is JSON becomes the payload itself, without its quotes.
		if text, ok := rawjson.Text(payload); ok && rawjson.Valid([]byte(text)) == nil {
			payload = []byte(text)
		} else if rawjson.KindOf(payload) == rawjson.Null {
			payload = nil
		}
	}

	body := rawjson.AppendText([]byte(`{"FunctionName":`), name)
	if len(payload) > 0 {
		body = append(append(body, `,"Payload":`...), payload...)
	}

	return append(body, '}')
}

// functionARN returns the ARN for a FunctionName: a name, or an ARN or the end of one.
func functionARN(account arns.Account, text string) string {
	if strings.HasPrefix(text, "arn:") {
		return text
	}

	if _, rest, ok := strings.Cut(text, "function:"); ok {
		text = rest
	}

	return fmt.Sprintf("arn:aws:lambda:%s:%s:function:%s", account.Region, account.ID, text)
}

// qualifiedFunction returns a function's ARN with a version: $LATEST if the ARN names none.
func qualifiedFunction(arn string) string {
	if _, name, _ := strings.Cut(arn, ":function:"); strings.Contains(name, ":") {
		return arn
	}

	return arn + ":$LATEST"
}

// functionName returns the name in a FunctionName, which may be a
// name or an ARN, with or without a version.
func functionName(text string) string {
	if _, rest, ok := strings.Cut(text, ":function:"); ok {
		text = rest
	}

	name, _, _ := strings.Cut(text, ":")

	return name
}

// Error is the error of a function itself.
type Error struct{ error }

// Failure returns the error as Lambda reports it: the error's type is the task's error, and the cause is
// an object. A function names the type by a method ErrorType. Without one, the type is errorString, as in
// the Go runtime of Lambda.
func (e *Error) Failure() *execution.CallFailure {
	var typed interface{ ErrorType() string }

	name := "errorString"
	if errors.As(e.error, &typed) {
		name = typed.ErrorType()
	}

	cause := append(rawjson.AppendText([]byte(`{"errorMessage":`), e.Error()), `,"errorType":`...)

	return &execution.CallFailure{Name: name, Cause: string(append(rawjson.AppendText(cause, name), '}'))}
}
