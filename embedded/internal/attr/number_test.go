package attr

import (
	"fmt"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParseNumber(t *testing.T) {
	digits38 := "12345678901234567890123456789012345678"
	for _, tt := range []struct{ in, want, fault string }{
		{in: "1", want: "1"},
		{in: "01", want: "1"},
		{in: "+1", want: "1"},
		{in: "-0", want: "0"},
		{in: "0.0", want: "0"},
		{in: "1.0", want: "1"},
		{in: "1.50", want: "1.5"},
		{in: "-0.5", want: "-0.5"},
		{in: ".5", want: "0.5"},
		{in: "5.", want: "5"},
		{in: "1e5", want: "100000"},
		{in: "1E+20", want: "100000000000000000000"},
		{in: "1e-7", want: "0.0000001"},
		{in: "0e999", want: "0"},
		{in: "123.4500e1", want: "1234.5"},
		{in: "1e125", want: "1" + strings.Repeat("0", 125)},
		{in: "-1e-130", want: "-0." + strings.Repeat("0", 129) + "1"},
		{in: digits38, want: digits38},
		{in: digits38 + "0", want: digits38 + "0"},
		{in: "0." + digits38, want: "0." + digits38},
		{in: digits38 + "00000e10", want: digits38 + strings.Repeat("0", 15)},
		{in: "1e126", fault: msgOverflow},
		{in: "-1e99999", fault: msgOverflow},
		{in: "1e-131", fault: msgUnderflow},
		{in: "1e-99999", fault: msgUnderflow},
		{in: digits38 + "9", fault: msgPrecision},
		{in: "9.99999999999999999999999999999999999999e125", fault: msgPrecision},
		{in: "", fault: msgNotNumeric},
		{in: "abc", fault: msgNotNumeric + ": abc"},
		{in: " 1", fault: msgNotNumeric + ":  1"},
		{in: "1 ", fault: msgNotNumeric + ": 1 "},
		{in: "1e", fault: msgNotNumeric + ": 1e"},
		{in: "0x10", fault: msgNotNumeric + ": 0x10"},
		{in: "1_0", fault: msgNotNumeric + ": 1_0"},
		{in: ".", fault: msgNotNumeric + ": ."},
		{in: "-", fault: msgNotNumeric + ": -"},
		{in: "1.2.3", fault: msgNotNumeric + ": 1.2.3"},
		{in: "NaN", fault: msgNotNumeric + ": NaN"},
		{in: "e5", fault: msgNotNumeric + ": e5"},
		{in: "1e9999999999", fault: msgNotNumeric + ": 1e9999999999"},
	} {
		got, err := ParseNumber(tt.in)
		if tt.fault != "" {
			if err == nil || err.Error() != tt.fault || !isValidation(err) {
				t.Errorf("ParseNumber(%q): got %q, error %v, want error %q", tt.in, got, err, tt.fault)
			}
		} else if err != nil || got != tt.want {
			t.Errorf("ParseNumber(%q): got %q, error %v, want %q", tt.in, got, err, tt.want)
		}
	}
}

// genNumber draws canonical numbers: tiny ones (often equal), integers, and any that
// DynamoDB can hold.
func genNumber() *rapid.Generator[string] {
	integer := rapid.Map(rapid.Int64(), func(n int64) string { return fmt.Sprint(n) })
	tiny := rapid.Map(rapid.IntRange(-3, 3), func(n int) string { return fmt.Sprint(n) })
	anyNumber := rapid.Custom(func(t *rapid.T) string {
		sign := rapid.SampledFrom([]string{"", "-"}).Draw(t, "sign")
		digits := rapid.StringMatching(`[1-9][0-9]{0,37}`).Draw(t, "digits")
		exponent := rapid.IntRange(minExponent, maxExponent-len(digits)+1).Draw(t, "exponent")
		return fmt.Sprintf("%s%se%d", sign, digits, exponent)
	})

	return rapid.Map(rapid.OneOf(integer, tiny, anyNumber), func(text string) string {
		n, err := ParseNumber(text)
		if err != nil {
			panic(err)
		}

		return n
	})
}

func rational(t *rapid.T, text string) *big.Rat {
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		t.Fatalf("%q is no number", text)
	}

	return r
}

// Parsing, order and arithmetic agree with math/big, and every result is canonical.
func TestNumbersAgainstMathBig(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := genNumber().Draw(t, "a"), genNumber().Draw(t, "b")
		if again, err := ParseNumber(a); err != nil || again != a {
			t.Fatalf("the canonical %q is read as %q, %v", a, again, err)
		}

		x, y := rational(t, a), rational(t, b)
		if got, want := compareNumber(a, b), x.Cmp(y); got != want {
			t.Fatalf("CompareNumber(%s, %s) = %d, want %d", a, b, got, want)
		}
		check := func(name string, got string, err error, want *big.Rat) {
			if err != nil {
				if d, perr := ParseNumber(exact(want)); perr == nil {
					t.Fatalf("%s of %s and %s: %v, but it is %s", name, a, b, err, d)
				}
				return
			}

			if rational(t, got).Cmp(want) != 0 {
				t.Fatalf("%s of %s and %s: got %s, want %s", name, a, b, got, exact(want))
			}

			if again, err := ParseNumber(got); err != nil || again != got {
				t.Fatalf("%s of %s and %s: %s is not canonical: %v", name, a, b, got, err)
			}
		}
		sum, err := AddNumber(a, b)
		check("the sum", sum, err, new(big.Rat).Add(x, y))
		difference, err := SubNumber(a, b)
		check("the difference", difference, err, new(big.Rat).Sub(x, y))
	})
}

// exact returns all digits of a rational whose denominator is a power of ten.
func exact(r *big.Rat) string { return r.FloatString(200) }

func FuzzParseNumber(f *testing.F) {
	for _, s := range []string{"1", "-0.5", "1e5", ".5e-3", "00012.3400", "1e126", "1e-131", "abc"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := ParseNumber(s)
		if err != nil {
			return
		}

		if again, err := ParseNumber(n); err != nil || again != n {
			t.Fatalf("%q becomes %q, which becomes %q, %v", s, n, again, err)
		}

		if len(s) < 200 {
			if want, ok := new(big.Rat).SetString(s); !ok || want.Cmp(mustRat(t, n)) != 0 {
				t.Fatalf("%q becomes %q", s, n)
			}
		}
	})
}

func mustRat(t *testing.T, s string) *big.Rat {
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		t.Fatalf("%q is no number", s)
	}

	return r
}
