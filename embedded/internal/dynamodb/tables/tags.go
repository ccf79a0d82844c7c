package tables

import (
	"maps"
	"strings"
	"unicode"
	"unicode/utf8"

	"ratchet/embedded/internal/wire"
)

// maxTags is how many tags a table can have.
// Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Tagging.html
const maxTags = 50

// AddTags adds tags to the record and replaces tags with the same key.
// Source of the words: ack-api-quirks, services/dynamodb, "The Tag Key provided is invalid" and the errors beside
// it, recorded on the service. The order of the checks is not recorded.
func (r *Record) AddTags(tags []Tag) error {
	// Cloned, because readers use the map of the published state.
	next := maps.Clone(r.Tags)
	if next == nil {
		next = map[string]string{}
	}

	seen := map[string]bool{}
	for _, t := range tags {
		switch {
		case !isTagText(t.Key, 1, 128):
			return wire.Invalid("The Tag Key provided is invalid, Key: %s", orNull(t.Key))
		case !isTagText(t.Value, 0, 256):
			return wire.Invalid("The Tag Value provided is invalid, Value: %s", orNull(t.Value))
		case strings.HasPrefix(strings.ToLower(*t.Key), "aws:"):
			return wire.Invalid("Tag Key cannot be prefixed with aws:, Key: %s", *t.Key)
		case seen[*t.Key]:
			return wire.Invalid("Duplicate Tag Keys provided as input: Duplicate Tag Key found %s", *t.Key)
		}
		seen[*t.Key], next[*t.Key] = true, *t.Value
	}

	if len(next) > maxTags {
		return wire.Invalid("Number of Tags exceed the current limit for the provided ResourceArn")
	}
	r.Tags = next

	return nil
}

// RemoveTags removes the tags with these keys.
func (r *Record) RemoveTags(keys []*string) error {
	r.Tags = maps.Clone(r.Tags)
	for _, k := range keys {
		if !isTagText(k, 1, 128) {
			return wire.Invalid("The Tag Key provided is invalid, Key: %s", orNull(k))
		}
		delete(r.Tags, *k)
	}

	return nil
}

// isTagText reports whether the text can be the key or the value of a tag: letters, numbers and spaces of any
// language, and a few signs.
// Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Tagging.html
func isTagText(text *string, least, most int) bool {
	if text == nil {
		return false
	}

	for _, c := range *text {
		if !unicode.IsLetter(c) && !unicode.IsNumber(c) && !unicode.IsSpace(c) && !strings.ContainsRune("+-=._:/@", c) {
			return false
		}
	}

	n := utf8.RuneCountInString(*text)

	return n >= least && n <= most
}

// orNull returns the text as messages show it.
func orNull(text *string) string {
	if text == nil {
		return "null"
	}

	return *text
}
