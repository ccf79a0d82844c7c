package attr

import (
	"math/big"
	"strconv"
	"strings"
)

// AddNumber returns the exact sum of two canonical numbers. It fails with a
// *ValidationError when the sum needs more than 38 digits or leaves the range: DynamoDB
// does not round.
func AddNumber(a, b string) (string, error) { return sum(a, b, false) }

// SubNumber returns the exact difference a-b, with the errors of AddNumber.
func SubNumber(a, b string) (string, error) { return sum(a, b, true) }

func sum(a, b string, subtract bool) (string, error) {
	// Most sums are of small integers and need no big.Int.
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

	// Both numbers become integers in units of the smaller of their last digits.
	scale := min(x.scale(), y.scale())
	total := x.scaled(scale)
	total.Add(total, y.scaled(scale))

	return fromScaled(total, scale)
}

// fromScaled returns the canonical text of n times 10^scale.
func fromScaled(n *big.Int, scale int) (string, error) {
	text := strings.TrimPrefix(n.Text(10), "-")

	digits := strings.TrimRight(text, "0")
	if digits == "" {
		return "0", nil
	}

	// The exponent is of the first digit, so it counts the zeros that were cut off at the end.
	d := decimal{negative: n.Sign() < 0, exponent: len(text) - 1 + scale}

	// Digits that do not fit are left out here and refused by check.
	d.n = copy(d.digits[:], digits)
	if err := d.check(len(digits) > maxDigits); err != nil {
		return "", err
	}

	return d.String(), nil
}
