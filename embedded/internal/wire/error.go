package wire

import (
	"encoding/json"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// Error is the answer of a service that refuses a call.
type Error struct {
	// Type is the exception's name, like "ConditionalCheckFailedException".
	Type string
	// Prefix replaces the service's ErrorPrefix when set, as DynamoDB does for
	// "com.amazon.coral.validate#ValidationException".
	Prefix  string
	Message string
	// Status is the HTTP status; 0 means 400.
	Status int
	// Members holds further members of the error's shape, like "Item" or
	// "CancellationReasons". A json.RawMessage is copied, any other value is marshaled.
	Members map[string]any
}

func (e *Error) Error() string { return e.Type + ": " + e.Message }

// Errorf builds an error with status 400.
func Errorf(typ, format string, args ...any) *Error {
	return &Error{Type: typ, Message: fmt.Sprintf(format, args...)}
}

// body encodes the error as JSON. Where callers race for the same item, refused calls
// are as frequent as successful ones, so it avoids reflection where it can.
func (e *Error) body(prefix, messageKey string) []byte {
	// An estimate, so that the usual error needs one allocation.
	size := 64 + len(e.Message)
	for _, member := range e.Members {
		if raw, ok := member.(json.RawMessage); ok {
			size += len(raw) + 32
		}
	}

	b := appendText(append(make([]byte, 0, size), `{"__type":`...), prefix+e.Type)
	if e.Type == "SerializationException" {
		// Coral's own errors have the text under this name, in all services, or have none.
		messageKey = "Message"
		if e.Message == "" {
			messageKey = ""
		}
	}

	if messageKey != "" {
		b = appendText(append(appendText(append(b, ','), messageKey), ':'), e.Message)
	}

	for name, member := range e.Members {
		raw, ok := member.(json.RawMessage)
		if !ok {
			var err error
			if raw, err = json.Marshal(member); err != nil {
				continue // better an error without this member than none
			}
		}

		b = append(append(appendText(append(b, ','), name), ':'), raw...)
	}

	return append(b, '}')
}

// appendText appends s as a JSON string. Bytes that are not UTF-8 become U+FFFD.
func appendText(b []byte, s string) []byte {
	b, _ = jsontext.AppendQuote(b, s)
	return b
}
