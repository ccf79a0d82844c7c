package rawjson

import "bytes"

// Trim returns a value without the white space around it.
func Trim(v []byte) []byte { return bytes.Trim(v, " \t\r\n") }

// AppendCompact appends v without the white space between its tokens.
func AppendCompact(dst, v []byte) []byte {
	for i := 0; i < len(v); {
		switch v[i] {
		case ' ', '\t', '\r', '\n':
			i++
		case '"':
			end := skipString(v, i)
			dst = append(dst, v[i:end]...)
			i = end
		default:
			dst = append(dst, v[i])
			i++
		}
	}

	return dst
}
