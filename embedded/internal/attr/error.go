package attr

import "errors"

// ValidationError reports JSON of the right shape that is not an attribute value.
// DynamoDB answers it as a ValidationException.
type ValidationError struct{ Message string }

func (e *ValidationError) Error() string { return e.Message }

// serializationError reports JSON of another shape than the protocol's. DynamoDB answers
// it as a SerializationException.
type serializationError struct{ Message string }

func (e *serializationError) Error() string { return e.Message }

// DynamoDB's messages, to the letter. Where DynamoDB Local has other texts, these are the
// service's own, as recorded by dynalite against the service.
// Source: https://github.com/architect/dynalite (test/putItem.js, test/helpers.js).
const (
	msgEmpty        = "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"
	msgMany         = "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes"
	msgNotNumeric   = "The parameter cannot be converted to a numeric value"
	msgOverflow     = "Number overflow. Attempting to store a number with magnitude larger than supported range"
	msgUnderflow    = "Number underflow. Attempting to store a number with magnitude smaller than supported range"
	msgPrecision    = "Attempting to store more than 38 significant digits in a Number"
	msgNullTrue     = "One or more parameter values were invalid: Null attribute value types must have the value of true"
	msgEmptySS      = "One or more parameter values were invalid: An string set  may not be empty"
	msgEmptyNS      = "One or more parameter values were invalid: An number set  may not be empty"
	msgEmptyBS      = "One or more parameter values were invalid: Binary sets should not be empty"
	msgNullInSS     = "One or more parameter values were invalid: An string set may not have a null string as a member"
	msgNullInBS     = "One or more parameter values were invalid: Binary sets may not contain null values"
	msgDuplicateNS  = "Input collection contains duplicates"
	msgEmptyName    = "Empty attribute name"
	msgNameTooLarge = "Attribute name is too large, must be less than 65536 bytes"
	msgTooDeep      = "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit"
)

var (
	errOverflow  = &ValidationError{msgOverflow}
	errUnderflow = &ValidationError{msgUnderflow}
	errPrecision = &ValidationError{msgPrecision}
)

// isValidation reports whether err is a ValidationError.
func isValidation(err error) bool {
	var v *ValidationError
	return errors.As(err, &v)
}
