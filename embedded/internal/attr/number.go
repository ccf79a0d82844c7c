package attr

import (
	"cmp"
	"strconv"
)

// intDigits is the number of decimal digits that two integers may have so that their sum
// fits an int64.
const intDigits = 18

// ParseNumber returns the canonical text of a number in any notation that DynamoDB reads
// ("1.50", "+1e3", ".5"). It fails with a *ValidationError when the text is no number,
// out of range, or has more than 38 significant digits.
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

// compareNumber orders two canonical numbers by value. It panics on any other text.
func compareNumber(a, b string) int {
	if a == b {
		return 0
	}

	if x, ok := smallInt(a); ok {
		if y, ok := smallInt(b); ok {
			return cmp.Compare(x, y)
		}
	}

	x, y := mustDecimal(a), mustDecimal(b)

	return x.compare(&y)
}

// plainInteger reports whether text is a canonical integer of at most intDigits digits.
// Most numbers are; they need no decimal.
func plainInteger(text string) bool {
	digits := text
	if len(digits) > 0 && digits[0] == '-' {
		digits = digits[1:]
	}

	// 0 is canonical; 007 and -0 are not.
	if len(digits) == 0 || len(digits) > intDigits || digits[0] == '0' && len(text) > 1 {
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
