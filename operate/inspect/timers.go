package inspect

import (
	"fmt"
	"time"

	"ratchet/transitions"
)

// Timer is a transition that time makes if the order stays as it is.
type Timer struct {
	transitions.Timer
	// Overdue says why it was not made although its moment has passed, "" before that.
	Overdue string `json:"overdue,omitempty"`
}

// Timers returns what time does to an order that was read whole, the earliest first. It computes that from the order and
// the definition, and reads nothing.
func Timers(o *transitions.Orders, order *transitions.Order, now time.Time) []Timer {
	all := o.Timers(order)
	if len(all) == 0 {
		return nil
	}

	timers := make([]Timer, len(all))
	for i, t := range all {
		timers[i] = Timer{t, overdue(t, o.CheckVersion(order), now)}
	}

	return timers
}

// soon is within which time workers make a transition that is due.
const soon = time.Minute

// overdue says why a timer has not made its transition, "" if it is not due. A transition of an order whose version is
// not known is refused.
func overdue(t transitions.Timer, version error, now time.Time) string {
	switch {
	case t.At.After(now):
		return ""
	case version != nil:
		return version.Error()
	case t.Unmet != "":
		return t.Unmet + "; it is tried again with the next change of the order, and at least once an hour"
	case now.Sub(t.At) <= soon:
		return "a worker makes it within a minute"
	}

	return "no worker has made it; `ratchet status` says whether workers run, and `ratchet doctor` whether orders lack their due rows"
}

// ofTimer describes a transition that time makes, or why it did not.
func ofTimer(t Timer) Due {
	d := Due{Event: t.Event, ref: Ref{Event: string(t.Event)}}
	at := t.At.Format(time.RFC3339)

	if t.Overdue != "" {
		d.Since = t.At
		d.What = fmt.Sprintf("%s (to %s) was due at %s: %s", t.Event, t.To, at, t.Overdue)

		return d
	}

	d.NextTry, d.ref.NextTry = t.At, t.At
	d.What = fmt.Sprintf("%s makes %s (to %s) at %s", transitions.CodeTime, t.Event, t.To, at)
	if t.Unmet != "" {
		d.What += ", unless it is still so that " + t.Unmet
	}

	return d
}
