package wire

import (
	"bytes"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Malformed returns the error for a body that is not the JSON of the operation's
// request.
func Malformed(message string) *Error {
	return &Error{
		Type:    "SerializationException",
		Prefix:  "com.amazon.coral.service#",
		Message: message,
	}
}

// Decode reads a request body into a struct whose members are named by Go field or json
// tag. Names are case-sensitive, unknown members are ignored, and the last of several
// equal members counts. It fails with a SerializationException whose Unwrap returns the
// decoder's own error, so that callers can tell an error of a type's UnmarshalJSONFrom
// from malformed JSON.
func Decode(body []byte, into any) error {
	if len(bytes.TrimSpace(body)) == 0 {
		return Malformed("the request has no body")
	}

	if err := json.Unmarshal(body, into, jsontext.AllowDuplicateNames(true)); err != nil {
		malformed := Malformed(err.Error())
		malformed.cause = err

		return malformed
	}

	return nil
}
