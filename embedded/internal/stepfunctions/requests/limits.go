package requests

import (
	"strconv"
	"unicode/utf8"

	"ratchet/embedded/internal/wire"
)

// The service checks the members of a request against its API model, in the words of its framework, before it looks at
// what they mean.
// Source: https://github.com/getmoto/moto/issues/6438 (an answer of StartExecution); the limits are those of the API model.

// AtMost fails for a text member that is longer than its most characters.
func AtMost(value, member string, most int) error {
	if utf8.RuneCountInString(value) <= most {
		return nil
	}

	return wire.BadParameter("'"+value+"'", member, tooLong(most))
}

// SecretAtMost is AtMost for a member that the model marks as sensitive: the message does not quote it.
func SecretAtMost(value, member string, most int) error {
	if utf8.RuneCountInString(value) <= most {
		return nil
	}

	return Invalid("1 validation error detected: Value at '%s' failed to satisfy constraint: %s", member, tooLong(most))
}

func tooLong(most int) string {
	return "Member must have length less than or equal to " + strconv.Itoa(most)
}
