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
	"math/rand/v2"
	"strconv"
	"strings"
	"unicode/utf8"

	"ratchet/embedded/internal/stepfunctions/rawjson"
)

// function is one intrinsic function.
type function struct {
	least, most int // arguments; most < 0 means any number
	run         func(s *Scope, c *call, args [][]byte) ([]byte, error)
}

func (f *function) arity() string {
	switch {
	case f.most < 0:
		return fmt.Sprintf("at least %d", f.least)
	case f.least == f.most:
		return strconv.Itoa(f.least)
	}

	return fmt.Sprintf("%d to %d", f.least, f.most)
}

// Limits that AWS documents for its intrinsic functions.
const (
	maxText  = 10000 // characters that Base64 functions and Hash take
	maxRange = 1000  // elements of States.ArrayRange
)

// functionNamed returns the function, or nil.
// Source: https://docs.aws.amazon.com/step-functions/latest/dg/intrinsic-functions.html
func functionNamed(name string) *function {
	switch name {
	case "States.Format":
		return &function{1, -1, format}
	case "States.StringToJson":
		return &function{1, 1, stringToJSON}
	case "States.JsonToString":
		return &function{1, 1, func(_ *Scope, _ *call, a [][]byte) ([]byte, error) {
			return rawjson.AppendBytes(nil, rawjson.AppendCompact(nil, a[0])), nil
		}}
	case "States.Array":
		return &function{0, -1, func(_ *Scope, _ *call, a [][]byte) ([]byte, error) { return list(a), nil }}
	case "States.ArrayPartition":
		return &function{2, 2, arrayPartition}
	case "States.ArrayContains":
		return &function{2, 2, arrayContains}
	case "States.ArrayRange":
		return &function{3, 3, arrayRange}
	case "States.ArrayGetItem":
		return &function{2, 2, arrayGetItem}
	case "States.ArrayLength":
		return &function{1, 1, arrayLength}
	case "States.ArrayUnique":
		return &function{1, 1, arrayUnique}
	case "States.Base64Encode":
		return &function{1, 1, base64Encode}
	case "States.Base64Decode":
		return &function{1, 1, base64Decode}
	case "States.Hash":
		return &function{2, 2, hash}
	case "States.JsonMerge":
		return &function{3, 3, jsonMerge}
	case "States.MathRandom":
		return &function{2, 3, mathRandom}
	case "States.MathAdd":
		return &function{2, 2, mathAdd}
	case "States.StringSplit":
		return &function{2, 2, stringSplit}
	case "States.UUID":
		return &function{0, 0, uuid}
	}

	return nil
}

func whole(v []byte, what string) (int64, error) {
	if n, ok := rawjson.Rounded(v); ok {
		return n, nil
	}
	return 0, fmt.Errorf("the %s must be an integer", what)
}

func text(v []byte, what string) (string, error) {
	s, ok := rawjson.Text(v)
	if !ok {
		return "", fmt.Errorf("the %s must be a string", what)
	}

	return s, nil
}

func bounded(v []byte, what string) (string, error) {
	s, err := text(v, what)
	if err == nil && utf8.RuneCountInString(s) > maxText {
		return "", fmt.Errorf("the %s is longer than %d characters", what, maxText)
	}

	return s, err
}

// format fills each {} with the next argument; \{ \} \' and \\ stand for themselves.
func format(_ *Scope, c *call, args [][]byte) ([]byte, error) {
	template := c.args[0].raw
	if c.args[0].literal == nil {
		var err error
		if template, err = text(args[0], "first argument"); err != nil {
			return nil, err
		}
	}

	var out strings.Builder
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

			if s, ok := rawjson.Text(args[next]); ok {
				out.WriteString(s)
			} else {
				out.Write(rawjson.AppendCompact(nil, args[next]))
			}
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

	return rawjson.Trim([]byte(s)), nil
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

func jsonMerge(_ *Scope, _ *call, a [][]byte) ([]byte, error) {
	if rawjson.KindOf(a[0]) != rawjson.Object || rawjson.KindOf(a[1]) != rawjson.Object {
		return nil, errors.New("the first two arguments must be objects")
	}

	if rawjson.KindOf(a[2]) != rawjson.Bool || rawjson.True(a[2]) {
		return nil, errors.New("the third argument must be false: only shallow merging is supported")
	}

	return rawjson.Merge(a[0], a[1]), nil
}

// mathRandom draws from first (included) to last (excluded); with a seed the
// answer is always the same, though not the one that AWS would give.
func mathRandom(s *Scope, _ *call, a [][]byte) ([]byte, error) {
	first, err := whole(a[0], "start")
	if err != nil {
		return nil, err
	}

	last, err := whole(a[1], "end")
	if err != nil {
		return nil, err
	}

	if last <= first || last-first <= 0 {
		return nil, errors.New("the end must be greater than the start")
	}

	random := s.Random
	if len(a) == 3 {
		seed, err := whole(a[2], "seed")
		if err != nil {
			return nil, err
		}
		random = rand.New(rand.NewPCG(uint64(seed), 0)) //nolint:gosec // a seed asks for predictability
	}

	return strconv.AppendInt(nil, first+random.Int64N(last-first), 10), nil
}

func mathAdd(_ *Scope, _ *call, a [][]byte) ([]byte, error) {
	x, err := whole(a[0], "first argument")
	if err != nil {
		return nil, err
	}

	y, err := whole(a[1], "second argument")
	if err != nil {
		return nil, err
	}

	sum := x + y
	if (sum > x) != (y > 0) && y != 0 {
		return nil, errors.New("the sum does not fit 64 bits")
	}

	return strconv.AppendInt(nil, sum, 10), nil
}

// stringSplit cuts at every character of the second argument; empty parts are
// left out.
func stringSplit(_ *Scope, _ *call, a [][]byte) ([]byte, error) {
	s, err := text(a[0], "first argument")
	if err != nil {
		return nil, err
	}

	separators, err := text(a[1], "second argument")
	if err != nil {
		return nil, err
	}

	var parts [][]byte
	for _, part := range strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(separators, r) }) {
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
