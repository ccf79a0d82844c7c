package attr

import (
	"bytes"
	"encoding/base64"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// decodeString reads a string. Other JSON is a serializationError.
func decodeString(d *jsontext.Decoder) (string, error) {
	if d.PeekKind() != '"' {
		return "", mismatch(d, "String", javaString)
	}

	return readString(d)
}

// decodeBool reads a boolean, or a string that the service accepts as one.
func decodeBool(d *jsontext.Decoder) (bool, error) {
	switch d.PeekKind() {
	case 't', 'f':
		tok, err := d.ReadToken()
		return err == nil && tok.Kind() == 't', err
	case '"':
		s, err := readString(d)
		if err != nil {
			return false, err
		}

		switch strings.ToUpper(s) {
		case "TRUE", "1", "YES":
			return true, nil
		case "FALSE", "0", "NO":
			return false, nil
		}

		return false, serialization("Unexpected token received from parser")
	default:
		return false, mismatch(d, "Boolean", javaBoolean)
	}
}

// mismatch returns the error for JSON that is not the expected scalar.
func mismatch(d *jsontext.Decoder, want, class string) error {
	switch d.PeekKind() {
	case '{':
		return serialization(notExpected)
	case '[':
		return serialization("Unrecognized collection type %s", class)
	}

	raw, err := d.ReadValue()
	if err != nil {
		return err
	}

	switch text := string(raw); {
	case text == "null":
		return serialization("NULL_VALUE cannot be converted to %s", want)
	case text == "true" || text == "false":
		return serialization("%s_VALUE cannot be converted to %s", strings.ToUpper(text), want)
	// The service calls a number with a point or an exponent a decimal.
	case strings.ContainsAny(text, ".eE"):
		return serialization("DECIMAL_VALUE cannot be converted to %s", want)
	default:
		return serialization("NUMBER_VALUE cannot be converted to %s", want)
	}
}

// decodeBytes reads padded base64. The messages are the service's, with its misspelling.
func decodeBytes(d *jsontext.Decoder) (string, error) {
	switch d.PeekKind() {
	case '"':
	case '{':
		return "", serialization(notExpected)
	case '[':
		return "", serialization("Unrecognized collection type %s", javaBytes)
	default:
		return "", unexpected(d, "only base-64-encoded strings are convertible to bytes")
	}

	s, err := readString(d)
	if err != nil {
		return "", err
	}

	if len(s)%4 != 0 {
		return "", serialization("Base64 encoded length is expected a multiple of 4 bytes but found: %d", len(s))
	}

	// encoding/base64 skips line breaks; the service refuses them.
	if strings.ContainsAny(s, "\r\n") {
		return "", serialization("Invalid base 64 character")
	}

	b, err := base64.StdEncoding.Strict().DecodeString(s)
	if err != nil {
		return "", serialization("Invalid last non-pad Base64 character dectected")
	}

	return string(b), nil
}

// readString reads a JSON string or a member's name. The caller has checked that a string comes
// next.
func readString(d *jsontext.Decoder) (string, error) {
	raw, err := d.ReadValue()
	if err != nil {
		return "", err
	}

	return unquote(raw)
}

// unquote returns the text of a JSON string, copied once when it has no escapes.
func unquote(raw jsontext.Value) (string, error) {
	// Invalid UTF-8 takes the slow way, which refuses it.
	if len(raw) >= 2 && bytes.IndexByte(raw, '\\') < 0 && utf8.Valid(raw) {
		return string(raw[1 : len(raw)-1]), nil
	}

	b, err := jsontext.AppendUnquote(nil, raw)
	if err != nil {
		return "", serialization("Invalid UTF-8 or escape in a string")
	}

	return string(b), nil
}
