package keys

import (
	"encoding/binary"

	"ratchet/embedded/internal/stepfunctions/execution"
	"ratchet/embedded/internal/store"
)

// The second byte of every key.
const (
	sequenceRecord byte = 'c' // the highest number that is reserved
	Machine        byte = 'm' // name -> machine record
	Revision       byte = 'r' // revision -> definition
	Activity       byte = 'v' // name -> activity record
	// Lists in machine records, for the tokens of their pages.
	Versions byte = 'V'
	Aliases  byte = 'A'
	// Keys under a machine's number.
	Name    byte = 'n' // machine, execution name -> execution number
	Running byte = 'a' // machine, execution -> state of a running execution
	Ended   byte = 'x' // machine, execution -> state of an ended execution
	Status  byte = 'l' // machine, status, execution -> nothing
	History byte = 'h' // machine, execution, first event -> events of one turn
	Express byte = 'e' // machine, execution -> record of an Express execution that has not ended
	MapRun  byte = 'u' // machine, Map Run -> its record
	RunOf   byte = 'U' // machine, execution, Map Run -> nothing
)

// Execution identifies an execution by the number of its machine and its own. For a child of a Map Run,
// Machine is the number of the Map Run.
type Execution struct{ Machine, ID uint64 }

// Of returns the key of a kind with numbers.
func Of(kind byte, parts ...uint64) []byte {
	b := make([]byte, 2, 2+8*len(parts))
	b[0], b[1] = store.PrefixStepFunctions, kind
	for _, p := range parts {
		b = binary.BigEndian.AppendUint64(b, p)
	}

	return b
}

// Named returns the key of a kind with a name.
func Named(kind byte, name string) []byte { return append(Of(kind), name...) }

// ExecutionName returns the key under which an execution is found by its name.
func ExecutionName(machine uint64, name string) []byte {
	return append(Of(Name, machine), name...)
}

// ChildName returns the key of the name of an execution that a Map Run has started; the
// label is "" for other executions.
func ChildName(machine uint64, label, name string) []byte {
	if label == "" {
		return ExecutionName(machine, name)
	}

	return ExecutionName(machine, label+"/"+name)
}

// Numbers returns the value under the name of a child of a Map Run: both numbers. Under other names there is
// only the execution's number.
func (k Execution) Numbers() []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, k.Machine), k.ID)
}

// Running returns the key of the state of an execution that runs.
func (k Execution) Running() []byte { return Of(Running, k.Machine, k.ID) }

// Ended returns the key of the state of an execution that has ended.
func (k Execution) Ended() []byte { return Of(Ended, k.Machine, k.ID) }

// Express returns the key of the record of an Express execution.
func (k Execution) Express() []byte { return Of(Express, k.Machine, k.ID) }

// Status returns the key that lists an ended execution under its status.
func (k Execution) Status(s execution.Status) []byte {
	b := append(Of(Status, k.Machine), byte(s))
	return binary.BigEndian.AppendUint64(b, k.ID)
}

// History returns the key of the turn whose first event is chunk.
func (k Execution) History(chunk int64) []byte {
	return Of(History, k.Machine, k.ID, uint64(chunk))
}

// Number returns the number at the end of a key.
func Number(k []byte) uint64 { return binary.BigEndian.Uint64(k[len(k)-8:]) }

// ExecutionAt returns the execution whose numbers are at the end of a key.
func ExecutionAt(k []byte) Execution { return Execution{Machine: Number(k[:len(k)-8]), ID: Number(k)} }

// Run identifies a Map Run by the numbers of its machine and its own. In the keys of its executions the
// Map Run's number stands in the place of the machine's number, so that they are listed by Map Run and not
// among the machine's own executions.
type Run struct{ Machine, ID uint64 }

// RunAt returns the Map Run whose numbers are at the end of a key.
func RunAt(k []byte) Run { return Run{Machine: Number(k[:len(k)-8]), ID: Number(k)} }

// Record returns the key of the record of a Map Run.
func (k Run) Record() []byte { return Of(MapRun, k.Machine, k.ID) }

// OfExecution returns the key under which the Map Runs of an execution are listed.
func (k Run) OfExecution(parent Execution) []byte {
	return Of(RunOf, parent.Machine, parent.ID, k.ID)
}
