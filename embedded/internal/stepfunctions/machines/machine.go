package machines

import (
	"encoding/json"
	"sync"

	"ratchet/embedded/internal/stepfunctions/settings"
	"ratchet/embedded/internal/wire"
)

// Machine is the record of a state machine. It is immutable: a change replaces it.
type Machine struct {
	ID       uint64 `json:"id"`
	Name     string `json:"name"`
	Created  int64  `json:"created"`
	Revision uint64 `json:"revision"`
	Express  bool   `json:"express,omitempty"`
	// FirstRevision is the revision of the creation.
	FirstRevision uint64               `json:"firstRevision,omitempty"`
	Logging       json.RawMessage      `json:"logging,omitempty"`
	Tracing       *settings.Tracing    `json:"tracing,omitempty"`
	Encryption    *settings.Encryption `json:"encryption,omitempty"`
	Tags          settings.Tags        `json:"tags,omitempty"`
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
func (m *Machine) revisionID() string {
	if m.Revision == m.FirstRevision {
		return ""
	}

	return revisionID(m.Revision)
}

// kind returns the machine's type as the service names it.
func (m *Machine) kind() string {
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

// WrongType is the refusal of an operation that the machine's type does not have.
func WrongType() error {
	return wire.Errorf("StateMachineTypeNotSupported", "This operation is not supported by this type of state machine")
}

// Deleting is the refusal of an operation on a machine that is being deleted.
func Deleting(arn string) error {
	return wire.Errorf("StateMachineDeleting", "State Machine is being deleted: '%s'", arn)
}

// WaitForStarts waits for the executions that are starting in a machine
// that is marked as deleting. No others can start.
func (m *Machine) WaitForStarts() {
	m.starts.Lock()
	defer m.starts.Unlock()
}

// logging returns the configuration of the machine's log as DescribeStateMachine shows it.
func (m *Machine) logging() json.RawMessage {
	if m.Logging == nil {
		return (&settings.LoggingRequest{}).Stored()
	}

	return m.Logging
}
