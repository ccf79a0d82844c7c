package execution

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"ratchet/embedded/internal/stepfunctions/asl"
)

// EventType is the type of a history event.
type EventType byte

// The types of events. The order is part of the stored form: only append.
const (
	ExecutionStarted EventType = iota + 1
	ExecutionSucceeded
	ExecutionFailed
	ExecutionAborted
	ExecutionTimedOut
	ExecutionRedriven
	ActivityScheduled
	ActivityStarted
	ActivitySucceeded
	ActivityFailed
	ActivityTimedOut
	MapIterationStarted
	MapIterationSucceeded
	MapIterationFailed
	MapIterationAborted
	MapStateStarted
	MapStateSucceeded
	MapStateFailed
	MapStateAborted
	ParallelStateStarted
	ParallelStateSucceeded
	ParallelStateFailed
	ParallelStateAborted
	TaskStateAborted
	WaitStateAborted
	// StateEntered and StateExited are named after their state's kind.
	StateEntered
	StateExited
)

var eventNames = [...]string{
	ExecutionStarted: "ExecutionStarted", ExecutionSucceeded: "ExecutionSucceeded", ExecutionFailed: "ExecutionFailed",
	ExecutionAborted: "ExecutionAborted", ExecutionTimedOut: "ExecutionTimedOut", ExecutionRedriven: "ExecutionRedriven",
	ActivityScheduled: "ActivityScheduled", ActivityStarted: "ActivityStarted", ActivitySucceeded: "ActivitySucceeded",
	ActivityFailed: "ActivityFailed", ActivityTimedOut: "ActivityTimedOut",
	MapIterationStarted: "MapIterationStarted", MapIterationSucceeded: "MapIterationSucceeded",
	MapIterationFailed: "MapIterationFailed", MapIterationAborted: "MapIterationAborted",
	MapStateStarted: "MapStateStarted", MapStateSucceeded: "MapStateSucceeded", MapStateFailed: "MapStateFailed",
	MapStateAborted: "MapStateAborted", ParallelStateStarted: "ParallelStateStarted",
	ParallelStateSucceeded: "ParallelStateSucceeded", ParallelStateFailed: "ParallelStateFailed",
	ParallelStateAborted: "ParallelStateAborted", TaskStateAborted: "TaskStateAborted", WaitStateAborted: "WaitStateAborted",
	StateEntered: "StateEntered", StateExited: "StateExited",
}

// Ref says where a document stands in the history: in event ID, which was
// written with the turn whose first event is Chunk. The zero Ref is no place.
type Ref struct{ Chunk, ID int64 }

// Doc is a JSON document and where the history holds it.
type Doc struct {
	JSON []byte
	Ref  Ref
}

// Event is one event of an execution's history.
type Event struct {
	// ID counts from 1. Prev is the event before it on the same thread, or 0.
	ID, Prev int64
	// At is in milliseconds since 1970.
	At   int64
	Type EventType
	// State is the state's ordinal in the machine, or -1.
	State int
	// Index is a map iteration's index, a map's length or a redrive's count.
	Index int
	// Doc is the event's input or output; JSON is nil in a stored event that
	// refers to another.
	Doc *Doc
	// Timeout and Heartbeat are in seconds, 0 when there is none.
	Timeout, Heartbeat   int64
	Worker, Error, Cause string
}

// Name returns the type of the event as AWS names it.
func (e *Event) Name(m *asl.Machine) string {
	name := eventNames[e.Type]
	if (e.Type == StateEntered || e.Type == StateExited) && e.State >= 0 {
		return m.States[e.State].Kind.String() + name
	}

	return name
}

// AppendEvents appends the stored form of one turn's events.
func AppendEvents(dst []byte, events []Event) []byte {
	size := 0
	for i := range events {
		if e := &events[i]; e.Doc != nil && e.Doc.Ref.ID == e.ID {
			size += len(e.Doc.JSON)
		}
		size += eventSize
	}

	dst = slices.Grow(dst, size)
	for i := range events {
		at := len(dst)
		dst = appendEvent(append(dst, 0, 0, 0, 0), &events[i])
		binary.BigEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	}

	return dst
}

// eventSize is about what an event takes beside its document.
const eventSize = 48

