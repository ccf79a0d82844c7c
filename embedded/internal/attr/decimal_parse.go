package attr

import (
	"math"
	"strconv"
)

// parseDecimal reads [sign] digits [. digits] [e [sign] digits].
func parseDecimal(text string) (decimal, error) {
	var d decimal
	s := decimalScanner{text: text}

	d.negative = s.sign()
	tooLong, hasDigits := s.mantissa(&d)
	shift, ok := s.exponent()
	if !hasDigits || !ok || s.at != len(text) {
		return d, notNumeric(text)
	}

	if d.n == 0 {
		return decimal{}, nil // also -0 and 0e999
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

// decimalScanner reads the text of a number from left to right.
type decimalScanner struct {
	text string
	at   int
}

func (s *decimalScanner) sign() (negative bool) {
	if s.at < len(s.text) && (s.text[s.at] == '-' || s.text[s.at] == '+') {
		negative = s.text[s.at] == '-'
		s.at++
	}

	return negative
}

// mantissa reads digits and at most one point into d. It keeps count of zeros until a
// later digit makes them significant. tooLong reports more digits than d holds, ok that
// there was at least one digit.
func (s *decimalScanner) mantissa(d *decimal) (tooLong, ok bool) {
	point, zeros := false, 0

	// The first digit before the point raises it to 0.
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
			d.exponent-- // a zero between the point and the first digit
		case c == '0' && !started:
			// A leading zero means nothing.
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

// exponent reads the part after the mantissa. Without that part the exponent is 0. Like
// the service, which uses java.math.BigDecimal, it accepts an exponent of 32 bits. A
// longer one makes the text no number, not a number out of range.
func (s *decimalScanner) exponent() (int, bool) {
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
