package requests

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

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
	Format       int                       `json:"format"` // checkFormat reads it
	OrderID      transitions.OrderID       `json:"orderId"`
	Event        workflow.Event            `json:"event"`
	From         workflow.State            `json:"from"`
	TransitionID transitions.TransitionID  `json:"transitionId"`
	RequestID    transitions.RequestID     `json:"requestId"`
	IfMatch      *transitions.TransitionID `json:"ifMatch"`
	Values       map[string]jsontext.Value `json:"values"`
	Cause        transitions.Cause         `json:"cause"`
}

// format is the number of the form of a message. A body without a number has this form. Raise the
// number only if an older worker would misread a message of the new form: a new member alone needs no
// new number, because an older worker refuses unknown members.
const format = 1

// Decode reads the request of a message. The body is strict JSON: the members of
// transitions.Request and "format" by their exact names, no duplicates, no unknown members, no trailing
// data. A request without a transitionId and a requestId gets the message's own id as its
// requestId. The trace of its cause comes from the message attribute [queues.AttributeTrace], else
// from the body; a trace that is no traceparent of version 00 is left out. The cause says that the
// request came through the queue: its source is source, and an actor that the message names gets the
// prefix "queue:".
func Decode(m queues.Message) (transitions.Request, error) {
	if err := checkFormat(m.Body); err != nil {
		return transitions.Request{}, err
	}

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
		Cause:        in.Cause,
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

	// Under such an id, a sender of the queue could make the execution's own request a replay.
	if r.RequestID.IsReserved() {
		return transitions.Request{}, fmt.Errorf("%w: requestId: must not be one of those that executions use, such as payment/paid", ErrMalformed)
	}

	// The attribute comes from the nearest sender.
	if sent := m.Attributes[queues.AttributeTrace].Text; transitions.ValidTrace(sent) {
		r.Cause.Trace = sent
	}

	// As W3C Trace Context asks for: a trace that is not understood fails no request.
	if !transitions.ValidTrace(r.Cause.Trace) {
		r.Cause.Trace = ""
	}

	if err := r.Validate(); err != nil {
		return transitions.Request{}, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	// Set last, so that no source or actor of the body passes for another part of Ratchet.
	r.Cause.Source, r.Cause.Actor = source, claimedActor(r.Cause.Actor)

	return r, nil
}

// checkFormat refuses a message of another format. The rest of the body is ignored, because another
// format may write it in another way.
func checkFormat(text string) error {
	var in struct {
		Format *int `json:"format"`
	}
	if json.Unmarshal([]byte(text), &in) == nil && in.Format != nil && *in.Format != format {
		return fmt.Errorf("%w: the message has format %d, and this program reads format %d", ErrMalformed, *in.Format, format)
	}

	return nil // Decode says what else is wrong
}

// source is the source of the transitions that are requested through a queue.
const source = "queue"

// claimedActor returns the actor that a message names, marked as not verified. A digest replaces a
// name that would be too long with the mark.
func claimedActor(name string) string {
	const mark = source + ":"
	if name == "" || strings.HasPrefix(name, mark) {
		return name
	}

	if marked := mark + name; (transitions.Cause{Actor: marked}).Validate() == nil {
		return marked
	}
	sum := sha256.Sum256([]byte(name))

	return mark + "sha256:" + hex.EncodeToString(sum[:16])
}

// malformed returns ErrMalformed with the place of the error, and without the content.
func malformed(err error) error {
	var semantic *json.SemanticError
	var syntax *jsontext.SyntacticError
	switch {
	// Offsets and pointers only: the library's own texts may quote the body.
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
	// Without a fraction or an exponent: a guard compares whole numbers exactly.
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
	// Content-based deduplication takes the SHA-256 of the body: equal requests of different senders
	// share it.
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
