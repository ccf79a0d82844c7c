package stepfunctions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"ratchet/embedded/internal/stepfunctions/execution"
	"ratchet/embedded/internal/stepfunctions/rawjson"
	"ratchet/embedded/internal/wire"
)

// Function is a function that tasks invoke as a Lambda function: payload and result are JSON.
type Function func(ctx context.Context, payload []byte) ([]byte, error)

// Lambda returns the service that the integration lambda:invoke calls, with functions by name.
func Lambda(functions map[string]Function) wire.Service {
	return wire.Service{
		InternalError: "ServiceException",
		Operations: map[string]wire.Operation{"Invoke": func(ctx context.Context, body []byte) (any, error) {
			return invoke(ctx, functions, body)
		}},
	}
}

// invoke answers as the optimized integration does: the result is JSON and not a text.
func invoke(ctx context.Context, functions map[string]Function, body []byte) (any, error) {
	value, _ := rawjson.Member(body, "FunctionName")
	name, _ := rawjson.Text(value)

	function := functions[functionName(name)]
	if function == nil {
		return nil, &wire.Error{Type: "ResourceNotFoundException", Status: 404, Message: "Function not found: " + name}
	}

	// Source: LocalStack's recordings of AWS (test_lambda_task_service, test_invoke): a payload
	// that is null invokes the function with an empty object.
	payload, ok := rawjson.Member(body, "Payload")
	if !ok || rawjson.KindOf(payload) == rawjson.Null {
		payload = []byte("{}")
	}

	result, err := function(ctx, payload)
	if err != nil {
		return nil, &functionError{err}
	}

	if err := rawjson.Valid(result); err != nil {
		return nil, &functionError{fmt.Errorf("the result is not JSON: %w", err)}
	}

	return map[string]any{"ExecutedVersion": "$LATEST", "Payload": json.RawMessage(result), "StatusCode": 200}, nil
}

// functionName returns the name in what FunctionName may be: a name or an ARN, with or without
// a version.
func functionName(text string) string {
	if _, rest, ok := strings.Cut(text, ":function:"); ok {
		text = rest
	}

	name, _, _ := strings.Cut(text, ":")

	return name
}

// functionError is the error of a function itself.
type functionError struct{ error }

// failure returns the error as Lambda reports it: its type is the task's error, and the cause
// an object. Functions name the type by a method ErrorType; otherwise it is that of the Go
// runtime of Lambda.
func (e *functionError) failure() *execution.CallFailure {
	var typed interface{ ErrorType() string }

	name := "errorString"
	if errors.As(e.error, &typed) {
		name = typed.ErrorType()
	}

	cause := append(rawjson.AppendText([]byte(`{"errorMessage":`), e.Error()), `,"errorType":`...)

	return &execution.CallFailure{Name: name, Cause: string(append(rawjson.AppendText(cause, name), '}'))}
}
