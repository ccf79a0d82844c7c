package execution

import (
	"encoding/binary"
	"errors"
)

var errCorrupt = errors.New("stored execution is damaged")

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendRef(b []byte, r Ref) []byte {
	return binary.AppendVarint(binary.AppendVarint(b, r.Chunk), r.ID-r.Chunk)
}

// reader reads values from a stored form. After a fault it returns zero values and bad is
// set, so that callers check once at the end.
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
	// n is 0 if the bytes end too early, and negative for a number that is too large.
	v, n := binary.Varint(r.b)
	if n <= 0 {
		r.bad = true
		return 0
	}

	r.b = r.b[n:]

	return v
}

func (r *reader) uint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.bad = true
		return 0
	}

	r.b = r.b[n:]

	return v
}

// count reads the number of things that take at least one byte each. Damaged bytes cannot
// make it exceed the bytes that are left.
func (r *reader) count() int {
	v := r.uint()
	if v > uint64(len(r.b)) {
		r.bad = true
		return 0
	}

	return int(v)
}

func (r *reader) text() string {
	n := r.count()
	s := string(r.b[:n])
	r.b = r.b[n:]

	return s
}

func (r *reader) bytes() []byte {
	n := r.count()
	b := r.b[:n:n]
	r.b = r.b[n:]

	return b
}

func (r *reader) ref() Ref {
	chunk := r.int()
	return Ref{Chunk: chunk, ID: chunk + r.int()}
}
