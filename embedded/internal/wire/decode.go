package wire

import (
	"bytes"
	"errors"
	"io"
	"reflect"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Malformed returns the error for a body that is not the JSON of the operation's
// request. An empty message is the service's answer to text that is no JSON object.
// Source: https://github.com/architect/dynalite test/connection.js, recorded on the service
func Malformed(message string) *Error {
	return &Error{
		Type:    "SerializationException",
		Prefix:  "com.amazon.coral.service#",
		Message: message,
	}
}

// Decode reads a request body into a struct whose members are named by Go field or json
// tag. Names are case-sensitive, unknown members are ignored, and the last of several
// equal members counts. It fails with a SerializationException in the service's words.
func Decode(body []byte, into any) error { return decode(body, into, false) }

// DecodeAnyCase is Decode without regard to the case of names. It takes an empty body for an empty request.
func DecodeAnyCase(body []byte, into any) error {
	if len(body) == 0 {
		return nil
	}

	return decode(body, into, true)
}

func decode(body []byte, into any, anyCase bool) error {
	// Without this check null would be a request without members.
	if text := bytes.TrimLeft(body, " \t\r\n"); len(text) == 0 || text[0] != '{' {
		return Malformed("")
	}

	err := json.Unmarshal(body, into, jsontext.AllowDuplicateNames(true), json.MatchCaseInsensitiveNames(anyCase))
	if err == nil {
		return nil
	}

	// Text that is no JSON can also end inside of a type that reads itself.
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) || errors.Is(err, io.ErrUnexpectedEOF) {
		return Malformed("")
	}

	var shape *json.SemanticError
	if errors.As(err, &shape) {
		return Malformed(shapeWords(reflect.TypeOf(into).Elem(), body, shape))
	}

	return Malformed("")
}
