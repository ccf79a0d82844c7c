package requests

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"ratchet/queues"
	"ratchet/transitions"
	"ratchet/workflow"
)

// ErrMalformed means that the body of a message is not a request. The text says where and
// why, and does not repeat the body.
var ErrMalformed = errors.New("not a transition request")

// body is a request on the wire. Decode reads the values itself: encoding/json would turn
// whole numbers into floating-point numbers.
type body struct {
	OrderID      transitions.OrderID       `json:"orderId"`
	Event        workflow.Event            `json:"event"`
	From         workflow.State            `json:"from"`
	TransitionID transitions.TransitionID  `json:"transitionId"`
	RequestID    transitions.RequestID     `json:"requestId"`
	IfMatch      *transitions.TransitionID `json:"ifMatch"`
	Values       map[string]jsontext.Value `json:"values"`
}

// Decode reads the request of a message. The body is strict JSON: the members of
// transitions.Request by their exact names, no duplicates, no unknown members, no trailing
// data. A request without a transitionId and a requestId gets the message's own id as its
// requestId.
func Decode(m queues.Message) (transitions.Request, error) {
	var in body
	if err := json.Unmarshal([]byte(m.Body), &in, json.RejectUnknownMembers(true)); err != nil {
		return transitions.Request{}, malformed(err)
	}

	r := transitions.Request{
		OrderID:      in.OrderID,
		Event:        in.Event,
		From:         in.From,
		TransitionID: in.TransitionID,
		RequestID:    in.RequestID,
		IfMatch:      in.IfMatch,
	}
	if len(in.Values) > 0 {
		r.Values = make(map[string]any, len(in.Values))
	}

	for name, text := range in.Values {
		v, err := value(text)
		if err != nil {
			return transitions.Request{}, fmt.Errorf("%w: values: %w", ErrMalformed, err)
		}

		r.Values[name] = v
	}

	if r.TransitionID == 0 && r.RequestID == "" {
		r.RequestID = ownID(m)
	}

	if r.RequestID.IsReserved() {
		return transitions.Request{}, fmt.Errorf("%w: requestId: must not be one of those that executions use, such as payment/paid", ErrMalformed)
	}

	if err := r.Validate(); err != nil {
		return transitions.Request{}, fmt.Errorf("%w: %w", ErrMalformed, err)
	}

	return r, nil
}

// malformed returns ErrMalformed with the place of the error, and without the content.
func malformed(err error) error {
	var semantic *json.SemanticError
	var syntax *jsontext.SyntacticError
	switch {
	case errors.As(err, &semantic) && errors.Is(err, json.ErrUnknownName):
		return fmt.Errorf("%w: unknown member at byte %d", ErrMalformed, semantic.ByteOffset)
	case errors.As(err, &semantic):
		return fmt.Errorf("%w: %s has the wrong type", ErrMalformed, shorten(string(semantic.JSONPointer)))
	case errors.As(err, &syntax) && errors.Is(err, jsontext.ErrDuplicateName):
		return fmt.Errorf("%w: a member comes twice, at byte %d", ErrMalformed, syntax.ByteOffset)
	case errors.As(err, &syntax):
		return fmt.Errorf("%w: no JSON, at byte %d", ErrMalformed, syntax.ByteOffset)
	}

	return fmt.Errorf("%w: not a JSON object", ErrMalformed)
}

// value reads a value that a guard may use: a string, a whole number or a boolean.
func value(text jsontext.Value) (any, error) {
	switch text.Kind() {
	case '"':
		var s string
		err := json.Unmarshal(text, &s)
		return s, err
	case 't', 'f':
		return text.Kind() == 't', nil
	case '0':
		if n, err := strconv.ParseInt(string(text), 10, 64); err == nil {
			return n, nil
		}
	}

	return nil, errors.New("want strings, whole numbers of 64 bits and booleans")
}

// ownID returns the requestId of a message that has none: its deduplication id, unless the
// queue derived that from the body, else its message id.
func ownID(m queues.Message) transitions.RequestID {
	sum := sha256.Sum256([]byte(m.Body))
	if m.DeduplicationID == "" || m.DeduplicationID == hex.EncodeToString(sum[:]) {
		return transitions.RequestID(m.ID)
	}

	return transitions.RequestID(m.DeduplicationID)
}

// shorten limits text from outside to what fits into an error.
func shorten(s string) string {
	const most = 64
	if len(s) > most {
		return s[:most] + "..."
	}

	return s
}
