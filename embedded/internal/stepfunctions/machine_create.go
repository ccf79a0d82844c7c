package stepfunctions

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"ratchet/embedded/internal/stepfunctions/arns"
	"ratchet/embedded/internal/stepfunctions/keys"
	"ratchet/embedded/internal/stepfunctions/requests"
	"ratchet/embedded/internal/wire"
)

// machineSettings are the parameters that CreateStateMachine and UpdateStateMachine share.
type machineSettings struct {
	Definition              *string
	RoleArn                 *string
	Publish                 bool
	VersionDescription      string
	EncryptionConfiguration *encryptionIn
	LoggingConfiguration    *loggingConfiguration
	TracingConfiguration    *tracing

	encryption *encryption // EncryptionConfiguration once it was checked
}

// check fails for settings that contradict each other or that the engine does not support.
func (in *machineSettings) check() (err error) {
	if in.VersionDescription != "" && !in.Publish {
		return requests.Invalid("Version description can only be set when publish is true")
	}

	if err := checkDescription("versionDescription", in.VersionDescription); err != nil {
		return err
	}

	if err := in.LoggingConfiguration.check(); err != nil {
		return err
	}

	in.encryption, err = in.EncryptionConfiguration.stored()

	return err
}

func (s *Service) createStateMachine(_ context.Context, in *struct {
	machineSettings
	Name string
	Type string
	Tags tags
}) (any, error) {
	if err := arns.CheckName(in.Name); err != nil {
		return nil, err
	}

	if in.Definition == nil || in.RoleArn == nil || *in.RoleArn == "" {
		return nil, requests.Invalid("1 validation error detected: definition and roleArn are required")
	}

	if err := wire.OneOf(in.Type, "type", typeStandard, typeExpress); err != nil {
		return nil, err
	}

	if err := in.check(); err != nil {
		return nil, err
	}

	if err := in.Tags.check(); err != nil {
		return nil, err
	}

	// The definition is compiled before the lock is taken: a long definition takes time.
	program, err := parseDefinition(*in.Definition, in.Type == typeExpress)
	if err != nil {
		return nil, err
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	if m := s.machines[in.Name]; m != nil {
		return s.answerExisting(m, in.Type == typeExpress, &in.machineSettings)
	}

	id, err := s.ids.Next()
	if err != nil {
		return nil, err
	}

	m := &machine{
		ID:      id,
		Name:    in.Name,
		Created: s.cfg.Clock.Now().UnixMilli(),
		Logging: in.LoggingConfiguration.stored(),
		Tracing: in.TracingConfiguration, Encryption: in.encryption,
		Tags:    tags{}.with(in.Tags),
		Express: in.Type == typeExpress,
		starts:  &sync.RWMutex{},
	}
	rev := &revision{
		Machine:    m.Name,
		Definition: *in.Definition,
		RoleARN:    *in.RoleArn,
		Updated:    m.Created,
		Express:    m.Express,
		program:    program,
	}
	if err := s.commitMachine(m, rev, &in.machineSettings); err != nil {
		return nil, err
	}

	return s.answerCreated(m, &in.machineSettings), nil
}

func (s *Service) answerCreated(m *machine, in *machineSettings) map[string]any {
	answer := map[string]any{"stateMachineArn": s.account.ARN("stateMachine", m.Name), "creationDate": requests.Stamp(m.Created)}
	if in.Publish {
		answer["stateMachineVersionArn"] = s.account.Version(m.Name, m.versionOf(m.Revision).Number)
	}

	return answer
}

// answerExisting answers the creation of a machine that exists. It succeeds when the definition, the type,
// the configurations and the published version are the same. The role and tags do not count.
// Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_CreateStateMachine.html
func (s *Service) answerExisting(m *machine, express bool, in *machineSettings) (any, error) {
	arn := s.account.ARN("stateMachine", m.Name)
	if m.Deleting {
		return nil, machineDeleting(arn)
	}

	rev, err := s.revision(m.ID, m.Revision)
	if err != nil {
		return nil, err
	}

	v := m.versionOf(m.Revision)

	published := !in.Publish || v != nil && v.Description == in.VersionDescription
	same := rev.Definition == *in.Definition && m.Express == express && m.configuredAs(in)
	if !same || !published {
		return nil, wire.Errorf("StateMachineAlreadyExists", "State Machine Already Exists: '%s'", arn)
	}

	return s.answerCreated(m, in), nil
}

// configuredAs reports whether the machine has the configurations of the settings.
func (m *machine) configuredAs(in *machineSettings) bool {
	logging := (&machine{Logging: in.LoggingConfiguration.stored()}).logging()

	return bytes.Equal(m.logging(), logging) && m.Tracing.described() == in.TracingConfiguration.described() &&
		m.Encryption.described() == in.encryption.described()
}

// commitMachine stores a machine with a new revision, and with a version of it if the
// settings say so. The caller holds s.mu.
func (s *Service) commitMachine(m *machine, rev *revision, in *machineSettings) (err error) {
	if rev.ID, err = s.ids.Next(); err != nil {
		return err
	}

	created := m.Revision == 0
	if m.Revision = rev.ID; created {
		m.FirstRevision = rev.ID
	}

	// The version is published before the record is encoded, because the record holds the versions.
	if err := s.publishUpdate(m, in); err != nil {
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

	b := s.db.NewBatch()
	b.Set(keys.Named(keys.Machine, m.Name), record)
	b.Set(keys.Of(keys.Revision, m.ID, rev.ID), definition)

	if err := b.Commit(); err != nil {
		return fmt.Errorf("store state machine %s: %w", m.Name, err)
	}

	// Memory follows the disk: after a failed commit the old machine is still in place.
	s.machines[m.Name] = m
	s.cacheRevision(rev)

	return nil
}
