package stepfunctions

import (
	"encoding/binary"

	"ratchet/embedded/internal/stepfunctions/execution"
	"ratchet/embedded/internal/store"
)

// The second byte of every key. Numbers in keys are big-endian, so that keys sort by them.
const (
	keySequence byte = 'c' // the highest number that is reserved
	keyMachine  byte = 'm' // name -> machine record
	keyRevision byte = 'r' // revision -> definition
	keyActivity byte = 'v' // name -> activity record
	// Lists in machine records, for the tokens of their pages.
	keyVersions byte = 'V'
	keyAliases  byte = 'A'
	// Keys under a machine's number.
	keyName    byte = 'n' // machine, execution name -> execution number
	keyRunning byte = 'a' // machine, execution -> state of a running execution
	keyEnded   byte = 'x' // machine, execution -> state of an ended execution
	keyStatus  byte = 'l' // machine, status, execution -> nothing
	keyHistory byte = 'h' // machine, execution, first event -> events of one turn
	keyExpress byte = 'e' // machine, execution -> record of an Express execution that has not ended
	keyMapRun  byte = 'u' // machine, Map Run -> its record
	keyRunOf   byte = 'U' // machine, execution, Map Run -> nothing
)

// executionKey identifies an execution by numbers, which grow and are never reused. machine is the number
// of the machine. For a child of a Map Run, it is the number of the Map Run.
type executionKey struct{ machine, id uint64 }

func key(kind byte, parts ...uint64) []byte {
	b := make([]byte, 2, 2+8*len(parts))
	b[0], b[1] = store.PrefixStepFunctions, kind
	for _, p := range parts {
		b = binary.BigEndian.AppendUint64(b, p)
	}

	return b
}

func nameKey(kind byte, name string) []byte { return append(key(kind), name...) }

func executionNameKey(machine uint64, name string) []byte {
	return append(key(keyName, machine), name...)
}

// named returns the value under the name of a child of a Map Run: both numbers. Under other names there is
// only the execution's number.
func (k executionKey) named() []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, k.machine), k.id)
}

func (k executionKey) running() []byte { return key(keyRunning, k.machine, k.id) }
func (k executionKey) ended() []byte   { return key(keyEnded, k.machine, k.id) }

func (k executionKey) status(s execution.Status) []byte {
	b := append(key(keyStatus, k.machine), byte(s))
	return binary.BigEndian.AppendUint64(b, k.id)
}

func (k executionKey) history(chunk int64) []byte {
	return key(keyHistory, k.machine, k.id, uint64(chunk))
}

// number returns the number at the end of a key.
func number(k []byte) uint64 { return binary.BigEndian.Uint64(k[len(k)-8:]) }
