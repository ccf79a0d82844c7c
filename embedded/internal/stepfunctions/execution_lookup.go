package stepfunctions

import (
	"encoding/binary"
	"fmt"
	"strings"

	"ratchet/embedded/internal/stepfunctions/execution"
	"ratchet/embedded/internal/wire"
)

// executionNamed returns the execution with an ARN, and its machine. Of Express executions it
// finds those that a Map Run has started.
func (s *Service) executionNamed(arn string) (executionKey, *machine, error) {
	resource := "execution"
	if _, rest, _ := strings.Cut(arn, ":express:"); strings.Contains(rest, "/") {
		resource = "express"
	}

	rest, ours, err := s.resourceName(arn, resource)
	if err != nil {
		return executionKey{}, nil, err
	}

	machineName, name, ok := strings.Cut(rest, ":")
	if !ok || name == "" {
		return executionKey{}, nil, invalidARN(arn, "Invalid ARN: the execution's name is missing")
	}

	machineName, label, isChild := strings.Cut(machineName, "/")
	missing := executionDoesNotExist(arn)

	m := s.lookup(machineName)

	if m == nil || !ours {
		return executionKey{}, nil, missing
	}

	if resource == "express" {
		name, _, _ = strings.Cut(name, ":") // what follows tells attempts of one name apart
	}

	id, found, err := s.db.Get(childNameKey(m.ID, label, name))
	if err != nil {
		return executionKey{}, nil, fmt.Errorf("look up execution %s: %w", name, err)
	}

	if !found {
		return executionKey{}, nil, missing
	}

	if isChild {
		return executionKey{binary.BigEndian.Uint64(id), binary.BigEndian.Uint64(id[8:])}, m, nil
	}

	return executionKey{m.ID, binary.BigEndian.Uint64(id)}, m, nil
}

func executionDoesNotExist(arn string) error {
	return wire.Errorf("ExecutionDoesNotExist", "Execution Does Not Exist: '%s'", arn)
}

// readExecution returns an execution's state, which is on disk by then.
func (s *Service) readExecution(key executionKey) (*execution.State, error) {
	lock := s.lock(key)
	lock.Lock()
	_, st, err := s.loadExecution(key)
	lock.Unlock()

	if err != nil {
		return nil, err
	}

	return st, s.db.Barrier() // a crash must not undo what the caller reports
}
