package sqs

import (
	"encoding/binary"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// attribute is a message attribute as it is on the wire and on disk.
type attribute struct {
	DataType    string  `json:"DataType"`
	StringValue *string `json:"StringValue,omitempty"`
	BinaryValue []byte  `json:"BinaryValue,omitempty"`
	// The service reserves lists and refuses them.
	StringListValues []string `json:"StringListValues,omitempty"`
	BinaryListValues [][]byte `json:"BinaryListValues,omitempty"`
}

// Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-message-metadata.html
var (
	// The service takes letters of all scripts.
	// Source: LocalStack's tests validated on AWS (tests/aws/services/sqs, test_send_message_with_invalid_string_attributes)
	attributeNameRule = regexp.MustCompile(`^[\p{L}\p{Nd}_-]+(\.[\p{L}\p{Nd}_-]+)*$`)
	dataTypeRule      = regexp.MustCompile(`^(String|Number|Binary)(\..+)?$`)
	numberRule        = regexp.MustCompile(`^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$`)
)

const maxAttributes = 10

// checkMessageAttributes fails for attributes that a message cannot have. It reports the first faulty one
// in the order of their names.
func checkMessageAttributes(attributes map[string]attribute) error {
	if len(attributes) > maxAttributes {
		return invalidParameter("MessageAttributes", fmt.Sprint(len(attributes)),
			"Number of message attributes exceeds the allowed maximum [10].")
	}

	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		a := attributes[name]
		if err := a.check(name); err != nil {
			return err
		}
	}

	return nil
}

func (a *attribute) check(name string) error {
	lower := strings.ToLower(name)
	// Reserved in capitals and in small letters.
	reserved := strings.HasPrefix(lower, "aws.") || strings.HasPrefix(lower, "amazon.")

	switch {
	case len(name) > 256 || !attributeNameRule.MatchString(name) || reserved:
		return invalidParameter("MessageAttributeName", name,
			"Message attribute names have up to 256 letters, digits, _ - . and do not begin with AWS. or Amazon.")
	case len(a.DataType) > 256 || !dataTypeRule.MatchString(a.DataType):
		return invalidParameter("MessageAttributeType", a.DataType, "The type of message attribute '"+name+
			"' is invalid. You must use only the following supported type prefixes: Binary, Number, String.")
	case a.StringListValues != nil:
		return unsupported("StringListValues of message attribute '" + name + "'")
	case a.BinaryListValues != nil:
		return unsupported("BinaryListValues of message attribute '" + name + "'")
	}

	var ok bool
	// Exactly one of the two values is set, and not empty.
	if a.binary() {
		ok = len(a.BinaryValue) > 0 && a.StringValue == nil
	} else {
		ok = a.StringValue != nil && *a.StringValue != "" && a.BinaryValue == nil
	}

	if !ok {
		// Source: LocalStack's recordings of AWS (tests/aws/services/sqs, test_send_message_with_empty_string_attribute)
		base, _, _ := strings.Cut(a.DataType, ".")
		return invalidText("Message (user) attribute '%s' must contain a non-empty value of type '%s'.", name, base)
	}

	if strings.HasPrefix(a.DataType, "Number") && !numberRule.MatchString(*a.StringValue) {
		return invalidText("Can't cast the value of message (user) attribute '%s' to a number.", name)
	}

	if !a.binary() && !validText(*a.StringValue) {
		// Source of the code: LocalStack's tests validated on AWS (tests/aws/services/sqs,
		// test_invalid_string_attributes_cause_invalid_parameter_value_error)
		return invalidText("Invalid characters found in the value of message (user) attribute '%s'. %s", name, validCharacters)
	}

	return nil
}

// binary reports whether BinaryValue, and not StringValue, holds the value.
func (a *attribute) binary() bool { return strings.HasPrefix(a.DataType, "Binary") }

// attributesDigest returns the digest of message attributes; "" when there are none.
// Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-message-metadata.html,
// "Calculating the MD5 message digest for message attributes".
func attributesDigest(attributes map[string]attribute) string {
	if len(attributes) == 0 {
		return ""
	}

	// Each part has its length before it, in four bytes.
	var b []byte
	part := func(p []byte) {
		b = binary.BigEndian.AppendUint32(b, uint32(len(p)))
		b = append(b, p...)
	}

	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		a := attributes[name]
		part([]byte(name))
		part([]byte(a.DataType))

		if a.binary() {
			b = append(b, 2) // the protocol's number of a binary value
			part(a.BinaryValue)
		} else {
			b = append(b, 1) // and of a string
			part([]byte(*a.StringValue))
		}
	}

	return digest(b)
}
