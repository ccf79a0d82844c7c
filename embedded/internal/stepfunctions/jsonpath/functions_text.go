package jsonpath

import (
	"crypto/md5"  //nolint:gosec // States.Hash offers it; nothing here relies on it
	"crypto/sha1" //nolint:gosec // as above
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"ratchet/embedded/internal/stepfunctions/rawjson"
)

// format replaces each {} with the next argument. \{, \}, \' and \\
// stand for the character after the backslash.
func format(s *Scope, c *call, args [][]byte) ([]byte, error) {
	// A literal is read with its backslashes; any other value is data.
	template := c.args[0].raw
	if c.args[0].literal == nil {
		var err error
		if template, err = text(args[0], "first argument"); err != nil {
			return nil, err
		}
	}

	var out strings.Builder
	// args[0] is the template itself.
	next := 1
	for i := 0; i < len(template); i++ {
		switch b := template[i]; {
		case b == '\\' && i+1 < len(template) && strings.ContainsRune(`'{}\`, rune(template[i+1])):
			i++
			out.WriteByte(template[i])
		case b == '{' && i+1 < len(template) && template[i+1] == '}':
			i++

			if next >= len(args) {
				return nil, errors.New("there are more {} than arguments")
			}

			s.Meter.writeFormatted(&out, args[next])

			next++
		case b == '{' || b == '}':
			return nil, fmt.Errorf("%c must be written as \\%c", b, b)
		default:
			out.WriteByte(b)
		}
	}

	if next != len(args) {
		return nil, errors.New("there are fewer {} than arguments")
	}

	return rawjson.AppendText(nil, out.String()), nil
}

// writeFormatted writes a value into a formatted text: a text without quotes, and an object as
// Java writes a map.
// Source: LocalStack's recordings of AWS (intrinsic_functions/test_generic.py, test_format_2 and
// test_context_json_path).
func (m *Meter) writeFormatted(out *strings.Builder, value []byte) {
	// Each level of an object reads all that is below it.
	if !m.spend(len(value)) {
		return
	}

	if s, ok := rawjson.Text(value); ok {
		out.WriteString(s)
		return
	}

	if rawjson.KindOf(value) != rawjson.Object {
		out.Write(rawjson.AppendCompact(nil, value))
		return
	}

	separator := "{"
	for c := rawjson.Walk(rawjson.Distinct(value)); c.Next(); separator = ", " {
		name, _ := rawjson.Text(c.Key)
		out.WriteString(separator + name + "=")
		m.writeFormatted(out, c.Value)
	}

	// Without members, no separator has opened the map.
	if separator == "{" {
		out.WriteString(separator)
	}

	out.WriteByte('}')
}

func stringToJSON(_ *Scope, _ *call, a [][]byte) ([]byte, error) {
	s, err := text(a[0], "argument")
	if err != nil {
		return nil, err
	}

	if strings.TrimSpace(s) == "" {
		return []byte("null"), nil
	}

	if err := rawjson.Valid([]byte(s)); err != nil {
		return nil, fmt.Errorf("the argument is not JSON: %w", err)
	}

	return rawjson.AppendCompact(nil, []byte(s)), nil
}

func base64Encode(_ *Scope, _ *call, a [][]byte) ([]byte, error) {
	s, err := bounded(a[0], "argument")
	return rawjson.AppendText(nil, base64.StdEncoding.EncodeToString([]byte(s))), err
}

func base64Decode(_ *Scope, _ *call, a [][]byte) ([]byte, error) {
	s, err := bounded(a[0], "argument")
	if err != nil {
		return nil, err
	}

	decoded, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		return nil, fmt.Errorf("the argument is not Base64: %w", err)
	}

	return rawjson.AppendBytes(nil, decoded), nil
}

func hash(_ *Scope, _ *call, a [][]byte) ([]byte, error) {
	data, ok := rawjson.Text(a[0])
	if !ok {
		// Any other value is hashed as its JSON.
		data = string(rawjson.AppendCompact(nil, a[0]))
	}

	if utf8.RuneCountInString(data) > maxText {
		return nil, fmt.Errorf("the data is longer than %d characters", maxText)
	}

	algorithm, err := text(a[1], "algorithm")
	if err != nil {
		return nil, err
	}

	var sum []byte
	switch algorithm {
	case "MD5":
		s := md5.Sum([]byte(data)) //nolint:gosec // asked for by name
		sum = s[:]
	case "SHA-1":
		s := sha1.Sum([]byte(data)) //nolint:gosec // asked for by name
		sum = s[:]
	case "SHA-256":
		s := sha256.Sum256([]byte(data))
		sum = s[:]
	case "SHA-384":
		s := sha512.Sum384([]byte(data))
		sum = s[:]
	case "SHA-512":
		s := sha512.Sum512([]byte(data))
		sum = s[:]
	default:
		return nil, fmt.Errorf("%q is none of MD5, SHA-1, SHA-256, SHA-384, SHA-512", algorithm)
	}

	return rawjson.AppendText(nil, hex.EncodeToString(sum)), nil
}

// stringSplit splits at every character of the second argument and drops empty parts.
func stringSplit(scope *Scope, _ *call, a [][]byte) ([]byte, error) {
	s, err := text(a[0], "first argument")
	if err != nil {
		return nil, err
	}

	separators, err := text(a[1], "second argument")
	if err != nil {
		return nil, err
	}

	separates := map[rune]bool{}
	for _, r := range separators {
		separates[r] = true
	}

	const size = 64 // bytes of a part without its text

	var parts [][]byte
	for part := range strings.FieldsFuncSeq(s, func(r rune) bool { return separates[r] }) {
		if !scope.Meter.make(size + len(part)) {
			break
		}

		parts = append(parts, rawjson.AppendText(nil, part))
	}

	return list(parts), nil
}

func uuid(s *Scope, _ *call, _ [][]byte) ([]byte, error) {
	hi, lo := s.Random.Uint64(), s.Random.Uint64()
	hi = hi&^0xf000 | 0x4000 // version 4
	lo = lo&^(3<<62) | 1<<63 // RFC 9562 variant

	return fmt.Appendf(nil, `"%08x-%04x-%04x-%04x-%012x"`, hi>>32, hi>>16&0xffff, hi&0xffff, lo>>48, lo&(1<<48-1)), nil
}
