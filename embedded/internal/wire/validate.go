package wire

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Invalid returns a ValidationException. It has the prefix of Coral, the framework that AWS's JSON
// services share, and not the service's own prefix.
func Invalid(format string, args ...any) *Error {
	e := Errorf("ValidationException", format, args...)
	e.Prefix = "com.amazon.coral.validate#"
	return e
}

// BadParameter returns the ValidationException for a parameter that breaks the
// constraint its API model declares. value is the text as AWS quotes it: "null" or "'x'".
func BadParameter(value, parameter, constraint string) *Error {
	return Invalid("1 validation error detected: Value %s at '%s' failed to satisfy constraint: %s", value, parameter, constraint)
}

// Missing returns the BadParameter error for a required member that is absent.
func Missing(parameter string) *Error {
	return BadParameter("null", parameter, "Member must not be null")
}

// OneOf checks an optional member with a closed set of values. Empty means absent.
func OneOf(value, parameter string, allowed ...string) error {
	if value == "" {
		return nil
	}

	if slices.Contains(allowed, value) {
		return nil
	}

	constraint := "Member must satisfy enum value set: [" + strings.Join(allowed, ", ") + "]"

	return BadParameter("'"+value+"'", parameter, constraint)
}

// Within checks that an optional number lies in lo to hi, both included. Nil means
// absent.
func Within(value *int64, parameter string, lo, hi int64) error {
	constraint := ""
	switch {
	case value == nil:
		return nil
	case *value < lo:
		constraint = "Member must have value greater than or equal to " + strconv.FormatInt(lo, 10)
	case *value > hi:
		constraint = "Member must have value less than or equal to " + strconv.FormatInt(hi, 10)
	default:
		return nil
	}

	return BadParameter(fmt.Sprintf("'%d'", *value), parameter, constraint)
}
