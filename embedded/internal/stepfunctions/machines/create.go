package machines

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"ratchet/embedded/internal/stepfunctions/arns"
	"ratchet/embedded/internal/stepfunctions/keys"
	"ratchet/embedded/internal/stepfunctions/requests"
	"ratchet/embedded/internal/stepfunctions/settings"
	"ratchet/embedded/internal/wire"
)

// machineSettings are the parameters that CreateStateMachine and UpdateStateMachine share.
type machineSettings struct {
	Definition              *string
	RoleArn                 *string
	Publish                 bool
	VersionDescription      string
	EncryptionConfiguration *settings.EncryptionRequest
	LoggingConfiguration    *settings.LoggingConfiguration
	TracingConfiguration    *settings.Tracing

	encryption *settings.Encryption // EncryptionConfiguration once it was checked
}

// checkRole fails for a text that is no ARN of a role. The engine looks for no role.
// Source: https://github.com/aws/amazon-sagemaker-examples/issues/2432 (an answer of CreateStateMachine)
func checkRole(arn string) error {
	if err := requests.AtMost(arn, "roleArn", 256); err != nil {
		return err
	}

	if !strings.HasPrefix(arn, "arn:") {
		return wire.Errorf("InvalidArn", "Invalid Role Arn: '%s'", arn)
	}

	return nil
}

// check fails for settings that contradict each other or that the engine does not support.
func (in *machineSettings) check() (err error) {
	if in.VersionDescription != "" && !in.Publish {
		return requests.Invalid("Version description can only be set when publish is true")
	}

	if err := checkDescription("versionDescription", in.VersionDescription); err != nil {
		return err
	}

	if in.RoleArn != nil {
		if err := checkRole(*in.RoleArn); err != nil {
			return err
		}
	}

	if err := in.LoggingConfiguration.Check(); err != nil {
		return err
	}

	in.encryption, err = in.EncryptionConfiguration.Stored()

	return err
}

func (c *Catalog) create(_ context.Context, in *struct {
	machineSettings
	Name string
	Type string
	Tags settings.Tags
}) (any, error) {
	if err := arns.CheckName(in.Name); err != nil {
		return nil, err
	}

	switch {
	case in.Definition == nil:
		return nil, wire.Missing("definition")
	case in.RoleArn == nil:
		return nil, wire.Missing("roleArn")
	}

	if err := wire.OneOf(in.Type, "type", typeStandard, typeExpress); err != nil {
		return nil, err
	}

	if err := in.check(); err != nil {
		return nil, err
	}

	if err := in.Tags.Check(); err != nil {
		return nil, err
	}

	// The definition is compiled before the lock is taken: a long definition takes time.
	program, err := parseDefinition(*in.Definition, in.Type == typeExpress)
	if err != nil {
		return nil, err
	}

	c.mu.Lock()
	defer c.mu.Unlock()

	if m := c.machines[in.Name]; m != nil {
		return c.answerExisting(m, in.Type == typeExpress, &in.machineSettings)
	}

	id, err := c.ids.Next()
	if err != nil {
		return nil, err
	}

	m := &Machine{
		ID:      id,
		Name:    in.Name,
		Created: c.clock.Now().UnixMilli(),
		Logging: in.LoggingConfiguration.Stored(),
		Tracing: in.TracingConfiguration, Encryption: in.encryption,
		Tags:    settings.Tags{}.With(in.Tags),
		Express: in.Type == typeExpress,
		starts:  &sync.RWMutex{},
	}
	rev := &Revision{
		Machine:    m.Name,
		Definition: *in.Definition,
		RoleARN:    *in.RoleArn,
		Updated:    m.Created,
		Express:    m.Express,
		Program:    program,
	}
	if err := c.commit(m, rev, &in.machineSettings); err != nil {
		return nil, err
	}

	return c.answerCreated(m, &in.machineSettings), nil
}

func (c *Catalog) answerCreated(m *Machine, in *machineSettings) map[string]any {
	answer := map[string]any{"stateMachineArn": c.account.ARN("stateMachine", m.Name), "creationDate": requests.Stamp(m.Created)}
	if in.Publish {
		answer["stateMachineVersionArn"] = c.account.Version(m.Name, m.versionOf(m.Revision).Number)
	}

	return answer
}

// answerExisting answers the creation of a machine that exists. It succeeds when the definition, the type,
// the configurations and the published version are the same. The role and tags do not count.
// Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_CreateStateMachine.html
func (c *Catalog) answerExisting(m *Machine, express bool, in *machineSettings) (any, error) {
	arn := c.account.ARN("stateMachine", m.Name)
	if m.Deleting {
		return nil, Deleting(arn)
	}

	rev, err := c.Revision(m.ID, m.Revision)
	if err != nil {
		return nil, err
	}

	v := m.versionOf(m.Revision)

	published := !in.Publish || v != nil && v.Description == in.VersionDescription
	same := rev.Definition == *in.Definition && m.Express == express && m.configuredAs(in)
	if !same || !published {
		return nil, wire.Errorf("StateMachineAlreadyExists", "State Machine Already Exists: '%s'", arn)
	}

	return c.answerCreated(m, in), nil
}

// configuredAs reports whether the machine has the configurations of the settings.
func (m *Machine) configuredAs(in *machineSettings) bool {
	logging := (&Machine{Logging: in.LoggingConfiguration.Stored()}).logging()

	return bytes.Equal(m.logging(), logging) && m.Tracing.Described() == in.TracingConfiguration.Described() &&
		m.Encryption.Described() == in.encryption.Described()
}

// commit stores a machine with a new revision, and with a version of it if the
// settings say so. The caller holds c.mu.
func (c *Catalog) commit(m *Machine, rev *Revision, in *machineSettings) (err error) {
	if rev.ID, err = c.ids.Next(); err != nil {
		return err
	}

	created := m.Revision == 0
	if m.Revision = rev.ID; created {
		m.FirstRevision = rev.ID
	}

	// The version is published before the record is encoded, because the record holds the versions.
	if err := c.publishUpdate(m, in); err != nil {
		return err
	}

	record, err := json.Marshal(m)
	if err != nil {
		return err
	}

	definition, err := json.Marshal(rev)
	if err != nil {
		return err
	}

	b := c.db.NewBatch()
	b.Set(keys.Named(keys.Machine, m.Name), record)
	b.Set(keys.Of(keys.Revision, m.ID, rev.ID), definition)

	if err := b.Commit(); err != nil {
		return fmt.Errorf("store state machine %s: %w", m.Name, err)
	}

	// Memory follows the disk: after a failed commit the old machine is still in place.
	c.machines[m.Name] = m
	c.cacheRevision(rev)

	return nil
}
