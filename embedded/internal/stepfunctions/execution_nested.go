package stepfunctions

import (
	"encoding/json"
	"fmt"
	"strings"

	"ratchet/embedded/internal/stepfunctions/execution"
	"ratchet/embedded/internal/stepfunctions/keys"
	"ratchet/embedded/internal/stepfunctions/machines"
	"ratchet/embedded/internal/stepfunctions/requests"
)

// startedBefore answers the start of an execution that the same task has started before.
func (s *Service) startedBefore(machine, name string) (any, error) {
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
