package integrations

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"

	"ratchet/embedded/internal/stepfunctions/arns"
	"ratchet/embedded/internal/stepfunctions/execution"
	"ratchet/embedded/internal/stepfunctions/lambda"
	"ratchet/embedded/internal/stepfunctions/rawjson"
	"ratchet/embedded/internal/wire"
)

// Caller makes the calls of tasks.
type Caller struct {
	Account arns.Account
	// Services are what tasks may call, by the name in their Resource, apart from Step Functions itself.
	Services map[string]wire.Service
	// Own are the operations of Step Functions itself.
	Own map[string]wire.Operation
	// StartedBefore answers the start of an execution of a machine that the same task has started before.
	StartedBefore func(machineARN, name string) (any, error)
	// Log receives the engine's own faults.
	Log *slog.Logger
}

// Call makes a call and returns its answer as the task sees it. An execution that the
// call starts without a name gets the name.
func (c *Caller) Call(ctx context.Context, call execution.Call, name string) ([]byte, *execution.CallFailure) {
	operations := c.Services[call.Service].Operations
	if ownService(call) {
		operations = c.Own
	}

	operation, ok := operations[call.Operation]
	if !ok {
		return nil, &execution.CallFailure{
			Name:  "States.Runtime",
			Cause: fmt.Sprintf("%s has no operation %s in the embedded engine", call.Service, call.Operation),
		}
	}

	if ownService(call) {
		operation = c.ownOperation(call, operation, name)
	}

	body, err := c.callBody(call)
	if err != nil {
		return nil, &execution.CallFailure{Name: "States.Runtime", Cause: err.Error()}
	}

	answer, err := operation(ctx, body)
	if err != nil {
		return nil, c.Refusal(call, err)
	}

	// Text that is JSON already is passed on as it is: json.Marshal would compact it.
	raw, ok := answer.(json.RawMessage)
	if !ok {
		if raw, err = json.Marshal(answer); err != nil {
			return nil, c.Refusal(call, err)
		}
	}

	// A function's ARN as the Resource returns the payload only, lambda:invoke the whole answer.
	if call.Function != "" {
		raw, _ = rawjson.Member(raw, "Payload")
	}

	return raw, nil
}

// callBody returns the request of a call. The optimized integration of SQS takes any JSON as the message
// body and sends it as text.
func (c *Caller) callBody(call execution.Call) ([]byte, error) {
	if call.Service == "lambda" {
		return lambda.Request(c.Account, call), nil
	}

	if call.SDK || call.Service != "sqs" {
		return call.Parameters, nil
	}

	var members map[string]json.RawMessage
	if err := json.Unmarshal(call.Parameters, &members); err != nil {
		return nil, fmt.Errorf("read the parameters: %w", err)
	}

	// A body that is a string is sent as it is: encoding it again would send its quotes, too.
	if body := members["MessageBody"]; len(body) > 0 && body[0] != '"' && rawjson.KindOf(body) != rawjson.Null {
		text, err := json.Marshal(string(body))
		if err != nil {
			return nil, err
		}

		members["MessageBody"] = text
	}

	return json.Marshal(members)
}
