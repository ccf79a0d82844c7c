package execution

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// How the document of a stored event is written.
const (
	docNone byte = iota
	docHere      // the rest of the event's bytes
	docRef       // a Ref to the event that holds it
	// docAssigned is added to one of these if variables come before the document.
	docAssigned byte = 1 << 4
)

// AppendEvents appends the stored form of one turn's events: for each its length in four
// bytes, then its fields.
func AppendEvents(dst []byte, events []Event) []byte {
	size := 0
	for i := range events {
		if e := &events[i]; e.Doc != nil && e.Doc.Ref.ID == e.ID {
			size += len(e.Doc.JSON)
		}

		size += eventSize + len(events[i].Assigned)
	}

	dst = slices.Grow(dst, size)
	for i := range events {
		at := len(dst)
		// Room for the length, which is known only afterwards.
		dst = appendEvent(append(dst, 0, 0, 0, 0), &events[i])
		binary.BigEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	}

	return dst
}

// eventSize is the usual size of a stored event without its document, in bytes.
const eventSize = 48

func appendEvent(b []byte, e *Event) []byte {
	b = append(b, byte(e.Type))
	// Differences and small numbers are short as varints.
	b = binary.AppendVarint(b, e.ID-e.Prev)
	b = binary.AppendVarint(b, e.At)
	b = binary.AppendVarint(b, int64(e.State))
	b = binary.AppendVarint(b, int64(e.Index))
	b = binary.AppendVarint(b, e.Timeout)
	b = binary.AppendVarint(b, e.Heartbeat)

	b = appendText(b, e.Worker)
	b = appendText(b, e.Error)
	b = appendText(b, e.Cause)

	how := docNone
	switch {
	case e.Doc == nil:
	case e.Doc.Ref.ID == e.ID:
		how = docHere
	default:
		how = docRef
	}

	if e.Assigned == nil {
		b = append(b, how)
	} else {
		b = append(b, how|docAssigned)
		b = append(binary.AppendUvarint(b, uint64(len(e.Assigned))), e.Assigned...)
	}

	switch how {
	case docHere:
		return append(b, e.Doc.JSON...)
	case docRef:
		return appendRef(b, e.Doc.Ref)
	default:
		return b
	}
}

// ReadEvents calls fn for each event of the stored turn whose first event is chunk, until fn returns
// false. Documents share memory with data, and e is reused: fn copies the parts that it keeps.
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

		how := r.byte()
		if how&docAssigned != 0 {
			e.Assigned = r.bytes()
		}

		switch how &^ docAssigned {
		case docHere:
			e.Doc = &Doc{JSON: r.b, Ref: Ref{Chunk: chunk, ID: id}}
		case docRef:
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

// FindDocument returns a document from data, the stored turn that ref.Chunk names.
func FindDocument(ref Ref, data []byte) ([]byte, error) {
	return find(ref, data, func(e *Event) []byte {
		if e.Doc == nil {
			return nil
		}

		return e.Doc.JSON
	})
}

// FindAssigned returns the variables that an event assigns, as FindDocument returns its
// document.
func FindAssigned(ref Ref, data []byte) ([]byte, error) {
	return find(ref, data, func(e *Event) []byte { return e.Assigned })
}

// find returns what the function of returns for the event at ref. data is the stored turn
// with the event.
func find(ref Ref, data []byte, of func(*Event) []byte) ([]byte, error) {
	for id := ref.Chunk; len(data) >= 4; id++ {
		n := int(binary.BigEndian.Uint32(data))
		if n > len(data)-4 {
			return nil, errCorrupt
		}

		// The events before it are skipped by their length, without decoding.
		if id == ref.ID {
			var found []byte
			// With id in the place of the chunk, only the Ref of the
			// event is wrong, which nothing reads here.
			err := ReadEvents(id, data[:4+n], func(e *Event) bool {
				found = of(e)
				return false
			})
			if err == nil && found == nil {
				err = fmt.Errorf("event %d holds no such document: %w", id, errCorrupt)
			}

			return found, err
		}

		data = data[4+n:]
	}

	return nil, fmt.Errorf("event %d is not in the turn at %d: %w", ref.ID, ref.Chunk, errCorrupt)
}
