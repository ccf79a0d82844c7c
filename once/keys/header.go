package keys

import (
	"fmt"
	"strings"
)

// maxHeader is the length of the longest key in an Idempotency-Key field, in characters.
const maxHeader = 255

// Header returns the key in the fields of an Idempotency-Key header. The IETF draft wants
// one field with a structured String (RFC 8941, section 3.3.3): "8e03978e-40d5". Many
// clients send it without quotes, which gives the same key. Header refuses parameters after
// the String, a list, a second field and characters beyond printable ASCII.
func Header(fields []string) (string, error) {
	if len(fields) != 1 {
		return "", fmt.Errorf("%w: Idempotency-Key: one field, got %d", ErrInvalid, len(fields))
	}

	// HTTP allows spaces and tabs around a value.
	text := strings.Trim(fields[0], " \t")
	key, err := text, error(nil)
	if strings.HasPrefix(text, `"`) {
		key, err = unquote(text)
	} else if i := strings.IndexFunc(text, needsQuotes); i >= 0 {
		err = fmt.Errorf("%w: Idempotency-Key: character %q at %d needs quotes", ErrInvalid, text[i], i)
	}

	switch {
	case err != nil:
		return "", err
	case strings.TrimSpace(key) == "" || len(key) > maxHeader:
		return "", fmt.Errorf("%w: Idempotency-Key: 1 to %d characters and not blank, got %d", ErrInvalid, maxHeader, len(key))
	}

	return key, nil
}

// needsQuotes reports whether a character must not occur in a key without quotes: it is
// not printable ASCII, or it would make the field a list, an item with parameters or a
// quoted String.
func needsQuotes(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`",;\`, r) }

// unquote reads a structured String. It refuses text after it.
func unquote(text string) (string, error) {
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"' && i == len(text)-1:
			return b.String(), nil
		case c == '"':
			return "", fmt.Errorf("%w: Idempotency-Key: text after the closing quote", ErrInvalid)
		case c == '\\':
			i++
			if i == len(text) || text[i] != '"' && text[i] != '\\' {
				return "", fmt.Errorf(`%w: Idempotency-Key: a backslash may only stand before " or \`, ErrInvalid)
			}
			b.WriteByte(text[i])
		case c < ' ' || c > '~':
			return "", fmt.Errorf("%w: Idempotency-Key: byte 0x%02x is not printable ASCII", ErrInvalid, c)
		default:
			b.WriteByte(c)
		}
	}

	return "", fmt.Errorf("%w: Idempotency-Key: the closing quote is missing", ErrInvalid)
}
