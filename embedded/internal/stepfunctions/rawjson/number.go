package rawjson

import (
	"math"
	"strconv"
	"strings"
)

// Int returns the number v. ok is false unless v is a whole number that fits int64, in any
// notation (12, 1.2e1).
func Int(v []byte) (int64, bool) {
	v = Trim(v)
	// The usual notation needs no decimal.
	if n, err := strconv.ParseInt(string(v), 10, 64); err == nil {
		return n, true
	}

	if KindOf(v) != Number {
		return 0, false
	}

	d := parseDecimal(v)
	if d.digits == "" {
		return 0, true
	}

	// A fraction, or more digits than int64 has. The bound also keeps
	// a huge exponent from making a huge text.
	if d.point < len(d.digits) || d.point > 19 {
		return 0, false
	}

	text := d.digits + strings.Repeat("0", d.point-len(d.digits))
	if d.neg {
		text = "-" + text
	}

	n, err := strconv.ParseInt(text, 10, 64)

	return n, err == nil
}

// Rounded returns the number v, rounded to the nearest integer, halves up. ok is false unless v is a
// number that fits int64.
func Rounded(v []byte) (int64, bool) {
	if n, ok := Int(v); ok {
		return n, true
	}

	if KindOf(v) != Number {
		return 0, false
	}

	f, err := strconv.ParseFloat(string(Trim(v)), 64)
	if err != nil || math.Abs(f) >= 1<<63 {
		return 0, false
	}

	n := math.Floor(f)
	// f+0.5 would be wrong for large numbers, where the sum itself is rounded.
	if f-n >= 0.5 {
		n++
	}

	return int64(n), true
}

// decimal is the number 0.digits * 10^point. digits has no leading or trailing zeros, and
// zero has no digits.
type decimal struct {
	neg    bool
	digits string
	point  int
}

func parseDecimal(v []byte) decimal {
	s := string(Trim(v))
	var d decimal
	if strings.HasPrefix(s, "-") {
		d.neg, s = true, s[1:]
	}

	exp := 0
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		// An exponent out of range becomes the nearest possible one, which keeps the order of
		// magnitudes.
		exp, _ = strconv.Atoi(strings.TrimPrefix(s[i+1:], "+"))
		exp = max(min(exp, math.MaxInt32), math.MinInt32)
		s = s[:i]
	}

	whole, fraction, _ := strings.Cut(s, ".")
	d.point = len(whole) + exp
	s = whole + fraction

	trimmed := strings.TrimLeft(s, "0")

	d.point -= len(s) - len(trimmed)
	d.digits = strings.TrimRight(trimmed, "0")
	if d.digits == "" {
		return decimal{}
	}

	return d
}

// CompareNumbers orders two numbers by value. It is exact for numbers of any size.
func CompareNumbers(a, b []byte) int {
	x, y := parseDecimal(a), parseDecimal(b)
	sign := func(d decimal) int {
		switch {
		case d.digits == "":
			return 0
		case d.neg:
			return -1
		}

		return 1
	}
	// Zero has no digits and no sign, so -0 equals 0.
	if sx, sy := sign(x), sign(y); sx != sy || sx == 0 {
		return min(max(sx-sy, -1), 1)
	}

	order := 0
	switch {
	case x.point != y.point:
		order = 1
		if x.point < y.point {
			order = -1
		}
	default:
		order = strings.Compare(x.digits, y.digits)
	}

	if x.neg {
		return -order
	}

	return order
}
