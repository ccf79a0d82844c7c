package integrations

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"ratchet/embedded/internal/stepfunctions/execution"
	"ratchet/embedded/internal/stepfunctions/rawjson"
	"ratchet/embedded/internal/stepfunctions/requests"
	"ratchet/embedded/internal/wire"
)

// ownService reports whether a call goes to Step Functions itself.
func ownService(call execution.Call) bool { return call.Service == "states" || call.Service == "sfn" }

// ownOperation turns an operation of the service into the form that tasks call: members begin with
// capitals, and an input may be any JSON. An execution without a name gets the given name, so that
// a start that is repeated after a crash finds the execution of the first start.
func (c *Caller) ownOperation(call execution.Call, operation wire.Operation, name string) wire.Operation {
	return func(ctx context.Context, body []byte) (any, error) {
		members, err := ownMembers(body)
		if err != nil {
			return nil, err
		}

		named := call.Operation != "StartExecution" || name == "" || members["name"] != nil
		if !named {
			members["name"] = rawjson.AppendText(nil, name)
		}

		request, err := json.Marshal(members)
		if err != nil {
			return nil, err
		}

		answer, err := operation(ctx, request)

		var refused *wire.Error
		// The name is unique to this attempt of the task, so an execution
		// with it was started by the task itself.
		if !named && errors.As(err, &refused) && refused.Type == "ExecutionAlreadyExists" {
			machine, _ := rawjson.Text(members["stateMachineArn"])
			answer, err = c.StartedBefore(machine, name)
		}

		if err != nil {
			return nil, err
		}

		raw, err := json.Marshal(answer)
		if err != nil {
			return nil, err
		}

		return json.RawMessage(capitalized(nil, raw, call.SDK)), nil
	}
}

// ownMembers returns a task's parameters under the names that requests have. Inputs and
// outputs become texts; members that are null are left out.
func ownMembers(body []byte) (map[string]json.RawMessage, error) {
	if rawjson.KindOf(body) != rawjson.Object {
		return nil, requests.Invalid("the parameters must be an object")
	}

	members := map[string]json.RawMessage{}
	for c := rawjson.Walk(body); c.Next(); {
		name, _ := rawjson.Text(c.Key)
		if name == "" || rawjson.KindOf(c.Value) == rawjson.Null {
			continue
		}

		name = strings.ToLower(name[:1]) + name[1:]
		value := json.RawMessage(c.Value)
		if (name == "input" || name == "output") && rawjson.KindOf(value) != rawjson.String {
			// The API takes input and output as text.
			value = rawjson.AppendBytes(nil, rawjson.AppendCompact(nil, value))
		}

		members[name] = value
	}

	return members, nil
}

// capitalized appends an answer as tasks see it: names begin with capitals. Dates are texts for an AWS SDK
// integration, and milliseconds since 1970 for an optimized one.
func capitalized(out, v []byte, sdk bool) []byte {
	kind := rawjson.KindOf(v)
	if kind != rawjson.Object && kind != rawjson.Array {
		return append(out, v...)
	}

	start := len(out)
	out = append(out, byte(kind))
	for c := rawjson.Walk(v); c.Next(); {
		if len(out) > start+1 {
			out = append(out, ',')
		}

		if kind == rawjson.Array {
			out = capitalized(out, c.Value, sdk)
			continue
		}

		name, _ := rawjson.Text(c.Key)
		out = append(rawjson.AppendText(out, strings.ToUpper(name[:1])+name[1:]), ':')
		// Dates are known by the end of their names: in AWS JSON they are plain numbers.
		if at, err := strconv.ParseFloat(string(c.Value), 64); err == nil && strings.HasSuffix(name, "Date") {
			// Rounded, because a float does not hold the milliseconds exactly.
			out = appendDate(out, int64(at*1000+0.5), sdk)
			continue
		}

		out = capitalized(out, c.Value, sdk)
	}

	if kind == rawjson.Array {
		return append(out, ']')
	}

	return append(out, '}')
}

func appendDate(out []byte, ms int64, sdk bool) []byte {
	if !sdk {
		return strconv.AppendInt(out, ms, 10)
	}

	return rawjson.AppendText(out, requests.ISO(ms))
}
