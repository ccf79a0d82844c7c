package attr

import "unsafe"

// AppendBinaryJSON appends an encoded item as AWS JSON: the bytes that DecodeBinary and Item.AppendJSON give
// together, without the item between them. It fails where DecodeBinary fails; the bytes that it returns then
// are of no use.
func AppendBinaryJSON(dst, b []byte) ([]byte, error) {
	if len(b) == 0 || b[0] != binaryVersion {
		return dst, errVersion
	}

	text := unsafe.String(&b[0], len(b)) //nolint:gosec // nothing of text outlives this call, during which b does not change
	r := jsonReader{binaryReader{left: text[1:]}}
	dst = r.item(dst, 1)

	return dst, r.end()
}

// jsonReader writes an item as JSON while it reads its encoding. Plain names and texts are appended
// in place, with the quotes and braces around them: a function for that would make the whole take
// half as long again.
type jsonReader struct{ binaryReader }

func (r *jsonReader) item(dst []byte, depth int) []byte {
	n := r.elements(depth)
	dst = append(dst, '{')

	last := ""
	for k := 0; k < n && r.err == nil; k++ {
		if k > 0 {
			dst = append(dst, ',')
		}

		name := r.text()
		r.checkOrder(k, last, name)
		last = name

		if plain(name) {
			dst = append(append(append(dst, '"'), name...), '"', ':')
		} else {
			dst = append(appendString(dst, name), ':')
		}
		dst = r.value(dst, depth)
	}

	return append(dst, '}')
}

func (r *jsonReader) value(dst []byte, depth int) []byte {
	switch tag := r.byte(); tag {
	case tagString:
		text := r.text()

		// The usual types return on their own. The others share the brace at the end.
		if plain(text) {
			return append(append(append(dst, `{"S":"`...), text...), `"}`...)
		}
		dst = appendString(append(dst, `{"S":`...), text)
	case tagNumber:
		return append(append(append(dst, `{"N":"`...), r.number()...), `"}`...)
	case tagBinary:
		dst = appendBase64(append(dst, `{"B":`...), r.text())
	case tagFalse:
		dst = append(dst, `{"BOOL":false`...)
	case tagTrue:
		dst = append(dst, `{"BOOL":true`...)
	case tagNull:
		dst = append(dst, `{"NULL":true`...)
	case tagMap:
		dst = r.item(append(dst, `{"M":`...), depth+1)
	case tagList:
		dst = r.list(append(dst, `{"L":`...), depth+1)
	case tagStringSet:
		dst = r.set(append(dst, `{"SS":`...), SS)
	case tagNumberSet:
		dst = r.set(append(dst, `{"NS":`...), NS)
	case tagBinarySet:
		dst = r.set(append(dst, `{"BS":`...), BS)
	default:
		r.unknown(tag)
	}

	return append(dst, '}')
}

func (r *jsonReader) list(dst []byte, depth int) []byte {
	n := r.elements(depth)
	dst = append(dst, '[')

	for k := 0; k < n && r.err == nil; k++ {
		if k > 0 {
			dst = append(dst, ',')
		}

		dst = r.value(dst, depth)
	}

	return append(dst, ']')
}

func (r *jsonReader) set(dst []byte, kind Kind) []byte {
	n := r.members()
	dst = append(dst, '[')

	last := ""
	for k := 0; k < n && r.err == nil; k++ {
		member := ""
		if kind == NS {
			member = r.number()
		} else {
			member = r.text()
		}

		if k > 0 {
			dst = append(dst, ',')
			r.checkAscending(kind, last, member)
		}

		if last = member; kind == BS {
			dst = appendBase64(dst, member)
		} else {
			dst = appendString(dst, member)
		}
	}

	return append(dst, ']')
}
