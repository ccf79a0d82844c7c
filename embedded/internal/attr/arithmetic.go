package attr

import (
	"math/big"
	"strconv"
	"strings"
)

// AddNumber returns a+b exactly, for canonical numbers. The error is a
// *ValidationError when the sum needs more than 38 digits or leaves the range:
// DynamoDB refuses instead of rounding.
func AddNumber(a, b string) (string, error) { return sum(a, b, false) }

// SubNumber returns a-b exactly, with AddNumber's errors.
func SubNumber(a, b string) (string, error) { return sum(a, b, true) }

func sum(a, b string, subtract bool) (string, error) {
	if x, ok := smallInt(a); ok {
		if y, ok := smallInt(b); ok {
			if subtract {
				y = -y
			}
			return strconv.FormatInt(x+y, 10), nil
		}
	}

	x, y := mustDecimal(a), mustDecimal(b)
	if subtract {
		y.negative = !y.negative
	}
	scale := min(x.scale(), y.scale())
	total := x.scaled(scale)
	total.Add(total, y.scaled(scale))

	return fromScaled(total, scale)
}

// scale is the exponent of the last digit.
func (d *decimal) scale() int {
	if d.n == 0 {
		return maxExponent
	}
	return d.exponent - d.n + 1
}

// scaled is the number as a multiple of 10^scale, which must not exceed d.scale().
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

func fromScaled(n *big.Int, scale int) (string, error) {
	text := n.Text(10)

	digits := strings.TrimRight(strings.TrimPrefix(text, "-"), "0")
	if digits == "" {
		return "0", nil
	}

	d := decimal{negative: n.Sign() < 0}
	d.exponent = len(strings.TrimPrefix(text, "-")) - 1 + scale
	d.n = copy(d.digits[:], digits)
	if err := d.check(len(digits) > maxDigits); err != nil {
		return "", err
	}

	return d.String(), nil
}
