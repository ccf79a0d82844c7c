package rawjson

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// Text decodes a string value. ok is false if v is not a string. A lone surrogate becomes
// U+FFFD.
func Text(v []byte) (s string, ok bool) {
	v = Trim(v)
	if len(v) < 2 || v[0] != '"' {
		return "", false
	}

	v = v[1 : len(v)-1]
	if bytes.IndexByte(v, '\\') < 0 {
		return string(v), true
	}

	out := make([]byte, 0, len(v))
	for i := 0; i < len(v); i++ {
		if v[i] != '\\' {
			out = append(out, v[i])
			continue
		}

		i++
		switch v[i] {
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 't':
			out = append(out, '\t')
		case 'u':
			r := rune4(v, i+1)
			i += 4
			if utf16.IsSurrogate(r) {
				if i+6 < len(v) && v[i+1] == '\\' && v[i+2] == 'u' {
					if both := utf16.DecodeRune(r, rune4(v, i+3)); both != utf8.RuneError {
						out = utf8.AppendRune(out, both)
						i += 6

						continue
					}
				}

				// A surrogate without its other half has no character.
				r = utf8.RuneError
			}

			out = utf8.AppendRune(out, r)
		default:
			out = append(out, v[i])
		}
	}

	return string(out), true
}

// rune4 returns the code point of four hex digits.
func rune4(v []byte, i int) (r rune) {
	for _, c := range v[i : i+4] {
		r = r<<4 | rune(hex(c))
	}

	return r
}

const hexDigits = "0123456789abcdef"

// AppendText appends s as a JSON string. Bytes that are not UTF-8 become U+FFFD.
func AppendText(dst []byte, s string) []byte {
	dst = append(dst, '"')

	from := 0 // s[from:i] needs no escapes and is appended at once
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}

		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			// A U+FFFD that is written correctly has three bytes.
			if r == utf8.RuneError && n == 1 {
				dst = append(append(dst, s[from:i]...), "\uFFFD"...)
				from = i + 1
			}

			i += n

			continue
		}

		dst = append(dst, s[from:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		i++
		from = i
	}

	return append(append(dst, s[from:]...), '"')
}

// AppendBytes is AppendText for text held as bytes.
func AppendBytes(dst, s []byte) []byte { return AppendText(dst, string(s)) }
