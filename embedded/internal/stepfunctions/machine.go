package stepfunctions

import (
	"encoding/json"
	"sync"

	"ratchet/embedded/internal/wire"
)

// machine is the record of a state machine. It is immutable: a change replaces it.
type machine struct {
	ID       uint64 `json:"id"`
	Name     string `json:"name"`
	Created  int64  `json:"created"`
	Revision uint64 `json:"revision"`
	Express  bool   `json:"express,omitempty"`
	// FirstRevision is the revision of the creation.
	FirstRevision uint64          `json:"firstRevision,omitempty"`
	Logging       json.RawMessage `json:"logging,omitempty"`
	Tracing       *tracing        `json:"tracing,omitempty"`
	Encryption    *encryption     `json:"encryption,omitempty"`
	Tags          tags            `json:"tags,omitempty"`
	// Versions are in the order of their numbers, of which LastVersion is the newest.
	Versions    []version `json:"versions,omitempty"`
	LastVersion uint64    `json:"lastVersion,omitempty"`
	Aliases     []alias   `json:"aliases,omitempty"`
	// Deleting refuses new executions.
	Deleting bool `json:"deleting,omitempty"`

	// starts is held for reading while an execution starts. All copies of the machine share it.
	starts *sync.RWMutex
}

// revisionID returns the id of the current revision, "" before the first update.
func (m *machine) revisionID() string {
	if m.Revision == m.FirstRevision {
		return ""
	}

	return revisionID(m.Revision)
}

// machineNamed returns the machine with an ARN, which must not be the ARN of a version or alias.
func (s *Service) machineNamed(arn string) (*machine, error) {
	name, ours, err := s.account.Name(arn, "stateMachine")
	if err != nil {
		return nil, err
	}

	m := s.lookup(name)
	if m == nil || !ours {
		return nil, machineDoesNotExist(arn)
	}

	return m, nil
}

func machineDoesNotExist(arn string) error {
	return wire.Errorf("StateMachineDoesNotExist", "State Machine Does Not Exist: '%s'", arn)
}

// kind returns the machine's type as the service names it.
func (m *machine) kind() string {
	if m.Express {
		return typeExpress
	}

	return typeStandard
}

// The types of machines.
const (
	typeStandard = "STANDARD"
	typeExpress  = "EXPRESS"
)

// wrongType is the refusal of an operation that the machine's type does not have.
func wrongType() error {
	return wire.Errorf("StateMachineTypeNotSupported", "This operation is not supported by this type of state machine")
}

func machineDeleting(arn string) error {
	return wire.Errorf("StateMachineDeleting", "State Machine is being deleted: '%s'", arn)
}

type machineRequest struct{ StateMachineArn string }

// lookup returns the machine with the name, nil if there is none.
func (s *Service) lookup(name string) *machine {
	s.mu.RLock()
	defer s.mu.RUnlock()

	return s.machines[name]
}

// hold keeps a machine while an execution starts in it or runs again, until release is called. held is
// false if the machine is being deleted or is gone. A start may take long because of its expressions.
// Meanwhile only the deletion of this machine waits.
func (s *Service) hold(m *machine) (release func(), held bool) {
	if m.Deleting {
		return nil, false
	}
	m.starts.RLock()

	// m may be an old copy. The deletion marks the machine before it waits
	// for the starts, so this look sees the mark.
	if now := s.lookup(m.Name); now == nil || now.ID != m.ID || now.Deleting {
		m.starts.RUnlock()
		return nil, false
	}

	return m.starts.RUnlock, true
}

// waitForStarts waits for the executions that are starting in a machine
// that is marked as deleting. No others can start.
func (m *machine) waitForStarts() {
	m.starts.Lock()
	defer m.starts.Unlock()
}
