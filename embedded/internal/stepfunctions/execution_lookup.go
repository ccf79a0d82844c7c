package stepfunctions

import (
	"encoding/binary"
	"fmt"
	"strings"

	"ratchet/embedded/internal/stepfunctions/arns"
	"ratchet/embedded/internal/stepfunctions/execution"
	"ratchet/embedded/internal/stepfunctions/keys"
	"ratchet/embedded/internal/stepfunctions/machines"
	"ratchet/embedded/internal/wire"
)

// executionNamed returns the execution with an ARN, and its machine. It finds an Express execution only if
// a Map Run has started it.
func (s *Service) executionNamed(arn string) (keys.Execution, *machines.Machine, error) {
	// Only a child of a Map Run has a slash in its ARN, between the machine's name and the label.
	resource := "execution"
	if _, rest, _ := strings.Cut(arn, ":express:"); strings.Contains(rest, "/") {
		resource = "express"
	}

	rest, ours, err := s.account.Name(arn, resource)
	if err != nil {
		return keys.Execution{}, nil, err
	}

	machineName, name, ok := strings.Cut(rest, ":")
	if !ok || name == "" {
		return keys.Execution{}, nil, arns.Invalid(arn, "Invalid ARN: the execution's name is missing")
	}

	machineName, label, isChild := strings.Cut(machineName, "/")
	missing := executionDoesNotExist(arn)

	m := s.machines.Lookup(machineName)

	if m == nil || !ours {
		return keys.Execution{}, nil, missing
	}

	if resource == "express" {
		// Express ARNs go on after the name, with an ID that tells executions of one name apart.
		name, _, _ = strings.Cut(name, ":")
	}

	id, found, err := s.db.Get(keys.ChildName(m.ID, label, name))
	if err != nil {
		return keys.Execution{}, nil, fmt.Errorf("look up execution %s: %w", name, err)
	}

	if !found {
		return keys.Execution{}, nil, missing
	}

	// The entry of a child's name holds two numbers: the Map Run's, which
	// stands for the machine's in keys, and the child's.
	if isChild {
		return keys.Execution{Machine: binary.BigEndian.Uint64(id), ID: binary.BigEndian.Uint64(id[8:])}, m, nil
	}

	return keys.Execution{Machine: m.ID, ID: binary.BigEndian.Uint64(id)}, m, nil
}

func executionDoesNotExist(arn string) error {
	return wire.Errorf("ExecutionDoesNotExist", "Execution Does Not Exist: '%s'", arn)
}

// readExecution returns an execution's state after it is on disk.
func (s *Service) readExecution(key keys.Execution) (*execution.State, error) {
	lock := s.lock(key)
	lock.Lock()
	_, st, err := s.loadExecution(key)
	lock.Unlock()

	if err != nil {
		return nil, err
	}

	// A crash must not undo the caller's answer.
	return st, s.db.Barrier()
}
