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
		for n, e := range v.List {
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
	for n, m := range v.Set {
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

func appendBase64[T string | []byte](dst []byte, raw T) []byte {
	dst = append(dst, '"')
	dst = base64.StdEncoding.AppendEncode(dst, []byte(raw))
	return append(dst, '"')
}

// appendString appends a JSON string. Bytes that are not UTF-8 become U+FFFD; decoding
// accepts no such text.
func appendString[T string | []byte](dst []byte, s T) []byte {
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
func plain[T string | []byte](s T) bool {
	// Eight bytes at a time: what a byte must not be sets the highest bit of one of the terms.
	const ones, high = 0x0101010101010101, 0x8080808080808080

	n := 0
	for ; n+8 <= len(s); n += 8 {
		x := uint64(s[n]) | uint64(s[n+1])<<8 | uint64(s[n+2])<<16 | uint64(s[n+3])<<24 |
			uint64(s[n+4])<<32 | uint64(s[n+5])<<40 | uint64(s[n+6])<<48 | uint64(s[n+7])<<56
		if (x|(x+ones)|(x-ones*' ')|((x^ones*'"')-ones)|((x^ones*'\\')-ones))&high != 0 {
			return false
		}
	}

	for ; n < len(s); n++ {
		if c := s[n]; c < ' ' || c >= 0x7F || c == '"' || c == '\\' {
			return false
		}
	}

	return true
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