func appendEvent(b []byte, e *Event) []byte {
	b = append(b, byte(e.Type))
	b = binary.AppendVarint(b, e.ID-e.Prev)
	b = binary.AppendVarint(b, e.At)
	b = binary.AppendVarint(b, int64(e.State))
	b = binary.AppendVarint(b, int64(e.Index))
	b = binary.AppendVarint(b, e.Timeout)
	b = binary.AppendVarint(b, e.Heartbeat)

	b = appendText(b, e.Worker)
	b = appendText(b, e.Error)
	b = appendText(b, e.Cause)
	switch {
	case e.Doc == nil:
		return append(b, 0)
	case e.Doc.Ref.ID == e.ID:
		return append(append(b, 1), e.Doc.JSON...)
	default:
		return appendRef(append(b, 2), e.Doc.Ref)
	}
}

// ReadEvents calls fn for each event of a stored turn until fn returns false.
// Documents share memory with data; e is reused.
func ReadEvents(chunk int64, data []byte, fn func(e *Event) bool) error {
	var e Event
	for id := chunk; len(data) > 0; id++ {
		if len(data) < 4 {
			return errCorrupt
		}

		n := int(binary.BigEndian.Uint32(data))
		if data = data[4:]; n > len(data) {
			return errCorrupt
		}
		r := reader{b: data[:n]}
		e = Event{ID: id, Type: EventType(r.byte())}
		e.Prev = id - r.int()
		e.At = r.int()

		e.State, e.Index = int(r.int()), int(r.int())
		e.Timeout, e.Heartbeat = r.int(), r.int()
		e.Worker, e.Error, e.Cause = r.text(), r.text(), r.text()
		switch r.byte() {
		case 1:
			e.Doc = &Doc{JSON: r.b, Ref: Ref{Chunk: chunk, ID: id}}
		case 2:
			e.Doc = &Doc{Ref: r.ref()}
		}

		if r.bad || int(e.Type) >= len(eventNames) {
			return errCorrupt
		}

		if !fn(&e) {
			return nil
		}
		data = data[n:]
	}

	return nil
}

// FindDocument returns the document that event id holds in a stored turn.
func FindDocument(ref Ref, data []byte) ([]byte, error) {
	for id := ref.Chunk; len(data) >= 4; id++ {
		n := int(binary.BigEndian.Uint32(data))
		if n > len(data)-4 {
			return nil, errCorrupt
		}

		if id == ref.ID {
			var doc []byte
			err := ReadEvents(id, data[:4+n], func(e *Event) bool {
				if e.Doc != nil {
					doc = e.Doc.JSON
				}
				return false
			})
			if err == nil && doc == nil {
				err = fmt.Errorf("event %d holds no document: %w", id, errCorrupt)
			}

			return doc, err
		}
		data = data[4+n:]
	}

	return nil, fmt.Errorf("event %d is not in the turn at %d: %w", ref.ID, ref.Chunk, errCorrupt)
}

var errCorrupt = errors.New("stored execution is damaged")

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendRef(b []byte, r Ref) []byte {
	return binary.AppendVarint(binary.AppendVarint(b, r.Chunk), r.ID-r.Chunk)
}

// reader takes values from a stored form; after a fault it gives zeros and bad is set.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) byte() byte {
	if len(r.b) == 0 {
		r.bad = true
		return 0
	}
	c := r.b[0]
	r.b = r.b[1:]

	return c
}

func (r *reader) int() int64 {
	v, n := binary.Varint(r.b)
	if n <= 0 {
		r.bad = true
		return 0
	}
	r.b = r.b[n:]

	return v
}

// count reads a length of things that take at least one byte each.
func (r *reader) count() int {
	v, n := binary.Uvarint(r.b)
	if n <= 0 || v > uint64(len(r.b)-n) {
		r.bad = true
		return 0
	}
	r.b = r.b[n:]

	return int(v)
}

func (r *reader) text() string {
	n := r.count()
	s := string(r.b[:n])
	r.b = r.b[n:]
	return s
}

func (r *reader) ref() Ref {
	chunk := r.int()
	return Ref{Chunk: chunk, ID: chunk + r.int()}
}
