package partiql

import "fmt"

// Error is an error that DynamoDB answers as a ValidationException with this message.
type Error struct{ Message string }

func (e *Error) Error() string { return e.Message }

func errorf(format string, args ...any) *Error {
	return &Error{fmt.Sprintf(format, args...)}
}

// malformed is the error of a statement that cannot be read. detail is empty for a text with
// which no token begins.
func malformed(detail string) *Error {
	return errorf("Statement wasn't well formed, can't be processed: %s", detail)
}

const (
	msgLeftover  = "Unexpected token after expression"
	msgNoCommand = "Expected data manipulation"
	msgAlias     = "Aliasing is not supported"
	msgOneTable  = "FROM clause may only contain a single table name in data manipulation statements"
	// Source: https://docs.rs/crate/dynoxide-rs/3.2.0/source/tests/partiql_index_qualifier.rs,
	// "a_qualifier_on_a_write_statement_is_rejected", recorded on the service
	msgOnIndex    = "This operation is not supported on an index"
	msgTableName  = "Table name should be within the length [3, 255] and only contain 'a-z', 'A-Z', '0-9', '-', '_', '.'."
	msgBadIn      = "IN operator must have a left hand argument of type Variable Reference and right hand argument of type Seq with at least one member"
	msgNotBool    = "WHERE clause must contain an expression that resolves to a boolean"
	msgNotJoined  = "The arguments to AND/OR must be Expressions"
	msgNotNegated = "The argument to NOT must be a Type or Expression"
	msgMissing    = "MISSING must be compared using IS operator"
	msgBag        = "Unsupported data type in Bag. DynamoDB only supports either numbers or strings in bags"
	msgStruct     = "Unsupported format in item expression. Please use struct format {...} to express item values for insert statement."
	msgEmptyName  = "Path component cannot be an empty string"
)
