package store

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

func TestSequenceNumbersCompareAsIntegers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		digits := rapid.StringMatching(`[0-9]{1,40}`)
		a, b := digits.Draw(t, "a"), digits.Draw(t, "b")
		var x, y big.Int
		x.SetString(a, 10)
		y.SetString(b, 10)

		if got, want := CompareSequence(a, b), x.Cmp(&y); got != want {
			t.Fatalf("CompareSequence(%s, %s) = %d, want %d", a, b, got, want)
		}
	})
}
