package attr

import (
	"errors"
	"fmt"
	"math"
)

// binaryReader reads an encoded item from its start, and checks it. After the first fault it has no
// bytes left and returns zero values, so that callers check err once at the end. The texts that it
// returns share the memory of left.
type binaryReader struct {
	left string // what comes next
	err  error
}

// end returns the first fault. Bytes after the item are a fault, too.
func (r *binaryReader) end() error {
	if r.err == nil && r.left != "" {
		r.fail("%d bytes follow the item", len(r.left))
	}

	if r.err != nil {
		return fmt.Errorf("decode item: %w", r.err)
	}

	return nil
}

func (r *binaryReader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
	r.left = ""
}

var errEarly = errors.New("it ends early")

func (r *binaryReader) byte() byte {
	if r.left == "" {
		if r.err == nil {
			r.err = errEarly
		}

		return 0
	}
	c := r.left[0]
	r.left = r.left[1:]

	return c
}

// count reads a length. A length never exceeds the bytes that are left, as each element
// takes at least one: damaged bytes cannot make the reader allocate without bound.
func (r *binaryReader) count() int {
	var n uint64
	for shift := uint(0); ; shift += 7 {
		if shift > 28 {
			r.fail("a length has more than 5 bytes")
			return 0
		}

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

	if n > uint64(len(r.left)) || n > math.MaxInt32 {
		r.fail("a length of %d exceeds what is left", n)
		return 0
	}

	return int(n)
}

// elements reads the number of values in a map or a list. depth is the depth of these values.
func (r *binaryReader) elements(depth int) int {
	n := r.count()

	// Without elements there is nothing at that depth.
	if n > 0 && depth > MaxDepth {
		r.fail("it is nested deeper than %d levels", MaxDepth)
		return 0
	}

	return n
}

func (r *binaryReader) text() string {
	// Most lengths are one byte.
	if left := r.left; left != "" {
		if n := int(left[0]); n < 0x80 && n < len(left) {
			r.left = left[1+n:]
			return left[1 : 1+n]
		}
	}

	n := r.count()
	text := r.left[:n]
	r.left = r.left[n:]

	return text
}

// unknown reports a tag that stands for nothing.
func (r *binaryReader) unknown(tag byte) { r.fail("tag %d is unknown", tag) }

// members reads how many members a set has.
func (r *binaryReader) members() int {
	n := r.count()
	if n == 0 {
		r.fail("a set is empty")
	}

	return n
}

// number reads a canonical number. It checks the text because the arithmetic panics on
// anything else; the check is cheap for plain integers.
func (r *binaryReader) number() string {
	text := r.text()
	if r.err != nil || plainInteger(text) {
		return text
	}

	if n, err := ParseNumber(text); err != nil || n != text {
		r.fail("%q is not a canonical number", text)
		return "0"
	}

	return text
}

// checkOrder checks that the name of attribute k comes after the last name.
func (r *binaryReader) checkOrder(k int, last, name string) {
	// Most names differ in the first letter, which takes less time than to compare them as a whole.
	if k > 0 && (name == "" || last == "" || name[0] <= last[0]) && name <= last {
		r.fail("attribute %q is out of order", name)
	}
}

// checkAscending checks two members of a set that follow each other.
func (r *binaryReader) checkAscending(kind Kind, a, b string) {
	if r.err == nil && !ascending(kind, a, b) {
		r.fail("a set is out of order")
	}
}

func ascending(kind Kind, a, b string) bool {
	if kind == NS {
		return compareNumber(a, b) < 0
	}

	return a < b
}
