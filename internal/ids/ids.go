// Package ids writes the ids of orders where they become a part of a longer name: of a key, a header, a
// file or a path.
//
// An id is any text of 1 to 256 bytes that [Valid] accepts, so it may have the characters that separate the
// parts of a name. [Encode] writes it with the characters A-Z a-z 0-9 _ . : - and "%XX" for every other byte.
// An id of those characters alone is its own encoding, but for "." and "..", which mean something else in a
// path. Two ids never have the same encoding, and [Decode] is the inverse.
//
// Several texts are told from others by their [Digest].
//
// A name with a bound is made by [Fit], which puts a digest in the place of a text that is too long. It is
// never parsed: the id comes from an input or a body.
package ids

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Most is how many bytes an id has at most.
const Most = 256

const digits = "0123456789ABCDEF"

// isPlain holds for the bytes that stand for themselves. It is a table, because every key of an order needs it.
var isPlain = func() (plain [256]bool) {
	for c := range plain {
		plain[c] = strings.IndexByte("_.:-", byte(c)) >= 0 || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z' || '0' <= c && c <= '9'
	}

	return plain
}()

// Valid reports whether the text is an id: 1 to 256 bytes of UTF-8 without control characters.
func Valid(id string) bool {
	if id == "" || len(id) > Most {
		return false
	}

	for i := range len(id) {
		if !isPlain[id[i]] {
			return utf8.ValidString(id) && !strings.ContainsFunc(id, unicode.IsControl)
		}
	}

	return true
}

// Encode returns the id as a part of a longer name.
func Encode(id string) string {
	plain := 0
	for plain < len(id) && isPlain[id[plain]] {
		plain++
	}

	if plain == len(id) && !isDots(id) {
		return id
	}

	var b strings.Builder
	b.Grow(3 * len(id))

	for i := range len(id) {
		if c := id[i]; isPlain[c] && !isDots(id) {
			b.WriteByte(c)
		} else {
			b.WriteString("%" + string(digits[c>>4]) + string(digits[c&15]))
		}
	}

	return b.String()
}

// isDots holds for the names of this directory and the one above.
func isDots(id string) bool { return id == "." || id == ".." }

// Decode returns the id that Encode has written. It reports false for every other text.
func Decode(text string) (id string, ok bool) {
	if !strings.Contains(text, "%") {
		return text, Encode(text) == text
	}

	raw := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		if text[i] != '%' {
			raw = append(raw, text[i])
			continue
		}

		if i+2 >= len(text) {
			return "", false
		}
		high, low := strings.IndexByte(digits, text[i+1]), strings.IndexByte(digits, text[i+2])

		if high < 0 || low < 0 {
			return "", false
		}
		raw = append(raw, byte(high<<4|low))
		i += 2
	}

	id = string(raw)

	return id, Encode(id) == text
}

// Cut returns the id with which a key begins whose parts are separated by slashes, and the rest of the key
// behind the slash. It reports false for a key of another form.
func Cut(key string) (id, rest string, ok bool) {
	first, rest, found := strings.Cut(key, "/")
	id, ok = Decode(first)

	return id, rest, found && ok
}

// Fit returns the text, or, if it has more than most bytes, "~" and the SHA-256 digest of it in hexadecimal.
// No encoded id has this form. most is at least 65.
func Fit(text string, most int) string {
	if len(text) <= most {
		return text
	}

	sum := sha256.Sum256([]byte(text))

	return "~" + hex.EncodeToString(sum[:])
}

// maxGroup is how many characters the message group of a FIFO queue or topic may have.
const maxGroup = 128

// Group returns the message group of the order with the id in a FIFO queue or topic.
func Group(id string) string { return Fit(Encode(id), maxGroup) }
