package dynamodb

import (
	"errors"

	"ratchet/embedded/internal/attr"
	"ratchet/embedded/internal/expression"
	"ratchet/embedded/internal/wire"
)

// MaxItem is the largest item, names and values counted, in bytes.
const MaxItem = 400 << 10

// invalid is a ValidationException.
func invalid(format string, args ...any) *wire.Error { return wire.Invalid(format, args...) }

func tableMissing() *wire.Error {
	return wire.Errorf("ResourceNotFoundException", "Requested resource not found")
}

// schemaError is a refusal that DynamoDB finds only when it holds an action against
// the table's key schema. Within a transaction it is a reason to cancel; other
// refusals of a request are not.
// Source: https://github.com/paritysuite/dynamodb-conformance/pull/46
type schemaError struct{ refusal *wire.Error }

func (e *schemaError) Error() string { return e.refusal.Error() }
func (e *schemaError) Unwrap() error { return e.refusal }

// isMissing reports whether err says that a table is not there.
func isMissing(err error) bool {
	var e *wire.Error
	return errors.As(err, &e) && e.Type == "ResourceNotFoundException"
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
