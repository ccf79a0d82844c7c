package attr

import "fmt"

// The first byte of an encoded key names its kind, and for a number its sign too.
const (
	keyString   byte = 0x10
	keyBinary   byte = 0x18
	keyNegative byte = 0x20
	keyZero     byte = 0x21
	keyPositive byte = 0x22
)

// The bytes 0x00 0x01 end a string, and a zero byte inside it is written as 0x00 0xFF.
// So the shorter of two strings sorts first, whatever follows the key.
const (
	keyEscaped    byte = 0xFF
	keyTerminator byte = 0x01
)

// AppendKey appends an encoding of an S, N or B whose byte order is the order of Compare. No
// encoding is a prefix of another, so that a sort key's encoding may follow a partition key's.
// AppendKey panics on other kinds, which a key schema cannot name.
func AppendKey(dst []byte, v Value) []byte {
	if v.Kind == N {
		return appendKeyNumber(dst, v.Str)
	}
	return append(AppendKeyPrefix(dst, v), 0x00, keyTerminator)
}

// AppendKeyPrefix appends the bytes with which the keys of all strings, or binaries, that
// begin with v start: a begins_with reads the range of that prefix. It panics when v is
// neither S nor B.
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

		// Escaped, because 0x00 begins the end of a key.
		if v.Str[n] == 0 {
			dst = append(dst, keyEscaped)
		}
	}

	return dst
}

// appendKeyNumber appends sign, exponent and digits in base 100. Each digit is written
// one higher, so that a zero byte can end them and sorts before any digit. All bytes of a
// negative number but the first are inverted, so that the larger magnitude sorts first.
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

	exponent := (d.exponent - minExponent) / 2 // of the pair that holds the first digit: 0 to 127
	dst = append(dst, byte(exponent)^invert)

	// With an even exponent the first pair holds one digit: see decimal.pairs.
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

	// The end: below any digit of a positive number, above any digit of a negative one.
	return append(dst, 0x00^invert)
}
