package expression

import "fmt"

// Error is a refusal that DynamoDB answers as ValidationException; its text is the
// whole message.
type Error struct{ Message string }

func (e *Error) Error() string { return e.Message }

func errorf(format string, args ...any) *Error {
	return &Error{fmt.Sprintf(format, args...)}
}

// What an update can only find out against the item.
const (
	msgInvalidPath = "The document path provided in the update expression is invalid for update"
	msgNoAttribute = "The provided expression refers to an attribute that does not exist in the item"
	msgOperandType = "An operand in the update expression has an incorrect data type"
	msgTooDeep     = "Nesting Levels have exceeded supported limits"
)

// Limits of an expression.
// Rule: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html
const (
	maxSize      = 4096 // bytes of an expression
	maxOperators = 300  // operators and functions
	maxIn        = 100  // operands on the right of IN
	maxReference = 255  // bytes of a #name or :value, the mark included
)
