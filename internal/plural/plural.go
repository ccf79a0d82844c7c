// Package plural writes counts in texts for people: "1 order", "2 orders".
package plural

import (
	"fmt"
	"strings"
)

// Of returns the number and the noun in the form that goes with it. The noun is a singular whose last
// word is regular, as "order", "entry", "process" or "dead letter".
func Of[N ~int | ~int32 | ~int64 | ~uint64](n N, noun string) string {
	return fmt.Sprint(n) + " " + Noun(n, noun)
}

// Noun returns the form of the noun that goes with the number.
func Noun[N ~int | ~int32 | ~int64 | ~uint64](n N, noun string) string {
	if n == 1 {
		return noun
	}

	// "day" but "entry": a vowel before the y keeps it.
	if stem, ok := strings.CutSuffix(noun, "y"); ok && stem != "" && !strings.ContainsRune("aeiou", rune(stem[len(stem)-1])) {
		return stem + "ies"
	}

	for _, hissing := range []string{"s", "x", "z", "ch", "sh"} {
		if strings.HasSuffix(noun, hissing) {
			return noun + "es"
		}
	}

	return noun + "s"
}

// First lists the first of many texts, as "a, b and 3 more".
func First(all []string, most int) string {
	if more := len(all) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(all[:most], ", "), more)
	}

	return strings.Join(all, ", ")
}

// Thousands writes 1234567 as 1,234,567.
func Thousands[N ~int | ~int32 | ~int64](n N) string {
	text := fmt.Sprint(n)
	// There is no comma directly behind a minus.
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}

	return text
}
