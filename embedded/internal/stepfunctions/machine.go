package stepfunctions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"ratchet/embedded/internal/stepfunctions/asl"
	"ratchet/embedded/internal/store"
	"ratchet/embedded/internal/wire"
)

// machine is a state machine's record; a change replaces it.
type machine struct {
	ID       uint64          `json:"id"`
	Name     string          `json:"name"`
	Created  int64           `json:"created"`
	Revision uint64          `json:"revision"`
	Logging  json.RawMessage `json:"logging,omitempty"`
	Tracing  json.RawMessage `json:"tracing,omitempty"`
	// Deleting means that no execution starts any more.
	Deleting bool `json:"deleting,omitempty"`
}

// revision is one definition of a machine. Executions stay with the revision
// that they started with.
type revision struct {
	ID         uint64 `json:"id"`
	Machine    string `json:"machine"`
	Definition string `json:"definition"`
	RoleARN    string `json:"role"`
	Updated    int64  `json:"updated"`

	program *asl.Machine
}

// revisionCache is how many compiled definitions are kept at hand.
const revisionCache = 1024

// revision returns a compiled revision.
func (s *Service) revision(machine, id uint64) (*revision, error) {
	s.revisionsMu.RLock()
	rev := s.revisions[id]
	s.revisionsMu.RUnlock()

	if rev != nil {
		return rev, nil
	}

	data, ok, err := s.db.Get(key(keyRevision, machine, id))
	if err == nil && !ok {
		err = errors.New("it is missing")
	}

	rev = &revision{}
	if err == nil {
		err = json.Unmarshal(data, rev)
	}

	if err != nil {
		return nil, fmt.Errorf("read definition %d: %w", id, err)
	}

	program, found := asl.Parse([]byte(rev.Definition))
	if program == nil {
		return nil, fmt.Errorf("read definition %d: %w", id, found.Err())
	}
	rev.program = program
	s.keepRevision(rev)

	return rev, nil
}

func (s *Service) keepRevision(rev *revision) {
	s.revisionsMu.Lock()
	defer s.revisionsMu.Unlock()

	if len(s.revisions) >= revisionCache {
		for id := range s.revisions {
			delete(s.revisions, id)
			break
		}
	}
	s.revisions[rev.ID] = rev
}

// recoverRecords reads machines and activities.
func (s *Service) recoverRecords() error {
	prefix := key(keyMachine)

	err := s.db.Scan(prefix, store.PrefixEnd(prefix), false, func(_, v []byte) (bool, error) {
		m := &machine{}
		err := json.Unmarshal(v, m)
		s.machines[m.Name] = m
		return true, err
	})
	if err != nil {
		return fmt.Errorf("read state machines: %w", err)
	}
	prefix = key(keyActivity)

	err = s.db.Scan(prefix, store.PrefixEnd(prefix), false, func(_, v []byte) (bool, error) {
		a := &activity{}
		err := json.Unmarshal(v, a)
		s.activities[a.Name] = a
		return true, err
	})
	if err != nil {
		return fmt.Errorf("read activities: %w", err)
	}

	return nil
}

// parse compiles a definition or answers InvalidDefinition.
func parse(definition string) (*asl.Machine, error) {
	if len(definition) > asl.MaxDefinition {
		return nil, validation("1 validation error detected: Value at 'definition' failed to satisfy constraint: "+
			"Member must have length less than or equal to %d", asl.MaxDefinition)
	}

	program, found := asl.Parse([]byte(definition))
	if program == nil {
		return nil, wire.Errorf("InvalidDefinition", "%v", found.Err())
	}

	return program, nil
}

// machineSettings are what CreateStateMachine and UpdateStateMachine share.
type machineSettings struct {
	Definition              *string
	RoleArn                 *string
	Publish                 bool
	VersionDescription      string
	EncryptionConfiguration *encryption
	LoggingConfiguration    json.RawMessage
	TracingConfiguration    json.RawMessage
}

// refused answers for what the engine does not have.
func (in *machineSettings) refused() error {
	if in.Publish || in.VersionDescription != "" {
		return validation("versions are not supported by the embedded engine: leave publish and versionDescription out")
	}
	return refuseEncryption(in.EncryptionConfiguration)
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
		return nil, wire.Errorf("StateMachineTypeNotSupported", "the embedded engine supports STANDARD state machines only, not %s", in.Type)
	}

	if err := in.refused(); err != nil {
		return nil, err
	}

	if len(in.Tags) > 0 {
		return nil, validation("tags are not supported by the embedded engine")
	}

	program, err := parse(*in.Definition)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()

	if m := s.machines[in.Name]; m != nil {
		return s.recreated(m, *in.Definition, *in.RoleArn)
	}

	id, err := s.ids.next()
	if err != nil {
		return nil, err
	}

	m := &machine{ID: id, Name: in.Name, Created: time.Now().UnixMilli(), Logging: in.LoggingConfiguration, Tracing: in.TracingConfiguration}
	rev := &revision{Machine: m.Name, Definition: *in.Definition, RoleARN: *in.RoleArn, Updated: m.Created, program: program}
	if err := s.commitMachine(m, rev); err != nil {
		return nil, err
	}

	return map[string]any{"stateMachineArn": s.arn("stateMachine", m.Name), "creationDate": stamp(m.Created)}, nil
}

