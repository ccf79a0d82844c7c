package dynamodb

import (
	"errors"
	"strings"

	"ratchet/embedded/internal/attr"
	"ratchet/embedded/internal/expression"
	"ratchet/embedded/internal/wire"
)

// Names before "__type" that differ from the service's own.
const coral = "com.amazon.coral.validate#"

// MaxItem is the largest item, names and values counted, in bytes.
const MaxItem = 400 << 10

// invalid is a ValidationException.
func invalid(format string, args ...any) *wire.Error {
	e := wire.Errorf("ValidationException", format, args...)
	e.Prefix = coral
	return e
}

// badParameter is the ValidationException for a parameter that breaks its
// declared constraint; value is the text as DynamoDB quotes it ("null" or "'x'").
func badParameter(value, parameter, constraint string) *wire.Error {
	return invalid("1 validation error detected: Value %s at '%s' failed to satisfy constraint: %s", value, parameter, constraint)
}

// badEnum is badParameter for a value outside its enumeration.
func badEnum(value, parameter string, allowed ...string) *wire.Error {
	return badParameter("'"+value+"'", parameter, "Member must satisfy enum value set: ["+strings.Join(allowed, ", ")+"]")
}

func tableMissing() *wire.Error {
	return wire.Errorf("ResourceNotFoundException", "Requested resource not found")
}

// refusal turns an error of the packages below into the answer DynamoDB gives;
// other errors pass through as the engine's own fault.
func refusal(err error) error {
	var v *attr.ValidationError
	if errors.As(err, &v) {
		return invalid("%s", v.Message)
	}
	var s *attr.SerializationError
	if errors.As(err, &s) {
		return wire.Malformed(s.Message)
	}
	var x *expression.Error
	if errors.As(err, &x) {
		return invalid("%s", x.Message)
	}
	return err
}

// message is an error's text without the exception's name.
func message(err error) string {
	var e *wire.Error
	if errors.As(err, &e) {
		return e.Message
	}
	return err.Error()
}
