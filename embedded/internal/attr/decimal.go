package attr

import (
	"bytes"
	"cmp"
	"math/big"
	"strconv"
)

// Limits of a DynamoDB number: significant digits, and the decimal exponent of the
// first of them.
const (
	maxDigits   = 38
	maxExponent = 125
	minExponent = -130
)

// decimal is a number as sign, digits and exponent. It holds the significant digits
// without leading or trailing zeros and the exponent of the first one: 12.5 is the digits
// 125 and the exponent 1. Zero has no digits.
type decimal struct {
	negative bool
	exponent int
	n        int // how many of digits are used
	digits   [maxDigits]byte
}

// mustDecimal parses a canonical number. It panics on any other text: numbers inside the
// engine come from ParseNumber.
func mustDecimal(text string) decimal {
	d, err := parseDecimal(text)
	if err != nil {
		panic("attr: number " + strconv.Quote(text) + " did not come from ParseNumber: " + err.Error())
	}

	return d
}

// check returns an error when the number exceeds DynamoDB's limits. tooLong says that it
// has more digits than a decimal holds. DynamoDB reports the range before the precision.
func (d *decimal) check(tooLong bool) error {
	switch {
	case d.n == 0:
		return nil
	case d.exponent > maxExponent:
		return errOverflow
	case d.exponent < minExponent:
		return errUnderflow
	case tooLong:
		return errPrecision
	}

	return nil
}

// push appends a digit and reports whether there was no room for it.
func (d *decimal) push(c byte) (full bool) {
	if d.n == maxDigits {
		return true
	}
	d.digits[d.n] = c
	d.n++

	return false
}

func (d *decimal) sign() int {
	switch {
	case d.n == 0:
		return 0
	case d.negative:
		return -1
	default:
		return 1
	}
}

// compare orders by value.
func (d *decimal) compare(o *decimal) int {
	if order := cmp.Compare(d.sign(), o.sign()); order != 0 {
		return order
	}

	order := d.compareMagnitude(o)
	if d.negative {
		return -order
	}

	return order
}

// compareMagnitude orders by absolute value. With equal exponents the digits decide; if the digits
// of one number begin with all digits of the other, the longer number is larger.
func (d *decimal) compareMagnitude(o *decimal) int {
	// The exponent of a zero means nothing.
	if d.exponent != o.exponent && d.n > 0 && o.n > 0 {
		return cmp.Compare(d.exponent, o.exponent)
	}

	return bytes.Compare(d.digits[:d.n], o.digits[:o.n])
}

// String returns the canonical text: plain digits without an exponent, as the service
// returns numbers.
func (d *decimal) String() string {
	if d.n == 0 {
		return "0"
	}

	// Three more for a sign and "0.".
	buf := make([]byte, 0, max(d.exponent, d.n-d.exponent, d.n)+3)
	if d.negative {
		buf = append(buf, '-')
	}

	digits := d.digits[:d.n]
	switch whole := d.exponent + 1; {
	case whole <= 0:
		buf = append(buf, "0."...)
		buf = appendZeros(buf, -whole)
		buf = append(buf, digits...)
	case whole >= d.n:
		buf = append(buf, digits...)
		buf = appendZeros(buf, whole-d.n)
	default:
		buf = append(buf, digits[:whole]...)
		buf = append(buf, '.')
		buf = append(buf, digits[whole:]...)
	}

	return string(buf)
}

func appendZeros(dst []byte, n int) []byte {
	for range n {
		dst = append(dst, '0')
	}
	return dst
}

// scale returns the exponent of the last digit. Zero has the largest scale, so that zero never
// decides the scale of a sum.
func (d *decimal) scale() int {
	if d.n == 0 {
		return maxExponent
	}

	return d.exponent - d.n + 1
}

// scaled returns the number as a multiple of 10^scale. scale must not exceed d.scale().
func (d *decimal) scaled(scale int) *big.Int {
	if d.n == 0 {
		return new(big.Int)
	}

	n, _ := new(big.Int).SetString(string(d.digits[:d.n]), 10)
	n.Mul(n, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(d.scale()-scale)), nil))

	if d.negative {
		n.Neg(n)
	}

	return n
}

// pairs returns the number of base-100 digits. Pairs are counted from the decimal point,
// so with an even exponent the first pair holds one digit: 123 is 01 23.
func (d *decimal) pairs() int {
	lead := 0
	if d.exponent%2 == 0 {
		lead = 1
	}

	return (d.n + lead + 1) / 2
}
