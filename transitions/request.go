package transitions

import (
	"fmt"
	"strings"

	"ratchet/workflow"
)

// OrderID names an order: 1 to 128 characters of A-Z a-z 0-9 _ . : -
// (no slash: effect keys are orderId/transitionId/handler).
type OrderID string

// Validate returns an ErrInvalidRequest that names the rule which the id breaks.
func (id OrderID) Validate() error {
	if orderIDRule.holds(string(id)) {
		return nil
	}

	return fmt.Errorf("%w: orderId %q: 1 to 128 characters of A-Z a-z 0-9 _ . : -", ErrInvalidRequest, clip(string(id)))
}

// TransitionID numbers the transitions of one order, from 1 (placing it), always
// upwards, gaps allowed.
type TransitionID int64

// maxTransitionID is the largest id, 2^53-1: JSON's numbers are exact up to there, and
// Step Functions computes ids in JSON.
const maxTransitionID TransitionID = 1<<53 - 1

// RequestID names one request of a caller that lets the id be assigned, like the
// Idempotency-Key header: 1 to 255 printable ASCII characters.
type RequestID string

// rule says what an id consists of: 1 to most bytes, each of them allowed. It stands in
// the way of every transition, where a regular expression costs a microsecond.
type rule struct {
	most    int
	allowed [256]bool
}

var (
	orderIDRule   = newRule(128, func(c byte) bool { return strings.IndexByte(letters+"0123456789_.:-", c) >= 0 })
	requestIDRule = newRule(255, func(c byte) bool { return c >= ' ' && c <= '~' })
)

const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

func newRule(most int, allowed func(byte) bool) *rule {
	r := &rule{most: most}
	for c := range r.allowed {
		r.allowed[c] = allowed(byte(c))
	}

	return r
}

func (r *rule) holds(id string) bool {
	for i := range len(id) {
		if !r.allowed[id[i]] {
			return false
		}
	}

	return id != "" && len(id) <= r.most
}

// Request asks for one event on one order. It carries a TransitionID, or a
// RequestID, or both.
type Request struct {
	OrderID OrderID        `json:"orderId"`
	Event   workflow.Event `json:"event"`
	// From narrows the event to one source state. Empty: any source.
	From workflow.State `json:"from,omitempty"`
	// TransitionID is the id under which the event shall be applied. 0: Apply
	// allots the order's current id plus one, and RequestID must be set.
	TransitionID TransitionID `json:"transitionId,omitempty"`
	RequestID    RequestID    `json:"requestId,omitempty"`
	// IfMatch is the transitionId that the caller has seen; the request is
	// Superseded when the order has moved since. It saves the read that allotting
	// an id costs. Only without TransitionID.
	IfMatch *TransitionID `json:"ifMatch,omitempty"`
	// Values are what the event's guards ask of the request (see [workflow.Guard]),
	// like the beginning of the return window: strings, whole numbers, truth values.
	// They judge the request and are no part of it: a retry may carry others.
	Values map[string]any `json:"values,omitempty"`
}

// Validate names the first field that breaks a rule, and the rule.
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

	return nil
}

// clip keeps a stranger's text short enough for an error.
func clip(s string) string {
	if len(s) > 64 {
		return s[:64] + "..."
	}
	return s
}
