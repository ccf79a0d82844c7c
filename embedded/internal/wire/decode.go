package wire

import (
	"bytes"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Malformed is the refusal of a body that is not the JSON an operation takes.
func Malformed(message string) *Error {
	return &Error{Type: "SerializationException", Prefix: "com.amazon.coral.service#", Message: message}
}

// Decode reads a request body into a struct of members named by Go field or
// json tag: case counts, unknown members are ignored, of a repeated member the
// last one stands. A failure is a SerializationException whose Unwrap is the
// decoder's own error, so that a type's refusal in UnmarshalJSONFrom can be told
// from malformed JSON.
func Decode(body []byte, into any) error {
	if len(bytes.TrimSpace(body)) == 0 {
		return Malformed("the request has no body")
	}

	if err := json.Unmarshal(body, into, jsontext.AllowDuplicateNames(true)); err != nil {
		e := Malformed(err.Error())
		e.cause = err
		return e
	}

	return nil
}
