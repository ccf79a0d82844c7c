package attr

import "fmt"

// The first byte of an encoded key says its kind, and of a number the sign too.
const (
	keyString   byte = 0x10
	keyBinary   byte = 0x18
	keyNegative byte = 0x20
	keyZero     byte = 0x21
	keyPositive byte = 0x22
)

// A zero byte inside a string is escaped, so that 0x00 0x01 can end it: whatever
// follows, the shorter of two strings sorts first.
const (
	keyEscaped    byte = 0xFF
	keyTerminator byte = 0x01
)

// AppendKey appends an encoding of an S, N or B whose byte order is the order of
// Compare. No encoding is a prefix of another, so the encodings of a partition key
// and a sort key may be written one after the other. It panics on other kinds: a
// key schema names only these.
func AppendKey(dst []byte, v Value) []byte {
	if v.Kind == N {
		return appendKeyNumber(dst, v.Str)
	}
	return append(AppendKeyPrefix(dst, v), 0x00, keyTerminator)
}

// AppendKeyPrefix appends what the keys of all strings (or binaries) that begin
// with v have in common: the bounds of a begins_with are this and its successor.
// It panics when v is neither S nor B.
func AppendKeyPrefix(dst []byte, v Value) []byte {
	switch v.Kind {
	case S:
		dst = append(dst, keyString)
	case B:
		dst = append(dst, keyBinary)
	default:
		panic(fmt.Sprintf("attr: a %q cannot be a key", v.Kind))
	}

	for n := range len(v.Str) {
		dst = append(dst, v.Str[n])
		if v.Str[n] == 0 {
			dst = append(dst, keyEscaped)
		}
	}

	return dst
}

// appendKeyNumber writes sign, exponent and digits in base 100, the digits one up
// so that a zero byte ends them. The bytes of a negative number are inverted.
func appendKeyNumber(dst []byte, text string) []byte {
	d := mustDecimal(text)
	if d.n == 0 {
		return append(dst, keyZero)
	}

	invert := byte(0)
	if d.negative {
		dst, invert = append(dst, keyNegative), 0xFF
	} else {
		dst = append(dst, keyPositive)
	}

	exponent := (d.exponent - minExponent) / 2 // 0..127: the pair that holds the first digit
	dst = append(dst, byte(exponent)^invert)
	at := 0
	if d.exponent%2 == 0 {
		dst, at = append(dst, (d.digits[0]-'0'+1)^invert), 1
	}

	for ; at < d.n; at += 2 {
		pair := (d.digits[at] - '0') * 10
		if at+1 < d.n {
			pair += d.digits[at+1] - '0'
		}
		dst = append(dst, (pair+1)^invert)
	}

	return append(dst, 0x00^invert)
}
