package stepfunctions

import (
	"bytes"
	"context"

	"ratchet/embedded/internal/wire"
)

func (s *Service) updateStateMachine(_ context.Context, in *struct {
	machineSettings
	StateMachineArn string
}) (any, error) {
	if err := in.check(); err != nil {
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
		return nil, machineDeleting(in.StateMachineArn)
	}

	rev, err := s.revision(old.ID, old.Revision)
	if err != nil {
		return nil, err
	}

	// The copies share the definition and its compiled program until a new definition replaces them.
	m, next := *old, *rev
	next.Updated = s.cfg.Clock.Now().UnixMilli()
	if in.Definition != nil {
		if next.program, err = parseDefinition(*in.Definition, m.Express); err != nil {
			return nil, err
		}

		next.Definition = *in.Definition
	}

	if in.RoleArn != nil {
		next.RoleARN = *in.RoleArn
	}

	if in.LoggingConfiguration != nil {
		m.Logging = in.LoggingConfiguration.stored()
	}

	logsChange := !bytes.Equal(m.logging(), old.logging())

	if in.TracingConfiguration != nil {
		m.Tracing = in.TracingConfiguration
	}

	// A change of the tracing configuration alone makes no new revision.
	if next.Definition == rev.Definition && next.RoleARN == rev.RoleARN && !logsChange {
		err = s.commitUnchanged(&m, &in.machineSettings)
	} else {
		err = s.commitMachine(&m, &next, &in.machineSettings)
	}

	if err != nil {
		return nil, err
	}

	answer := map[string]any{"updateDate": stamp(next.Updated)}
	if id := m.revisionID(); id != "" {
		answer["revisionId"] = id
	}

	if in.Publish {
		answer["stateMachineVersionArn"] = s.versionARN(m.Name, m.versionOf(m.Revision).Number)
	}

	return answer, nil
}

// commitUnchanged stores an update that keeps the definition, the role and the log, and so the
// revision. The caller holds s.mu.
func (s *Service) commitUnchanged(m *machine, in *machineSettings) error {
	if in.Publish {
		if _, err := m.publish(in.VersionDescription, s.cfg.Clock.Now()); err != nil {
			return err
		}
	}

	return s.replaceMachine(m)
}
