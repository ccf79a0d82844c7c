package dynamodb

import (
	"errors"

	"ratchet/embedded/internal/attr"
	"ratchet/embedded/internal/expression"
	"ratchet/embedded/internal/partiql"
	"ratchet/embedded/internal/wire"
)

// maxItem is the size of the largest item in bytes, names and values included.
// Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html
const maxItem = 400 << 10

// invalid returns a ValidationException.
func invalid(format string, args ...any) *wire.Error { return wire.Invalid(format, args...) }

// isMissing reports whether err says that a table does not exist.
func isMissing(err error) bool {
	var e *wire.Error
	return errors.As(err, &e) && e.Type == "ResourceNotFoundException"
}

// asWireError translates an error of attr or expression into DynamoDB's answer. It returns
// any other error as it is; the wire then reports it as an internal error.
func asWireError(err error) error {
	var v *attr.ValidationError
	if errors.As(err, &v) {
		return invalid("%s", v.Message)
	}

	var x *expression.Error
	if errors.As(err, &x) {
		return invalid("%s", x.Message)
	}

	var p *partiql.Error
	if errors.As(err, &p) {
		return invalid("%s", p.Message)
	}

	return err
}

// message returns the text of an error without the name of the exception.
func message(err error) string {
	var e *wire.Error
	if errors.As(err, &e) {
		return e.Message
	}

	return err.Error()
}
