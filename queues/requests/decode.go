package requests

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"ratchet/queues"
	"ratchet/transitions"
	"ratchet/workflow"
)

// ErrMalformed means that the body of a message is not a request. The text says where and
// why, and does not repeat the body.
var ErrMalformed = errors.New("not a transition request")

// body is a request as a message has it. Values stays raw, because a decoder would turn whole
// numbers into floating-point numbers.
type body struct {
	Format       int                       `json:"format"` // checkFormat reads it
	OrderID      transitions.OrderID       `json:"orderId"`
	Event        workflow.Event            `json:"event"`
	From         workflow.State            `json:"from"`
	TransitionID transitions.TransitionID  `json:"transitionId"`
	RequestID    transitions.RequestID     `json:"requestId"`
	IfMatch      *transitions.TransitionID `json:"ifMatch"`
	Values       map[string]jsontext.Value `json:"values"`
	Own          transitions.OwnChange     `json:"own"`
	Cause        transitions.Cause         `json:"cause"`
	At           *time.Time                `json:"at"`
}

// format is the number of the body's format. A body without a number has this format. Raise the
// number only if an older worker would misread a message of the new format. A new member needs no
// new number, because an older worker refuses unknown members.
const format = 1

// Decode reads the request of a message. The body is strict JSON: the members of
// transitions.Request, "format" and "at" by their exact names, no duplicates, no unknown members, no
// trailing data. A request without a transitionId and a requestId gets the message's own id as its
// requestId. The trace of its cause comes from the message attribute [queues.AttributeTrace], else
// from the body; a trace that is no traceparent of version 00 is left out. The cause shows that the
// request came through the queue: its source is "queue", and the actor in the body gets the prefix
// "queue:". The error wraps [ErrMalformed].
func Decode(m queues.Message) (transitions.Request, error) {
	r, _, err := decode(m)

	return r, err
}

// decode is Decode, and returns the time at which the request is to be applied, nil for now.
func decode(m queues.Message) (transitions.Request, *time.Time, error) {
	if err := checkFormat(m.Body); err != nil {
		return transitions.Request{}, nil, err
	}

	var in body
	if err := json.Unmarshal([]byte(m.Body), &in, json.RejectUnknownMembers(true)); err != nil {
		return transitions.Request{}, nil, malformed(err)
	}

	r := transitions.Request{
		OrderID:      in.OrderID,
		Event:        in.Event,
		From:         in.From,
		TransitionID: in.TransitionID,
		RequestID:    in.RequestID,
		IfMatch:      in.IfMatch,
		Own:          in.Own,
		Cause:        in.Cause,
	}
	if len(in.Values) > 0 {
		r.Values = make(map[string]any, len(in.Values))
	}

	for name, text := range in.Values {
		v, err := value(text)
		if err != nil {
			return transitions.Request{}, nil, fmt.Errorf("%w: values: %w", ErrMalformed, err)
		}

		r.Values[name] = v
	}

	if r.TransitionID == 0 && r.RequestID == "" {
		r.RequestID = ownID(m)
	}

	// With such an id, a sender could make the execution's own request with the same id count as a
	// repeat.
	if r.RequestID.IsReserved() {
		return transitions.Request{}, nil, fmt.Errorf("%w: requestId: must not be one of those that executions use, such as payment/paid", ErrMalformed)
	}

	// The attribute is preferred, because the sender of the message has set it. The body may come
	// from farther away.
	if sent := m.Attributes[queues.AttributeTrace].Text; transitions.ValidTrace(sent) {
		r.Cause.Trace = sent
	}

	// As W3C Trace Context requires, an invalid trace is dropped and does not make the request
	// fail.
	if !transitions.ValidTrace(r.Cause.Trace) {
		r.Cause.Trace = ""
	}

	if in.At != nil && r.RequestID == "" {
		return transitions.Request{}, nil, fmt.Errorf("%w: at: needs a requestId", ErrMalformed)
	}

	if err := r.Validate(); err != nil {
		return transitions.Request{}, nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	// Set last, so that a source or actor in the body cannot name another part of Ratchet.
	r.Cause.Source, r.Cause.Actor = source, claimedActor(r.Cause.Actor)

	return r, in.At, nil
}

// checkFormat refuses a message of another format. It ignores the other members, because in another
// format they may have another form.
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

// claimedActor returns the actor that a message names, with a prefix that says that it is not
// verified. If the name is too long with the prefix, a digest replaces the name.
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

// malformed returns ErrMalformed with the place of the error, but without the body's content.
func malformed(err error) error {
	var semantic *json.SemanticError
	var syntax *jsontext.SyntacticError
	// What is wrong with an own attribute, and where: its text quotes names and no values.
	var own interface {
		error
		Pointer() string
	}

	switch {
	case errors.As(err, &semantic) && errors.As(err, &own):
		return fmt.Errorf("%w: %s%w", ErrMalformed, semantic.JSONPointer, own)
	// Only offsets and JSON pointers, because the library's texts may quote the body.
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
	// Only whole numbers, without a fraction or an exponent: a guard compares them exactly.
	case '0':
		if n, err := strconv.ParseInt(string(text), 10, 64); err == nil {
			return n, nil
		}
	}

	return nil, errors.New("want strings, whole numbers of 64 bits and booleans")
}

// ownID returns the requestId for a message whose body has none: the deduplication id, or the
// message id if there is no deduplication id or the queue has derived it from the body.
func ownID(m queues.Message) transitions.RequestID {
	sum := sha256.Sum256([]byte(m.Body))
	// Content-based deduplication uses the SHA-256 of the body, so equal requests of different
	// senders have the same deduplication id.
	if m.DeduplicationID == "" || m.DeduplicationID == hex.EncodeToString(sum[:]) {
		return transitions.RequestID(m.ID)
	}

	return transitions.RequestID(m.DeduplicationID)
}

// shorten limits text from outside to 64 bytes, for errors.
func shorten(s string) string {
	const most = 64
	if len(s) > most {
		return s[:most] + "..."
	}

	return s
}
