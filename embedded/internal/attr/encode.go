package attr

import (
	"encoding/base64"

	"github.com/go-json-experiment/json/jsontext"
)

// namesOnStack is the number of attributes up to which sorting an item's names needs no
// memory from the heap.
const namesOnStack = 32

// AppendJSON appends the item as AWS JSON with sorted names: {"id":{"S":"o-1"}}. A nil
// item is written as {}.
func (i Item) AppendJSON(dst []byte) []byte {
	var buf [namesOnStack]string

	dst = append(dst, '{')
	for n, name := range i.appendNames(buf[:0]) {
		if n > 0 {
			dst = append(dst, ',')
		}

		dst = appendString(dst, name)
		dst = append(dst, ':')
		dst = i[name].AppendJSON(dst)
	}

	return append(dst, '}')
}

// AppendJSON appends the value as AWS JSON: {"N":"1"}. An Invalid is written as {}.
func (v Value) AppendJSON(dst []byte) []byte {
	if v.Kind == Invalid {
		return append(dst, "{}"...)
	}

	dst = append(dst, '{', '"')
	dst = append(dst, v.Kind.String()...)
	dst = append(dst, '"', ':')

	switch v.Kind {
	case S:
		dst = appendString(dst, v.Str)
	case N:
		// A canonical number has nothing to escape.
		dst = append(append(append(dst, '"'), v.Str...), '"')
	case B:
		dst = appendBase64(dst, v.Str)
	case BOOL:
		if v.Bool {
			dst = append(dst, "true"...)
		} else {
			dst = append(dst, "false"...)
		}
	case NULL:
		dst = append(dst, "true"...)
	case M:
		dst = v.Map.AppendJSON(dst)
	case L:
		dst = append(dst, '[')
		for n, e := range v.List() {
			if n > 0 {
				dst = append(dst, ',')
			}

			dst = e.AppendJSON(dst)
		}

		dst = append(dst, ']')
	case SS, NS, BS:
		dst = appendSet(dst, v)
	}

	return append(dst, '}')
}

func appendSet(dst []byte, v Value) []byte {
	dst = append(dst, '[')
	for n, m := range v.Set() {
		if n > 0 {
			dst = append(dst, ',')
		}

		if v.Kind == BS {
			dst = appendBase64(dst, m)
		} else {
			dst = appendString(dst, m)
		}
	}

	return append(dst, ']')
}

func appendBase64(dst []byte, raw string) []byte {
	dst = append(dst, '"')
	dst = base64.StdEncoding.AppendEncode(dst, []byte(raw))
	return append(dst, '"')
}

// appendString appends a JSON string. Bytes that are not UTF-8 become U+FFFD; decoding
// accepts no such text.
func appendString(dst []byte, s string) []byte {
	if !plain(s) {
		dst, _ = jsontext.AppendQuote(dst, s)
		return dst
	}

	dst = append(dst, '"')
	dst = append(dst, s...)

	return append(dst, '"')
}

// plain reports whether a JSON string holds s as it is: s has no quotes, no backslashes, no control
// characters and nothing beyond ASCII.
func plain(s string) bool {
	// Eight bytes at a time. The last word overlaps the one before it, which covers any length.
	switch n := len(s); {
	case n >= 8:
		for rest := s; len(rest) > 8; rest = rest[8:] {
			if odd(low4(rest) | low4(rest[4:])<<32) {
				return false
			}
		}

		return !odd(low4(s[n-8:]) | low4(s[n-4:])<<32)
	case n >= 4:
		return !odd(low4(s) | low4(s[n-4:])<<32)
	case n > 0:
		// The first, the middle and the last byte are all of up to three.
		const spaces = ' '<<24 | ' '<<32 | ' '<<40 | ' '<<48 | ' '<<56
		return !odd(uint64(s[0]) | uint64(s[n/2])<<8 | uint64(s[n-1])<<16 | spaces)
	}

	return true
}

// low4 returns the first four bytes of s, the first one lowest.
func low4(s string) uint64 {
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24
}

// odd reports whether one of the eight bytes of x cannot stand in a JSON string as it is.
func odd(x uint64) bool {
	// A byte that cannot stand there sets its highest bit in one of the terms.
	const ones, high = 0x0101010101010101, 0x8080808080808080
	return (x|(x+ones)|(x-ones*' ')|((x^ones*'"')-ones)|((x^ones*'\\')-ones))&high != 0
}

// MarshalJSONTo writes the item as AWS JSON.
func (i Item) MarshalJSONTo(e *jsontext.Encoder) error {
	return e.WriteValue(i.AppendJSON(e.AvailableBuffer()))
}

// MarshalJSONTo writes the value as AWS JSON.
func (v Value) MarshalJSONTo(e *jsontext.Encoder) error {
	return e.WriteValue(v.AppendJSON(e.AvailableBuffer()))
}

// MarshalJSON writes the item as AWS JSON, for encoding/json.
func (i Item) MarshalJSON() ([]byte, error) { return i.AppendJSON(nil), nil }

// MarshalJSON writes the value as AWS JSON, for encoding/json.
func (v Value) MarshalJSON() ([]byte, error) { return v.AppendJSON(nil), nil }
