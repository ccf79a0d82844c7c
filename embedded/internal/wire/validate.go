package wire

import (
	"fmt"
	"strconv"
	"strings"
)

// Invalid is a ValidationException in the name of the framework that AWS's JSON
// services share.
func Invalid(format string, args ...any) *Error {
	e := Errorf("ValidationException", format, args...)
	e.Prefix = "com.amazon.coral.validate#"
	return e
}

// BadParameter is the ValidationException for a parameter that breaks its
// declared constraint; value is the text as AWS quotes it ("null" or "'x'").
func BadParameter(value, parameter, constraint string) *Error {
	return Invalid("1 validation error detected: Value %s at '%s' failed to satisfy constraint: %s", value, parameter, constraint)
}

// Missing is BadParameter for a required member that is not there.
func Missing(parameter string) *Error {
	return BadParameter("null", parameter, "Member must not be null")
}

// OneOf checks an optional enumeration member; empty is allowed.
func OneOf(value, parameter string, allowed ...string) error {
	if value == "" {
		return nil
	}

	for _, a := range allowed {
		if value == a {
			return nil
		}
	}

	return BadParameter("'"+value+"'", parameter, "Member must satisfy enum value set: ["+strings.Join(allowed, ", ")+"]")
}

// Within checks an optional number against its bounds.
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
