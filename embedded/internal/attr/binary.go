package attr

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// binaryVersion is the first byte of an encoded item. DecodeBinary refuses any other.
const binaryVersion byte = 1

// Tags of values on disk. A tag never changes its meaning; new ones go to the end.
const (
	tagString byte = iota + 1
	tagNumber
	tagBinary
	tagFalse
	tagTrue
	tagNull
	tagMap
	tagList
	tagStringSet
	tagNumberSet
	tagBinarySet
)

// AppendBinary appends the item's form on disk: a version byte, the number of attributes,
// then each name and value in the order of the names. Texts and collections start with
// their length. Equal items give equal bytes. It panics on an Invalid value; check with
// Item.Err first.
func AppendBinary(dst []byte, i Item) []byte {
	return appendMap(append(dst, binaryVersion), i)
}

func appendMap(dst []byte, i Item) []byte {
	var buf [namesOnStack]string

	dst = binary.AppendUvarint(dst, uint64(len(i)))
	for _, name := range i.appendNames(buf[:0]) {
		dst = appendText(dst, name)
		dst = appendValue(dst, i[name])
	}

	return dst
}

func appendText(dst []byte, s string) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(s)))
	return append(dst, s...)
}

func appendValue(dst []byte, v Value) []byte {
	switch v.Kind {
	case S:
		return appendText(append(dst, tagString), v.Str)
	case N:
		return appendText(append(dst, tagNumber), v.Str)
	case B:
		return appendText(append(dst, tagBinary), v.Str)
	case BOOL:
		if v.Bool {
			return append(dst, tagTrue)
		}

		return append(dst, tagFalse)
	case NULL:
		return append(dst, tagNull)
	case M:
		return appendMap(append(dst, tagMap), v.Map)
	case L:
		dst = binary.AppendUvarint(append(dst, tagList), uint64(len(v.List)))
		for _, e := range v.List {
			dst = appendValue(dst, e)
		}

		return dst
	case SS:
		return appendMembers(append(dst, tagStringSet), v.Set)
	case NS:
		return appendMembers(append(dst, tagNumberSet), v.Set)
	case BS:
		return appendMembers(append(dst, tagBinarySet), v.Set)
	default:
		panic(fmt.Sprintf("attr: a value of kind %d cannot be stored: %v", v.Kind, v.Err()))
	}
}

func appendMembers(dst []byte, set []string) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(set)))
	for _, m := range set {
		dst = appendText(dst, m)
	}

	return dst
}

// DecodeBinary reads what AppendBinary wrote. It fails on bytes that AppendBinary cannot
// have written. The item does not share b, but all its strings share one copy of b: one
// attribute that stays in memory keeps the whole item there.
func DecodeBinary(b []byte) (Item, error) {
	if len(b) == 0 || b[0] != binaryVersion {
		return nil, errors.New("decode item: not an item of version 1")
	}

	r := binaryReader{rest: string(b[1:])}
	item := r.item(1)
	if r.err == nil && r.rest != "" {
		r.fail("%d bytes follow the item", len(r.rest))
	}

	if r.err != nil {
		return nil, fmt.Errorf("decode item: %w", r.err)
	}

	return item, nil
}

// binaryReader reads an encoded item from its start. After the first fault it has no
// bytes left and returns zero values, so that callers check err once at the end.
type binaryReader struct {
	rest string
	err  error
}

func (r *binaryReader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
	r.rest = ""
}

func (r *binaryReader) byte() byte {
	if r.rest == "" {
		r.fail("it ends early")
		return 0
	}
	c := r.rest[0]
	r.rest = r.rest[1:]

	return c
}

// count reads a length. A length never exceeds the bytes that are left, as each element
// takes at least one: damaged bytes cannot make the reader allocate without bound.
func (r *binaryReader) count() int {
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

	if n > uint64(len(r.rest)) || n > math.MaxInt32 {
		r.fail("a length of %d exceeds what is left", n)
		return 0
	}

	return int(n)
}

func (r *binaryReader) text() string {
	n := r.count()
	s := r.rest[:n]
	r.rest = r.rest[n:]

	return s
}

func (r *binaryReader) item(depth int) Item {
	n := r.count()
	item := make(Item, n)
	last := ""
	for k := 0; k < n && r.err == nil; k++ {
		name := r.text()
		if k > 0 && name <= last {
			r.fail("attribute %q is out of order", name)
		}

		last = name
		item[name] = r.value(depth)
	}

	return item
}

func (r *binaryReader) value(depth int) Value {
	if depth > MaxDepth {
		r.fail("it is nested deeper than %d levels", MaxDepth)
		return Value{}
	}

	switch tag := r.byte(); tag {
	case tagString:
		return Value{Kind: S, Str: r.text()}
	case tagNumber:
		return Value{Kind: N, Str: r.number()}
	case tagBinary:
		return Value{Kind: B, Str: r.text()}
	case tagFalse:
		return Value{Kind: BOOL}
	case tagTrue:
		return Value{Kind: BOOL, Bool: true}
	case tagNull:
		return Value{Kind: NULL, Bool: true}
	case tagMap:
		return Value{Kind: M, Map: r.item(depth + 1)}
	case tagList:
		return r.list(depth)
	case tagStringSet:
		return r.set(SS)
	case tagNumberSet:
		return r.set(NS)
	case tagBinarySet:
		return r.set(BS)
	default:
		r.fail("tag %d is unknown", tag)
		return Value{}
	}
}

func (r *binaryReader) list(depth int) Value {
	n := r.count()
	list := make([]Value, 0, n)
	for k := 0; k < n && r.err == nil; k++ {
		list = append(list, r.value(depth+1))
	}

	return Value{Kind: L, List: list}
}

// number reads a canonical number. It checks the text because the arithmetic panics on
// anything else; the check is cheap for plain integers.
func (r *binaryReader) number() string {
	text := r.text()
	if r.err == nil {
		if n, err := ParseNumber(text); err != nil || n != text {
			r.fail("%q is not a canonical number", text)
			return "0"
		}
	}

	return text
}

func (r *binaryReader) set(kind Kind) Value {
	n := r.count()
	if n == 0 {
		r.fail("a set is empty")
	}

	set := make([]string, 0, n)
	for k := 0; k < n && r.err == nil; k++ {
		m := ""
		if kind == NS {
			m = r.number()
		} else {
			m = r.text()
		}

		if k > 0 && r.err == nil && !ascending(kind, set[k-1], m) {
			r.fail("a set is out of order")
		}

		set = append(set, m)
	}

	return Value{Kind: kind, Set: set}
}

func ascending(kind Kind, a, b string) bool {
	if kind == NS {
		return CompareNumber(a, b) < 0
	}

	return a < b
}
