package attr

import (
	"encoding/binary"
	"errors"
	"fmt"
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

	// In the order of the names, so that equal items have equal bytes.
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
	// A NULL is always true.
	case NULL:
		return append(dst, tagNull)
	case M:
		return appendMap(append(dst, tagMap), v.Map)
	case L:
		dst = binary.AppendUvarint(append(dst, tagList), uint64(len(v.List())))
		for _, e := range v.List() {
			dst = appendValue(dst, e)
		}

		return dst
	case SS:
		return appendMembers(append(dst, tagStringSet), v.Set())
	case NS:
		return appendMembers(append(dst, tagNumberSet), v.Set())
	case BS:
		return appendMembers(append(dst, tagBinarySet), v.Set())
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

var errVersion = errors.New("decode item: not an item of version 1")

// DecodeBinary reads what AppendBinary wrote. It fails on bytes that AppendBinary cannot
// have written. The item does not share b, but all its strings share one copy of b: one
// attribute that stays in memory keeps the whole item there.
func DecodeBinary(b []byte) (Item, error) {
	if len(b) == 0 || b[0] != binaryVersion {
		return nil, errVersion
	}

	r := itemReader{binaryReader{left: string(b[1:])}}
	item := r.item(1)

	if err := r.end(); err != nil {
		return nil, err
	}

	return item, nil
}

// itemReader builds an item from its encoding.
type itemReader struct{ binaryReader }

func (r *itemReader) item(depth int) Item {
	n := r.elements(depth)

	// Damaged bytes cannot make n large: see binaryReader.count.
	item := make(Item, n)
	last := ""
	for k := 0; k < n && r.err == nil; k++ {
		name := r.text()
		r.checkOrder(k, last, name)
		last = name
		item[name] = r.value(depth)
	}

	return item
}

func (r *itemReader) value(depth int) Value {
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
		return r.list(depth + 1)
	case tagStringSet:
		return r.set(SS)
	case tagNumberSet:
		return r.set(NS)
	case tagBinarySet:
		return r.set(BS)
	default:
		r.unknown(tag)
		return Value{}
	}
}

func (r *itemReader) list(depth int) Value {
	n := r.elements(depth)
	list := make([]Value, 0, n)
	for k := 0; k < n && r.err == nil; k++ {
		list = append(list, r.value(depth))
	}

	return NewList(list)
}

func (r *itemReader) set(kind Kind) Value {
	n := r.members()
	set := make([]string, 0, n)
	for k := 0; k < n && r.err == nil; k++ {
		m := ""
		if kind == NS {
			m = r.number()
		} else {
			m = r.text()
		}

		if k > 0 {
			r.checkAscending(kind, set[k-1], m)
		}

		set = append(set, m)
	}

	return NewSortedSet(kind, set)
}
