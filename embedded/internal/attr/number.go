package attr

import (
	"math"
	"strconv"
	"strings"
)

// Limits of a DynamoDB number: significant digits, and the decimal exponent of the
// first of them.
const (
	maxDigits   = 38
	maxExponent = 125
	minExponent = -130
)

// intDigits is how many decimal digits always fit an int64 sum of two.
const intDigits = 18

// decimal is a number taken apart: sign, significant digits without leading or
// trailing zeros, and the exponent of the first digit (12.5 is 125 and 1). Zero
// has no digits.
type decimal struct {
	negative bool
	exponent int
	n        int
	digits   [maxDigits]byte
}

// ParseNumber returns the canonical text of a number in any notation that
// DynamoDB reads ("1.50", "+1e3", ".5"). The error is a *ValidationError: no
// number, out of range, or more than 38 significant digits.
func ParseNumber(text string) (string, error) {
	if plainInteger(text) {
		return text, nil
	}

	d, err := parseDecimal(text)
	if err != nil {
		return "", err
	}

	return d.String(), nil
}

// CompareNumber orders two canonical numbers by value.
func CompareNumber(a, b string) int {
	if a == b {
		return 0
	}

	if x, ok := smallInt(a); ok {
		if y, ok := smallInt(b); ok {
			if x < y {
				return -1
			}
			return 1
		}
	}
	x, y := mustDecimal(a), mustDecimal(b)

	return x.compare(&y)
}

// plainInteger reports whether text is already canonical and fits an int64.
func plainInteger(text string) bool {
	digits := strings.TrimPrefix(text, "-")
	if digits == "" || len(digits) > intDigits || digits[0] == '0' && text != "0" {
		return false
	}

	for i := range len(digits) {
		if digits[i]-'0' > 9 {
			return false
		}
	}

	return true
}

func smallInt(text string) (int64, bool) {
	if !plainInteger(text) {
		return 0, false
	}
	n, err := strconv.ParseInt(text, 10, 64)

	return n, err == nil
}

// mustDecimal takes a canonical number apart. It is called with numbers that
// ParseNumber has made, so a failure is a defect of this program.
func mustDecimal(text string) decimal {
	d, err := parseDecimal(text)
	if err != nil {
		panic("attr: number " + strconv.Quote(text) + " did not come from ParseNumber: " + err.Error())
	}

	return d
}

// parseDecimal reads [sign] digits [. digits] [e [sign] digits].
func parseDecimal(text string) (decimal, error) {
	var d decimal
	s := scan{text: text}

	d.negative = s.sign()
	tooLong, ok := s.mantissa(&d)
	shift, shifted := s.exponent()
	if !ok || !shifted || s.at != len(text) {
		return d, notNumeric(text)
	}

	if d.n == 0 {
		return decimal{}, nil
	}
	d.exponent += shift

	return d, d.check(tooLong)
}

func notNumeric(text string) error {
	if text == "" {
		return &ValidationError{msgNotNumeric}
	}
	return &ValidationError{msgNotNumeric + ": " + text}
}

// check holds the number against DynamoDB's limits, range before precision.
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

// scan is a position in the text of a number.
type scan struct {
	text string
	at   int
}

func (s *scan) sign() (negative bool) {
	if s.at < len(s.text) && (s.text[s.at] == '-' || s.text[s.at] == '+') {
		negative = s.text[s.at] == '-'
		s.at++
	}

	return negative
}

// mantissa reads digits and at most one point into d. Zeros are held back until a
// later digit makes them significant.
func (s *scan) mantissa(d *decimal) (tooLong, ok bool) {
	point, zeros := false, 0
	d.exponent = -1
	for ; s.at < len(s.text); s.at++ {
		c := s.text[s.at]
		if c == '.' {
			if point {
				return false, false
			}
			point = true
			continue
		}

		if c-'0' > 9 {
			break
		}
		ok = true

		switch started := d.n > 0; {
		case c == '0' && !started && point:
			d.exponent--
		case c == '0' && !started:
		case c == '0':
			zeros++
		default:
			for ; zeros > 0; zeros-- {
				tooLong = d.push('0') || tooLong
			}
			tooLong = d.push(c) || tooLong
		}

		if !point && d.n > 0 {
			d.exponent++
		}
	}

	return tooLong, ok
}

// push appends a digit and reports whether there was no room.
func (d *decimal) push(c byte) (full bool) {
	if d.n == maxDigits {
		return true
	}
	d.digits[d.n] = c
	d.n++

	return false
}

// exponent reads what follows the mantissa. Like the service (java.math.BigDecimal)
// it takes an exponent of 32 bits and refuses a longer one as no number.
func (s *scan) exponent() (int, bool) {
	if s.at == len(s.text) || s.text[s.at] != 'e' && s.text[s.at] != 'E' {
		return 0, true
	}
	s.at++

	n, err := strconv.ParseInt(s.text[s.at:], 10, 64)
	if err != nil || n < math.MinInt32 || n > math.MaxInt32 {
		return 0, false
	}
	s.at = len(s.text)

	return int(n), true
}

// compare orders by value.
func (d *decimal) compare(o *decimal) int {
	if s, t := d.sign(), o.sign(); s != t {
		if s < t {
			return -1
		}
		return 1
	}

	c := d.compareMagnitude(o)
	if d.negative {
		return -c
	}

	return c
}

func (d *decimal) compareMagnitude(o *decimal) int {
	if d.exponent != o.exponent && d.n > 0 && o.n > 0 {
		if d.exponent < o.exponent {
			return -1
		}
		return 1
	}

	return strings.Compare(string(d.digits[:d.n]), string(o.digits[:o.n]))
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

// String writes the canonical text: plain digits, never an exponent, which is how
// the service answers.
func (d *decimal) String() string {
	if d.n == 0 {
		return "0"
	}

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
