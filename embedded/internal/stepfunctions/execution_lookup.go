package stepfunctions

import (
	"encoding/binary"
	"fmt"
	"strings"

	"ratchet/embedded/internal/stepfunctions/execution"
	"ratchet/embedded/internal/wire"
)

// executionNamed returns the execution with an ARN, and its machine.
func (s *Service) executionNamed(arn string) (executionKey, *machine, error) {
	rest, ours, err := s.resourceName(arn, "execution")
	if err != nil {
		return executionKey{}, nil, err
	}

	machineName, name, ok := strings.Cut(rest, ":")
	if !ok || name == "" {
		return executionKey{}, nil, invalidARN(arn, "Invalid ARN: the execution's name is missing")
	}

	missing := wire.Errorf("ExecutionDoesNotExist", "Execution Does Not Exist: '%s'", arn)

	s.mu.RLock()
	m := s.machines[machineName]
	s.mu.RUnlock()

	if m == nil || !ours {
		return executionKey{}, nil, missing
	}

	id, found, err := s.db.Get(executionNameKey(m.ID, name))
	if err != nil {
		return executionKey{}, nil, fmt.Errorf("look up execution %s: %w", name, err)
	}

	if !found {
		return executionKey{}, nil, missing
	}

	return executionKey{m.ID, binary.BigEndian.Uint64(id)}, m, nil
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
