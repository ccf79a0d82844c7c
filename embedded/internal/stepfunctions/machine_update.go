package stepfunctions

import (
	"context"
	"time"

	"ratchet/embedded/internal/wire"
)

func (s *Service) updateStateMachine(_ context.Context, in *struct {
	machineSettings
	StateMachineArn string
}) (any, error) {
	if err := in.checkSupported(); err != nil {
		return nil, err
	}

	if in.Definition == nil && in.RoleArn == nil && in.LoggingConfiguration == nil && in.TracingConfiguration == nil {
		return nil, wire.Errorf("MissingRequiredParameter",
			"Either the definition, the role ARN, the LoggingConfiguration, or the TracingConfiguration must be specified")
	}

	old, err := s.machineNamed(in.StateMachineArn)
	if err != nil {
		return nil, err
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	// Read again: another call may have changed or deleted the machine before the lock.
	old = s.machines[old.Name]
	if old == nil || old.Deleting {
		return nil, wire.Errorf("StateMachineDeleting", "State Machine is being deleted: '%s'", in.StateMachineArn)
	}

	rev, err := s.revision(old.ID, old.Revision)
	if err != nil {
		return nil, err
	}

	m, next := *old, *rev
	next.Updated = time.Now().UnixMilli()
	if in.Definition != nil {
		if next.program, err = parseDefinition(*in.Definition); err != nil {
			return nil, err
		}

		next.Definition = *in.Definition
	}

	if in.RoleArn != nil {
		next.RoleARN = *in.RoleArn
	}

	if in.LoggingConfiguration != nil {
		m.Logging = in.LoggingConfiguration
	}

	if in.TracingConfiguration != nil {
		m.Tracing = in.TracingConfiguration
	}

	if err := s.commitMachine(&m, &next); err != nil {
		return nil, err
	}

	return map[string]any{"updateDate": stamp(next.Updated), "revisionId": revisionID(next.ID)}, nil
}
