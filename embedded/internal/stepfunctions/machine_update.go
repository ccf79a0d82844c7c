package stepfunctions

import (
	"bytes"
	"context"

	"ratchet/embedded/internal/stepfunctions/requests"
	"ratchet/embedded/internal/wire"
)

func (s *Service) updateStateMachine(_ context.Context, in *struct {
	machineSettings
	StateMachineArn string
}) (any, error) {
	if err := in.check(); err != nil {
		return nil, err
	}

	if in.Definition == nil && in.RoleArn == nil && in.LoggingConfiguration == nil && in.TracingConfiguration == nil && in.encryption == nil {
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

	if in.TracingConfiguration != nil {
		m.Tracing = in.TracingConfiguration
	}

	if in.encryption != nil {
		m.Encryption = in.encryption
	}

	if next.Definition == rev.Definition && next.RoleARN == rev.RoleARN && m.sameConfigurations(old) {
		err = s.commitUnchanged(&m, &in.machineSettings)
	} else {
		err = s.commitMachine(&m, &next, &in.machineSettings)
	}

	if err != nil {
		return nil, err
	}

	answer := map[string]any{"updateDate": requests.Stamp(next.Updated)}
	if id := m.revisionID(); id != "" {
		answer["revisionId"] = id
	}

	if in.Publish {
		answer["stateMachineVersionArn"] = s.account.Version(m.Name, m.versionOf(m.Revision).Number)
	}

	return answer, nil
}

// sameConfigurations reports whether both machines have the same configurations.
func (m *machine) sameConfigurations(o *machine) bool {
	return bytes.Equal(m.logging(), o.logging()) && m.Tracing.described() == o.Tracing.described() && m.Encryption.described() == o.Encryption.described()
}

// commitUnchanged stores an update that keeps the definition, the role and the configurations, and so the
// revision. The caller holds s.mu.
func (s *Service) commitUnchanged(m *machine, in *machineSettings) error {
	if err := s.publishUpdate(m, in); err != nil {
		return err
	}

	return s.replaceMachine(m)
}

// publishUpdate publishes a version if the settings ask for one: of a revision without a version, and of one
// whose newest version has another description. An update without a description asks for no other one.
// Source of the last rule: LocalStack's recordings of AWS (test_empty_revision_with_publish_and_publish_on_creation).
func (s *Service) publishUpdate(m *machine, in *machineSettings) error {
	if !in.Publish {
		return nil
	}

	if v := m.versionOf(m.Revision); v != nil && in.VersionDescription != "" && v.Description != in.VersionDescription {
		return m.addVersion(in.VersionDescription, s.cfg.Clock.Now())
	}

	_, err := m.publish(in.VersionDescription, s.cfg.Clock.Now())

	return err
}
