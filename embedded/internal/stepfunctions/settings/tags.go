package settings

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"ratchet/embedded/internal/stepfunctions/requests"
	"ratchet/embedded/internal/wire"
)

// Limits of tags; lengths are in characters.
// Source: https://docs.aws.amazon.com/step-functions/latest/dg/sfn-best-practices.html#concepts-tagging
const (
	maxTags     = 50
	maxTagKey   = 128
	maxTagValue = 256
)

type tag struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// Tags are the tags of a machine or activity, in the order in which they were added.
type Tags []tag

// Check fails for tags that the service does not accept.
func (t Tags) Check() error {
	for _, each := range t {
		if err := checkTagKey(each.Key); err != nil {
			return err
		}

		if utf8.RuneCountInString(each.Value) > maxTagValue || strings.ContainsFunc(each.Value, noTagRune) {
			return requests.Invalid("the value of tag '%s' must have at most %d characters: letters, digits, white space or _ . : / = + - @",
				each.Key, maxTagValue)
		}
	}

	// with drops repeated keys, which count once.
	return Tags{}.With(t).CheckCount()
}

func checkTagKey(key string) error {
	n := utf8.RuneCountInString(key)
	if n == 0 || n > maxTagKey || strings.ContainsFunc(key, noTagRune) || strings.HasPrefix(strings.ToLower(key), "aws:") {
		return requests.Invalid("a tag's key must have 1 to %d characters: letters, digits, white space or _ . : / = + - @, "+
			"and must not begin with aws:, not '%s'", maxTagKey, key)
	}

	return nil
}

func noTagRune(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsSpace(r) && !strings.ContainsRune("_.:/=+-@", r)
}

func (t Tags) CheckCount() error {
	if len(t) > maxTags {
		return wire.Errorf("TooManyTags", "You've exceeded the number of tags allowed for a resource.")
	}

	return nil
}

// With returns the tags with others added to them. A key that exists gets its new value.
func (t Tags) With(others Tags) Tags {
	all := slices.Clone(t)
	for _, other := range others {
		at := slices.IndexFunc(all, func(each tag) bool { return each.Key == other.Key })
		if at < 0 {
			all = append(all, other)
			continue
		}

		all[at] = other
	}

	return all
}

// Without returns the tags without those keys.
func (t Tags) Without(keys []string) Tags {
	return slices.DeleteFunc(slices.Clone(t), func(each tag) bool { return slices.Contains(keys, each.Key) })
}
