package expression

import "fmt"

// Error is an error that DynamoDB answers as a ValidationException with this message.
type Error struct{ Message string }

func (e *Error) Error() string { return e.Message }

func errorf(format string, args ...any) *Error {
	return &Error{fmt.Sprintf(format, args...)}
}

// The errors of an update that depend on the item.
const (
	msgInvalidPath  = "The document path provided in the update expression is invalid for update"
	msgNoAttribute  = "The provided expression refers to an attribute that does not exist in the item"
	msgOperandType  = "An operand in the update expression has an incorrect data type"
	msgTypeMismatch = "Type mismatch for attribute to update"
	msgTooDeep      = "Nesting Levels have exceeded supported limits"
)

// The limits of an expression.
// Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html
const (
	maxSize      = 4096 // characters of an expression
	maxOperators = 300  // operators and functions
	maxIn        = 100  // operands on the right of IN
	maxReference = 255  // bytes of a #name or :value, with the first character
)
