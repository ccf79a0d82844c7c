package rawjson

import (
	"bytes"
	"math"
	"strconv"
	"strings"
)

// Int returns the number v when it is a whole number that fits int64, however
// it is written (12, 1.2e1).
func Int(v []byte) (int64, bool) {
	v = Trim(v)
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

// Rounded returns the number v rounded half away from zero, when it fits int64.
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

	return int64(math.Round(f)), true
}

// decimal is 0.digits times ten to the power of point, without outer zeros.
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
		// Out of range saturates, which keeps the order of magnitudes.
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

// CompareNumbers orders two numbers exactly, at any size.
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

// Equal reports whether two values are the same JSON value: numbers by value,
// objects without regard to order.
func Equal(a, b []byte) bool {
	kind := KindOf(a)
	if kind != KindOf(b) {
		return false
	}

	switch kind {
	case Number:
		return CompareNumbers(a, b) == 0
	case String:
		x, _ := Text(a)
		y, _ := Text(b)
		return x == y
	case Array:
		x, y := Walk(a), Walk(b)
		for {
			mx, my := x.Next(), y.Next()
			if !mx || !my {
				return mx == my
			}

			if !Equal(x.Value, y.Value) {
				return false
			}
		}
	case Object:
		if Len(a) != Len(b) {
			return false
		}

		for c := Walk(a); c.Next(); {
			name, _ := Text(c.Key)

			mine, _ := Member(a, name) // the last of equal names
			other, ok := Member(b, name)
			if !ok || !Equal(mine, other) {
				return false
			}
		}

		return true
	default:
		return bytes.Equal(Trim(a), Trim(b))
	}
}
