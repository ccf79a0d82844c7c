package settings

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode"

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
	for i, each := range t {
		member := "tags." + strconv.Itoa(i+1) + ".member."
		if err := cmp.Or(requests.AtMost(each.Key, member+"key", maxTagKey), requests.AtMost(each.Value, member+"value", maxTagValue)); err != nil {
			return err
		}

		if err := checkTagKey(each.Key); err != nil {
			return err
		}

		if strings.ContainsFunc(each.Value, noTagRune) {
			return requests.Invalid("the value of tag '%s' must have at most %d characters: letters, digits, white space or _ . : / = + - @",
				each.Key, maxTagValue)
		}
	}

	// with drops repeated keys, which count once.
	return Tags{}.With(t).CheckCount()
}

func checkTagKey(key string) error {
	if key == "" || strings.ContainsFunc(key, noTagRune) || strings.HasPrefix(strings.ToLower(key), "aws:") {
		return requests.Invalid("a tag's key must have 1 to %d characters: letters, digits, white space or _ . : / = + - @, "+
			"and must not begin with aws:, not '%s'", maxTagKey, key)
	}

	return nil
}

func noTagRune(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsSpace(r) && !strings.ContainsRune("_.:/=+-@", r)
}

// CheckCount fails for more tags than a resource may have.
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
