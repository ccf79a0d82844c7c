package transitions

import (
	"fmt"
	"strings"

	"ratchet/workflow"
)

// Refusal is an answer that changed nothing in an existing order: Superseded, WrongState, Conflict or
// Illegal.
type Refusal struct {
	OrderID OrderID
	// Event is the event that was requested, or the kind of an edit, like "add_items".
	Event   workflow.Event
	Verdict Verdict
	// Text says why, for people. It has states, events and guards, and nothing of the order's content.
	Text string
	// Source is the source of the request's cause, "" if the cause had none.
	Source string
}

// newRefusal returns the refusal of an event. It returns false if the verdict is no refusal.
func newRefusal(event workflow.Event, source string, order *Order, v Verdict, expected []workflow.State, reason string) (Refusal, bool) {
	// Without an order (NotFound, or Illegal in every state) there is no order to which the refusal
	// belongs.
	if v.Done() || order == nil {
		return Refusal{}, false
	}

	return Refusal{OrderID: order.ID, Event: event, Verdict: v, Source: source, Text: why(order, v, expected, reason)}, true
}

// Why says in words why the request was refused, "" if it was not. It has states, events and guards, and nothing of the
// order's content.
func (r Result) Why() string {
	switch {
	case r.Verdict.Done():
		return ""
	case r.Order == nil && r.Reason == "":
		return "there was no such order"
	}

	return why(r.Order, r.Verdict, r.Expected, r.Reason)
}

// why says in words what stood in the way. reason is the words of the one who has refused, "" for none.
func why(order *Order, v Verdict, expected []workflow.State, reason string) string {
	switch {
	case reason != "":
		return reason
	case v == Superseded:
		return fmt.Sprintf("the order had moved on, to %s", order.State)
	case v == Conflict:
		return "the same id was used with other content"
	case v == Illegal:
		return "the definition does not have it"
	case len(expected) > 0:
		return fmt.Sprintf("the order was %s, it needs %s", order.State, stateList(expected))
	}

	return fmt.Sprintf("the order was %s", order.State)
}

// stateList writes states as "A, B or C".
func stateList(states []workflow.State) string {
	texts := make([]string, len(states))
	for i, s := range states {
		texts[i] = string(s)
	}

	if last := len(texts) - 1; last > 0 {
		return strings.Join(texts[:last], ", ") + " or " + texts[last]
	}

	return strings.Join(texts, "")
}
