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

// ErrMalformed: the message's body is no request. The text says where and why, and
// does not repeat the body.
var ErrMalformed = errors.New("no transition request")

// body is a request in the form of the wire. Values are read by hand, so that whole
// numbers stay whole.
type body struct {
	OrderID      transitions.OrderID       `json:"orderId"`
	Event        workflow.Event            `json:"event"`
	From         workflow.State            `json:"from"`
	TransitionID transitions.TransitionID  `json:"transitionId"`
	RequestID    transitions.RequestID     `json:"requestId"`
	IfMatch      *transitions.TransitionID `json:"ifMatch"`
	Values       map[string]jsontext.Value `json:"values"`
}

// Decode reads the request that a message is. The body is strict JSON: the members of
// [transitions.Request] by their exact names, each once, none unknown, nothing behind.
// Without a transitionId and a requestId the message's own id is the request's.
func Decode(m queues.Message) (transitions.Request, error) {
	var in body
	if err := json.Unmarshal([]byte(m.Body), &in, json.RejectUnknownMembers(true)); err != nil {
		return transitions.Request{}, malformed(err)
	}

	r := transitions.Request{OrderID: in.OrderID, Event: in.Event, From: in.From, TransitionID: in.TransitionID, RequestID: in.RequestID, IfMatch: in.IfMatch}
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

	if err := r.Validate(); err != nil {
		return transitions.Request{}, fmt.Errorf("%w: %w", ErrMalformed, err)
	}

	return r, nil
}

// malformed says where the body is wrong without repeating it.
func malformed(err error) error {
	var semantic *json.SemanticError
	var syntax *jsontext.SyntacticError
	switch {
	case errors.As(err, &semantic) && errors.Is(err, json.ErrUnknownName):
		return fmt.Errorf("%w: unknown member at byte %d", ErrMalformed, semantic.ByteOffset)
	case errors.As(err, &semantic):
		return fmt.Errorf("%w: %s has the wrong type", ErrMalformed, clip(string(semantic.JSONPointer)))
	case errors.As(err, &syntax) && errors.Is(err, jsontext.ErrDuplicateName):
		return fmt.Errorf("%w: a member comes twice, at byte %d", ErrMalformed, syntax.ByteOffset)
	case errors.As(err, &syntax):
		return fmt.Errorf("%w: no JSON, at byte %d", ErrMalformed, syntax.ByteOffset)
	}

	return fmt.Errorf("%w: not a JSON object", ErrMalformed)
}

// value reads what a guard may ask of a request: a text, a whole number, a truth value.
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

	return nil, errors.New("want texts, whole numbers of 64 bits and truth values")
}

// ownID names the request of a message that does not name it itself.
func ownID(m queues.Message) transitions.RequestID {
	sum := sha256.Sum256([]byte(m.Body))
	if m.DeduplicationID == "" || m.DeduplicationID == hex.EncodeToString(sum[:]) {
		return transitions.RequestID(m.ID)
	}

	return transitions.RequestID(m.DeduplicationID)
}

// clip keeps a stranger's text short enough for an error.
func clip(s string) string {
	if len(s) > 64 {
		return s[:64] + "..."
	}
	return s
}
