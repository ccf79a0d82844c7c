package transitions

import (
	"encoding/hex"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"ratchet/internal/ids"
	"ratchet/workflow"
)

// OrderID names an order: 1 to 256 bytes of UTF-8 without control characters. Where it becomes a part of a
// key, package internal/ids encodes it: an id of A-Z a-z 0-9 _ . : - alone stays as it is.
type OrderID string

// Validate returns an ErrInvalidRequest that names the rule if the id breaks it.
func (id OrderID) Validate() error {
	if ids.Valid(string(id)) {
		return nil
	}

	return fmt.Errorf("%w: orderId %q: 1 to %d bytes of UTF-8 without control characters", ErrInvalidRequest, clip(string(id)), ids.Most)
}

// Arg returns the id as one word of a command line: in quotes if a shell would read it as something else.
func (id OrderID) Arg() string {
	if ids.Encode(string(id)) == string(id) {
		return string(id)
	}

	return "'" + strings.ReplaceAll(string(id), "'", `'\''`) + "'"
}

// TransitionID numbers the transitions of one order. Placing the order is 1; every later
// transition has a larger id than the one before, with or without a gap.
type TransitionID int64

// maxTransitionID is the largest id, 2^53-1. Step Functions computes ids in JSON, whose
// numbers are exact up to there.
const maxTransitionID TransitionID = 1<<53 - 1

// RequestID is the idempotency key of one request, like the Idempotency-Key header: 1 to
// 255 printable ASCII characters. A request without a TransitionID needs one.
type RequestID string

// LogValue keeps loggers from printing the id, which may be a secret of its caller: it is a digest that stays the same.
func (id RequestID) LogValue() slog.Value {
	if id == "" {
		return slog.StringValue("")
	}

	d := id.key()

	return slog.StringValue(hex.EncodeToString(d[:6]))
}

// rule is the form of an id: 1 to most bytes, each of them allowed. It is a table, because
// every transition checks ids: a regular expression would cost a microsecond.
type rule struct {
	most    int
	allowed [256]bool
}

var requestIDRule = newRule(255, func(c byte) bool { return c >= ' ' && c <= '~' })

const asciiLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

func newRule(most int, allowed func(byte) bool) *rule {
	r := &rule{most: most}
	for c := range r.allowed {
		r.allowed[c] = allowed(byte(c))
	}

	return r
}

// holds reports whether the id keeps the rule.
func (r *rule) holds(id string) bool {
	for i := range len(id) {
		if !r.allowed[id[i]] {
			return false
		}
	}

	return id != "" && len(id) <= r.most
}

// Request asks for one event on one order. It has a TransitionID, a RequestID or both.
type Request struct {
	OrderID OrderID        `json:"orderId"`
	Event   workflow.Event `json:"event"`
	// From narrows the event to one source state. Empty: any source.
	From workflow.State `json:"from,omitempty"`
	// TransitionID is the id under which the event is applied, at most 2^53-1. 0: Apply
	// assigns the order's current id plus one, and RequestID must be set.
	TransitionID TransitionID `json:"transitionId,omitempty"`
	RequestID    RequestID    `json:"requestId,omitempty"`
	// IfMatch is the transitionId that the caller has seen. The request is Superseded if
	// the order has moved since. Up to the order's ninth transition, this saves the read that
	// assigning an id costs. Not allowed together with TransitionID.
	IfMatch *TransitionID `json:"ifMatch,omitempty"`
	// IfContent is the ContentVersion of the order that the caller has seen. The request is
	// refused with WrongState if the content was edited since. It is not part of the
	// request's content: an applied request is Replayed whatever was edited later.
	IfContent *int64 `json:"-"`
	// Incarnation is the life of the order that the caller has seen, "" for any. An order in another life
	// is not moved: the request is Superseded, unless the order goes on from that life (see [Orders.Renew])
	// and has made the transition. It is not part of the request's content.
	Incarnation Incarnation `json:"-"`
	// Seen is the order as the caller has read it, or as an earlier request returned it, whole. With
	// Incarnation, which must be its life, it saves the read that assigning an id costs. It may be
	// outdated: then the write is refused, and what it returns decides. Only a repeat of an applied request
	// is answered with Seen itself. It is not part of the request's content.
	Seen *Order `json:"-"`
	// Cause says why the transition is requested, and by whom. It is not part of the request's
	// content.
	Cause Cause `json:"cause,omitzero"`
	// Own changes attributes of the caller's own in the same write. It is part of the request's content.
	Own OwnChange `json:"own,omitzero"`
	// Values are the values that the event's guards expect from the request (see
	// [workflow.Guard]), like the beginning of the return window: strings, whole numbers
	// and truth values, with at most 256 KB of names and texts. They are not part of the request's
	// content: a retry may have other values.
	Values map[string]any `json:"values,omitempty"`

	// timer makes the request one of time: it is refused unless the order has this timer.
	timer *Timer
}

// Validate returns an ErrInvalidRequest that names the first field that breaks a rule, and
// the rule.
func (r Request) Validate() error {
	if err := r.OrderID.Validate(); err != nil {
		return err
	}

	switch {
	case r.Event == "":
		return fmt.Errorf("%w: event is empty", ErrInvalidRequest)
	case r.TransitionID < 0 || r.TransitionID > maxTransitionID:
		return fmt.Errorf("%w: transitionId %d: 1 to %d", ErrInvalidRequest, r.TransitionID, maxTransitionID)
	case r.RequestID != "" && !requestIDRule.holds(string(r.RequestID)):
		return fmt.Errorf("%w: requestId: 1 to 255 printable ASCII characters", ErrInvalidRequest)
	case r.TransitionID == 0 && r.RequestID == "":
		return fmt.Errorf("%w: one of transitionId and requestId must be set", ErrInvalidRequest)
	case r.IfMatch != nil && r.TransitionID != 0:
		return fmt.Errorf("%w: ifMatch: not together with transitionId", ErrInvalidRequest)
	case r.IfMatch != nil && (*r.IfMatch < 0 || *r.IfMatch >= maxTransitionID):
		return fmt.Errorf("%w: ifMatch %d: 0 to %d", ErrInvalidRequest, *r.IfMatch, maxTransitionID-1)
	}

	if r.Seen != nil && r.Seen.ID != r.OrderID {
		return fmt.Errorf("%w: seen: is order %s, not %s", ErrInvalidRequest, r.Seen.ID, r.OrderID)
	}

	if err := r.Incarnation.validateSeen(); err != nil {
		return err
	}

	size := 0
	for name, v := range r.Values {
		text, _ := v.(string)
		size += len(name) + len(text)
	}

	if size > maxRequestValues {
		return fmt.Errorf("%w: values: %d bytes, at most %d", ErrInvalidRequest, size, maxRequestValues)
	}

	return r.Cause.validateOf(r.OrderID)
}

// MadeBy reports whether the order shows that the request was made, or has moved past its transitionId.
func (r Request) MadeBy(o *Order) bool {
	if r.TransitionID != 0 && r.TransitionID <= o.TransitionID {
		return true
	}

	return r.RequestID != "" && slices.ContainsFunc(o.Recent(), func(t Transition) bool { return t.IsBy(r.RequestID) })
}

// maxRequestValues is how many bytes the values of a request have. They are part of the 2 MB of values that
// one write may compare with.
const maxRequestValues = 256 << 10

// clip shortens a text from outside for an error, to 64 bytes.
func clip(s string) string {
	if len(s) > 64 {
		return s[:64] + "..."
	}

	return s
}
