package machines

import (
	"bytes"
	"context"

	"ratchet/embedded/internal/stepfunctions/requests"
	"ratchet/embedded/internal/wire"
)

func (c *Catalog) update(_ context.Context, in *struct {
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

	old, err := c.named(in.StateMachineArn)
	if err != nil {
		return nil, err
	}

	c.mu.Lock()
	defer c.mu.Unlock()

	// Read again: another call may have changed or deleted the machine before the lock.
	old = c.machines[old.Name]
	if old == nil || old.Deleting {
		return nil, Deleting(in.StateMachineArn)
	}

	rev, err := c.Revision(old.ID, old.Revision)
	if err != nil {
		return nil, err
	}

	// The copies share the definition and its compiled program until a new definition replaces them.
	m, next := *old, *rev
	next.Updated = c.clock.Now().UnixMilli()
	if in.Definition != nil {
		if next.Program, err = parseDefinition(*in.Definition, m.Express); err != nil {
			return nil, err
		}

		next.Definition = *in.Definition
	}

	if in.RoleArn != nil {
		next.RoleARN = *in.RoleArn
	}

	if in.LoggingConfiguration != nil {
		m.Logging = in.LoggingConfiguration.Stored()
	}

	if in.TracingConfiguration != nil {
		m.Tracing = in.TracingConfiguration
	}

	if in.encryption != nil {
		m.Encryption = in.encryption
	}

	if next.Definition == rev.Definition && next.RoleARN == rev.RoleARN && m.sameConfigurations(old) {
		err = c.commitUnchanged(&m, &in.machineSettings)
	} else {
		err = c.commit(&m, &next, &in.machineSettings)
	}

	if err != nil {
		return nil, err
	}

	answer := map[string]any{"updateDate": requests.Stamp(next.Updated)}
	if id := m.revisionID(); id != "" {
		answer["revisionId"] = id
	}

	if in.Publish {
		answer["stateMachineVersionArn"] = c.account.Version(m.Name, m.versionOf(m.Revision).Number)
	}

	return answer, nil
}

// sameConfigurations reports whether both machines have the same configurations.
func (m *Machine) sameConfigurations(o *Machine) bool {
	return bytes.Equal(m.logging(), o.logging()) && m.Tracing.Described() == o.Tracing.Described() && m.Encryption.Described() == o.Encryption.Described()
}

// commitUnchanged stores an update that keeps the definition, the role and the configurations, and so the
// revision. The caller holds c.mu.
func (c *Catalog) commitUnchanged(m *Machine, in *machineSettings) error {
	if err := c.publishUpdate(m, in); err != nil {
		return err
	}

	return c.replace(m)
}

// publishUpdate publishes a version if the settings ask for one: of a revision without a version, and of one
// whose newest version has another description. An update without a description asks for no other one.
// Source of the last rule: LocalStack's recordings of AWS (test_empty_revision_with_publish_and_publish_on_creation).
func (c *Catalog) publishUpdate(m *Machine, in *machineSettings) error {
	if !in.Publish {
		return nil
	}

	if v := m.versionOf(m.Revision); v != nil && in.VersionDescription != "" && v.Description != in.VersionDescription {
		return m.addVersion(in.VersionDescription, c.clock.Now())
	}

	_, err := m.publish(in.VersionDescription, c.clock.Now())

	return err
}
