package stepfunctions

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"ratchet/embedded/internal/wire"
)

// machineSettings are the parameters that CreateStateMachine and UpdateStateMachine share.
type machineSettings struct {
	Definition              *string
	RoleArn                 *string
	Publish                 bool
	VersionDescription      string
	EncryptionConfiguration *encryption
	LoggingConfiguration    json.RawMessage
	TracingConfiguration    json.RawMessage
}

// checkSupported fails for settings that the engine does not support.
func (in *machineSettings) checkSupported() error {
	if in.Publish || in.VersionDescription != "" {
		return validation("versions are not supported by the embedded engine: leave publish and versionDescription out")
	}

	return checkEncryption(in.EncryptionConfiguration)
}

func (s *Service) createStateMachine(_ context.Context, in *struct {
	machineSettings
	Name string
	Type string
	Tags tags
}) (any, error) {
	if err := checkName(in.Name); err != nil {
		return nil, err
	}

	if in.Definition == nil || in.RoleArn == nil || *in.RoleArn == "" {
		return nil, validation("1 validation error detected: definition and roleArn are required")
	}

	if in.Type != "" && in.Type != "STANDARD" {
		return nil, wire.Errorf("StateMachineTypeNotSupported",
			"the embedded engine supports STANDARD state machines only, not %s", in.Type)
	}

	if err := in.checkSupported(); err != nil {
		return nil, err
	}

	if len(in.Tags) > 0 {
		return nil, validation("tags are not supported by the embedded engine")
	}

	program, err := parseDefinition(*in.Definition)
	if err != nil {
		return nil, err
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	if m := s.machines[in.Name]; m != nil {
		return s.answerExisting(m, *in.Definition, *in.RoleArn)
	}

	id, err := s.ids.next()
	if err != nil {
		return nil, err
	}

	m := &machine{
		ID:      id,
		Name:    in.Name,
		Created: time.Now().UnixMilli(),
		Logging: in.LoggingConfiguration,
		Tracing: in.TracingConfiguration,
	}
	rev := &revision{
		Machine:    m.Name,
		Definition: *in.Definition,
		RoleARN:    *in.RoleArn,
		Updated:    m.Created,
		program:    program,
	}
	if err := s.commitMachine(m, rev); err != nil {
		return nil, err
	}

	return map[string]any{"stateMachineArn": s.arn("stateMachine", m.Name), "creationDate": stamp(m.Created)}, nil
}

// answerExisting answers the creation of a machine that exists: it succeeds when the
// definition and the role are the same.
func (s *Service) answerExisting(m *machine, definition, role string) (any, error) {
	arn := s.arn("stateMachine", m.Name)
	if m.Deleting {
		return nil, wire.Errorf("StateMachineDeleting", "State Machine is being deleted: '%s'", arn)
	}

	rev, err := s.revision(m.ID, m.Revision)
	if err != nil {
		return nil, err
	}

	if rev.Definition != definition || rev.RoleARN != role {
		return nil, wire.Errorf("StateMachineAlreadyExists", "State Machine Already Exists: '%s'", arn)
	}

	return map[string]any{"stateMachineArn": arn, "creationDate": stamp(m.Created)}, nil
}

// commitMachine stores a machine with a new revision. The caller holds s.mu.
func (s *Service) commitMachine(m *machine, rev *revision) (err error) {
	if rev.ID, err = s.ids.next(); err != nil {
		return err
	}

	created := m.Revision == 0
	if m.Revision = rev.ID; created {
		m.FirstRevision = rev.ID
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
	b.Set(nameKey(keyMachine, m.Name), record)
	b.Set(key(keyRevision, m.ID, rev.ID), definition)

	if err := b.Commit(); err != nil {
		return fmt.Errorf("store state machine %s: %w", m.Name, err)
	}

	s.machines[m.Name] = m
	s.cacheRevision(rev)

	return nil
}
