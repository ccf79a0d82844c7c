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

	r := Refusal{OrderID: order.ID, Event: event, Verdict: v, Source: source, Text: reason}
	if reason != "" {
		return r, true
	}

	switch v {
	case Superseded:
		r.Text = fmt.Sprintf("the order had moved on, to %s", order.State)
	case Conflict:
		r.Text = "the same id was used with other content"
	case Illegal:
		r.Text = "the definition does not have it"
	default:
		r.Text = fmt.Sprintf("the order was %s", order.State)
		if len(expected) > 0 {
			r.Text += ", it needs " + stateList(expected)
		}
	}

	return r, true
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
