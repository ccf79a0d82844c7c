package rawjson

import (
	"fmt"
	"unicode/utf8"
)

// MaxDepth is the number of arrays and objects that may be nested.
const MaxDepth = 500

// Valid returns an error if b is not one JSON value in UTF-8 (RFC 8259). The error has the
// byte offset of the fault.
func Valid(b []byte) error {
	i, ok := value(b, space(b, 0), 0)
	if ok {
		if i = space(b, i); i == len(b) {
			// This check comes last, because the other faults have a place in the text.
			if !utf8.Valid(b) {
				return fmt.Errorf("JSON text is not valid UTF-8")
			}

			return nil
		}
	}

	if i >= len(b) {
		return fmt.Errorf("unexpected end of JSON text at offset %d", len(b))
	}

	return fmt.Errorf("unexpected %q in JSON text at offset %d", b[i], i)
}

// value returns the index after the value at i, or the index of the fault.
func value(b []byte, i, depth int) (int, bool) {
	// The depth is bounded, because other functions recurse with it, too.
	if i >= len(b) || depth > MaxDepth {
		return i, false
	}

	switch b[i] {
	case '{':
		return object(b, i, depth)
	case '[':
		return array(b, i, depth)
	case '"':
		return str(b, i)
	case 't':
		return literal(b, i, "true")
	case 'f':
		return literal(b, i, "false")
	case 'n':
		return literal(b, i, "null")
	default:
		return number(b, i)
	}
}

func object(b []byte, i, depth int) (int, bool) {
	i = space(b, i+1)
	if i < len(b) && b[i] == '}' {
		return i + 1, true
	}

	for {
		if i >= len(b) || b[i] != '"' {
			return i, false
		}

		ok := false
		if i, ok = str(b, i); !ok {
			return i, false
		}

		if i = space(b, i); i >= len(b) || b[i] != ':' {
			return i, false
		}

		if i, ok = value(b, space(b, i+1), depth+1); !ok {
			return i, false
		}

		i = space(b, i)
		switch {
		case i < len(b) && b[i] == ',':
			i = space(b, i+1)
		case i < len(b) && b[i] == '}':
			return i + 1, true
		default:
			return i, false
		}
	}
}

func array(b []byte, i, depth int) (int, bool) {
	i = space(b, i+1)
	if i < len(b) && b[i] == ']' {
		return i + 1, true
	}

	for {
		ok := false
		if i, ok = value(b, i, depth+1); !ok {
			return i, false
		}

		i = space(b, i)
		switch {
		case i < len(b) && b[i] == ',':
			i = space(b, i+1)
		case i < len(b) && b[i] == ']':
			return i + 1, true
		default:
			return i, false
		}
	}
}

func str(b []byte, i int) (int, bool) {
	for i++; i < len(b); i++ {
		switch c := b[i]; {
		case c == '"':
			return i + 1, true
		case c < ' ':
			return i, false
		case c == '\\':
			i++
			if i >= len(b) {
				return i, false
			}

			switch b[i] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			case 'u':
				for range 4 {
					i++
					if i >= len(b) || hex(b[i]) < 0 {
						return i, false
					}
				}
			default:
				return i, false
			}
		}
	}

	return i, false
}

func literal(b []byte, i int, word string) (int, bool) {
	for k := range len(word) {
		if i+k >= len(b) || b[i+k] != word[k] {
			return i + k, false
		}
	}

	return i + len(word), true
}

func number(b []byte, i int) (int, bool) {
	if i < len(b) && b[i] == '-' {
		i++
	}

	switch {
	case i < len(b) && b[i] == '0':
		i++
	case i < len(b) && b[i] >= '1' && b[i] <= '9':
		i = digits(b, i)
	default:
		return i, false
	}

	if i < len(b) && b[i] == '.' {
		end := digits(b, i+1)
		if end == i+1 {
			return end, false
		}
		i = end
	}

	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}

		end := digits(b, i)
		if end == i {
			return end, false
		}
		i = end
	}

	return i, true
}

func digits(b []byte, i int) int {
	for i < len(b) && b[i] >= '0' && b[i] <= '9' {
		i++
	}
	return i
}

func hex(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}

	return -1
}
