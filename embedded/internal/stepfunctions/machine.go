package stepfunctions

import (
	"encoding/json"

	"ratchet/embedded/internal/wire"
)

// machine is the record of a state machine. It is immutable: a change replaces it.
type machine struct {
	ID       uint64 `json:"id"`
	Name     string `json:"name"`
	Created  int64  `json:"created"`
	Revision uint64 `json:"revision"`
	// FirstRevision is the revision of the creation; 0 in records of earlier versions.
	FirstRevision uint64          `json:"firstRevision,omitempty"`
	Logging       json.RawMessage `json:"logging,omitempty"`
	Tracing       json.RawMessage `json:"tracing,omitempty"`
	// Deleting refuses new executions.
	Deleting bool `json:"deleting,omitempty"`
}

// machineNamed returns the machine with an ARN. There are no versions and aliases.
func (s *Service) machineNamed(arn string) (*machine, error) {
	name, ours, err := s.resourceName(arn, "stateMachine")
	if err != nil {
		return nil, err
	}

	s.mu.RLock()
	defer s.mu.RUnlock()

	m := s.machines[name]
	if m == nil || !ours {
		return nil, machineDoesNotExist(arn)
	}

	return m, nil
}

func machineDoesNotExist(arn string) error {
	return wire.Errorf("StateMachineDoesNotExist", "State Machine Does Not Exist: '%s'", arn)
}

type machineRequest struct{ StateMachineArn string }
