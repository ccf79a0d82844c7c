package attr

import (
	"fmt"
	"math"
)

// binaryReader reads an encoded item from its start, and checks it. After the first fault it has
// no bytes left and returns zero values, so that callers check err once at the end. What it reads
// of a string shares the string; of bytes, it must not be kept.
type binaryReader[T string | []byte] struct {
	all T
	at  int // of what comes next
	err error
}

// end returns the first fault. Bytes after the item are one.
func (r *binaryReader[T]) end() error {
	if left := len(r.all) - r.at; r.err == nil && left > 0 {
		r.fail("%d bytes follow the item", left)
	}

	if r.err != nil {
		return fmt.Errorf("decode item: %w", r.err)
	}

	return nil
}

func (r *binaryReader[T]) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
	r.at = len(r.all)
}

func (r *binaryReader[T]) byte() byte {
	if r.at >= len(r.all) {
		r.fail("it ends early")
		return 0
	}
	c := r.all[r.at]
	r.at++

	return c
}

// count reads a length. A length never exceeds the bytes that are left, as each element
// takes at least one: damaged bytes cannot make the reader allocate without bound.
func (r *binaryReader[T]) count() int {
	var n uint64
	for shift := uint(0); shift < 64; shift += 7 {
		c := r.byte()
		n |= uint64(c&0x7F) << shift

		if c < 0x80 {
			// One value has one encoding, so that equal items have equal bytes.
			if c == 0 && shift > 0 {
				r.fail("a length is written with more bytes than it needs")
			}

			break
		}
	}

	if n > uint64(len(r.all)-r.at) || n > math.MaxInt32 {
		r.fail("a length of %d exceeds what is left", n)
		return 0
	}

	return int(n)
}

func (r *binaryReader[T]) text() T {
	n := r.count()
	r.at += n

	return r.all[r.at-n : r.at]
}

// tag reads what kind of value comes next, at that depth.
func (r *binaryReader[T]) tag(depth int) byte {
	if depth > MaxDepth {
		r.fail("it is nested deeper than %d levels", MaxDepth)
		return 0
	}

	return r.byte()
}

// unknown is the fault of a tag that is none.
func (r *binaryReader[T]) unknown(tag byte) { r.fail("tag %d is unknown", tag) }

// members reads how many members a set has.
func (r *binaryReader[T]) members() int {
	n := r.count()
	if n == 0 {
		r.fail("a set is empty")
	}

	return n
}

// number reads a canonical number. It checks the text because the arithmetic panics on
// anything else; the check is cheap for plain integers.
func (r *binaryReader[T]) number() T {
	text := r.text()
	if r.err != nil || plainInteger(text) {
		return text
	}

	if n, err := ParseNumber(string(text)); err != nil || n != string(text) {
		r.fail("%q is not a canonical number", text)
		return T("0")
	}

	return text
}

// checkOrder checks the name of attribute k, which comes after that of the one before.
func (r *binaryReader[T]) checkOrder(k int, last, name T) {
	if k > 0 && string(name) <= string(last) {
		r.fail("attribute %q is out of order", name)
	}
}

// checkAscending checks two members of a set that follow each other.
func (r *binaryReader[T]) checkAscending(kind Kind, a, b T) {
	if r.err == nil && !ascending(kind, a, b) {
		r.fail("a set is out of order")
	}
}

func ascending[T string | []byte](kind Kind, a, b T) bool {
	if kind == NS {
		return CompareNumber(string(a), string(b)) < 0
	}

	return string(a) < string(b)
}