// recreated answers the creation of a machine that exists.
func (s *Service) recreated(m *machine, definition, role string) (any, error) {
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

// commitMachine stores a machine with a new revision. s.mu is held.
func (s *Service) commitMachine(m *machine, rev *revision) (err error) {
	if rev.ID, err = s.ids.next(); err != nil {
		return err
	}
	m.Revision = rev.ID

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
	s.keepRevision(rev)

	return nil
}

// machineNamed finds a machine by its ARN. Versions and aliases do not exist.
func (s *Service) machineNamed(arn string) (*machine, error) {
	name, ours, err := s.resourceName(arn, "stateMachine")
	if err != nil {
		return nil, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()

	m := s.machines[name]
	if m == nil || !ours {
		return nil, noMachine(arn)
	}

	return m, nil
}

func noMachine(arn string) error {
	return wire.Errorf("StateMachineDoesNotExist", "State Machine Does Not Exist: '%s'", arn)
}

func (s *Service) updateStateMachine(_ context.Context, in *struct {
	machineSettings
	StateMachineArn string
}) (any, error) {
	if err := in.refused(); err != nil {
		return nil, err
	}

	if in.Definition == nil && in.RoleArn == nil && in.LoggingConfiguration == nil && in.TracingConfiguration == nil {
		return nil, wire.Errorf("MissingRequiredParameter", "Either the definition, the role ARN, the logging or the tracing configuration must be specified")
	}

	old, err := s.machineNamed(in.StateMachineArn)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()

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
		if next.program, err = parse(*in.Definition); err != nil {
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

// revisionID is how a revision's number appears outside.
func revisionID(id uint64) string {
	return fmt.Sprintf("00000000-0000-4000-8000-%012x", id)
}

type machineRequest struct{ StateMachineArn string }

func (s *Service) describeStateMachine(_ context.Context, in *machineRequest) (any, error) {
	m, err := s.machineNamed(in.StateMachineArn)
	if err != nil {
		return nil, err
	}

	rev, err := s.revision(m.ID, m.Revision)
	if err != nil {
		return nil, err
	}

	answer := s.definitionAnswer(m, rev)
	answer["creationDate"], answer["type"], answer["status"] = stamp(m.Created), "STANDARD", "ACTIVE"
	if m.Deleting {
		answer["status"] = "DELETING"
	}

	return answer, nil
}

// definitionAnswer holds what both descriptions of a machine say.
func (s *Service) definitionAnswer(m *machine, rev *revision) map[string]any {
	answer := map[string]any{
		"stateMachineArn": s.arn("stateMachine", m.Name), "name": m.Name, "definition": rev.Definition,
		"roleArn": rev.RoleARN, "revisionId": revisionID(rev.ID),
		"loggingConfiguration":    map[string]any{"level": "OFF", "includeExecutionData": false},
		"tracingConfiguration":    map[string]any{"enabled": false},
		"encryptionConfiguration": map[string]any{"type": "AWS_OWNED_KEY"},
	}
	if m.Logging != nil {
		answer["loggingConfiguration"] = m.Logging
	}

	if m.Tracing != nil {
		answer["tracingConfiguration"] = m.Tracing
	}

	return answer
}

func (s *Service) listStateMachines(_ context.Context, in *listRequest) (any, error) {
	s.mu.RLock()

	all := make([]*machine, 0, len(s.machines))
	for _, m := range s.machines {
		all = append(all, m)
	}
	s.mu.RUnlock()

	page, next, err := pageOf(all, in, keyMachine, func(m *machine) (string, uint64) { return m.Name, m.ID })
	if err != nil {
		return nil, err
	}

	list := make([]any, len(page))
	for i, m := range page {
		list[i] = map[string]any{"stateMachineArn": s.arn("stateMachine", m.Name), "name": m.Name, "type": "STANDARD", "creationDate": stamp(m.Created)}
	}

	return struct {
		StateMachines []any   `json:"stateMachines"`
		NextToken     *string `json:"nextToken,omitempty"`
	}{list, next}, nil
}

func (s *Service) validateDefinition(_ context.Context, in *struct {
	Definition string
	Type       string
	Severity   string
	MaxResults int
}) (any, error) {
	if in.Type != "" && in.Type != "STANDARD" {
		return nil, validation("the embedded engine validates STANDARD definitions only, not %s", in.Type)
	}

	size, err := pageSize(min(in.MaxResults, 100))
	if err != nil {
		return nil, err
	}

	_, found := asl.Parse([]byte(in.Definition))
	answer := struct {
		Result      string              `json:"result"`
		Diagnostics []map[string]string `json:"diagnostics"`
		Truncated   bool                `json:"truncated"`
	}{Result: "OK", Diagnostics: []map[string]string{}}
	if found.Err() != nil {
		answer.Result = "FAIL"
	}

	for _, d := range found {
		severity := "ERROR"
		if d.Warning {
			if in.Severity == "ERROR" {
				continue
			}
			severity = "WARNING"
		}

		if len(answer.Diagnostics) == size {
			answer.Truncated = true
			break
		}

		diagnostic := map[string]string{"severity": severity, "code": d.Code, "message": d.Message}
		if d.Location != "" {
			diagnostic["location"] = d.Location
		}
		answer.Diagnostics = append(answer.Diagnostics, diagnostic)
	}

	return answer, nil
}
