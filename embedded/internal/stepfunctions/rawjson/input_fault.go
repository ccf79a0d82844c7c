package rawjson

import (
	"fmt"
	"regexp"
)

var (
	// unknownToken is a text that begins with a word which is no JSON literal.
	unknownToken = regexp.MustCompile(`^\s*([A-Za-z_$][A-Za-z0-9_$]*)`)
	// unquotedField is an object whose first member has no double-quoted name.
	unquotedField = regexp.MustCompile(`^\s*\{\s*([^"\s}])`)
)

// InputFault describes the fault of an execution's input that is not JSON, with texts that were recorded
// from StartExecution.
func InputFault(input []byte) string {
	// true, false and null are words, too, but valid ones.
	if m := unknownToken.FindSubmatch(input); m != nil && Valid(m[1]) != nil {
		const fault = "Unrecognized token '%s': was expecting (JSON String, Number, Array, Object or token 'null', 'true' or 'false')"

		return fmt.Sprintf(fault, m[1])
	}

	if m := unquotedField.FindSubmatch(input); m != nil {
		const fault = "Unexpected character ('%s' (code %d)): was expecting double-quote to start field name"

		return fmt.Sprintf(fault, m[1], m[1][0])
	}

	return "Invalid execution input."
}
