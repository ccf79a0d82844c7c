package stepfunctions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"ratchet/embedded/internal/stepfunctions/execution"
	"ratchet/embedded/internal/stepfunctions/keys"
	"ratchet/embedded/internal/stepfunctions/machines"
	"ratchet/embedded/internal/stepfunctions/rawjson"
	"ratchet/embedded/internal/stepfunctions/requests"
	"ratchet/embedded/internal/wire"
)

// ownService reports whether a call goes to Step Functions itself.
func ownService(call execution.Call) bool { return call.Service == "states" || call.Service == "sfn" }

// ownOperation turns an operation of the service into the form that tasks call: members begin with
// capitals, and an input may be any JSON. An execution without a name gets the given name, so that
// a start that is repeated after a crash finds the execution of the first start.
func (s *Service) ownOperation(call execution.Call, operation wire.Operation, name string) wire.Operation {
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
			answer, err = s.startedBefore(members, name)
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

// startedBefore answers the start of an execution that the same task has started before.
func (s *Service) startedBefore(members map[string]json.RawMessage, name string) (any, error) {
	machine, _ := rawjson.Text(members["stateMachineArn"])
	arn := s.account.Execution(machineName(machine), name)

	key, _, err := s.executionNamed(arn)
	if err != nil {
		return nil, err
	}

	st, err := s.readExecution(key)
	if err != nil {
		return nil, err
	}

	return map[string]any{"executionArn": arn, "startDate": requests.Stamp(st.Started)}, nil
}

// machineName returns the machine's name in an ARN of a machine, version or alias.
func machineName(arn string) string {
	parts := strings.SplitN(arn, ":", 8)
	return parts[6]
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

// endedExecution returns the description of an execution that has ended, in the form in
// which the task that started it sees it, and whether the execution has succeeded. If
// parsed is set, input and output are JSON and not texts.
// Source: LocalStack's recordings of AWS (test_base_callbacks, test_sfn_start_execution_sync).
func (s *Service) endedExecution(key keys.Execution, m *machines.Machine, st *execution.State, parsed bool) ([]byte, bool, error) {
	value := func(ref execution.Ref) (any, error) {
		text, err := history{s, key}.Document(ref)
		if parsed {
			return json.RawMessage(text), err
		}

		return string(text), err
	}

	input, err := value(execution.Ref{Chunk: 1, ID: 1})
	if err != nil {
		return nil, false, fmt.Errorf("read the input of execution %d: %w", key.ID, err)
	}

	// Dates are milliseconds, as in all answers of optimized integrations.
	included := map[string]bool{"Included": true}

	d := map[string]any{
		"ExecutionArn":    s.account.Execution(m.Name, st.Name),
		"Input":           input,
		"InputDetails":    included,
		"Name":            st.Name,
		"StartDate":       st.Started,
		"StateMachineArn": s.account.ARN("stateMachine", m.Name),
		"Status":          st.Status.String(),
		"StopDate":        st.Stopped,
	}
	status, reason := s.redriveStatus(st, nil)

	d["RedriveCount"], d["RedriveStatus"] = st.Redrives, status
	if reason != "" {
		d["RedriveStatusReason"] = reason
	}

	if st.Redriven != 0 {
		d["RedriveDate"] = st.Redriven
	}

	if st.Error != "" {
		d["Error"] = st.Error
	}

	if st.Cause != "" {
		d["Cause"] = st.Cause
	}

	if st.Status == execution.Succeeded {
		if d["Output"], err = value(st.Output); err != nil {
			return nil, false, fmt.Errorf("read the output of execution %d: %w", key.ID, err)
		}

		d["OutputDetails"] = included
	}

	text, err := json.Marshal(d)

	return text, st.Status == execution.Succeeded, err
}
