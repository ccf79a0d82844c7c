package inspect

import (
	"fmt"
	"time"

	"ratchet/transitions"
)

// ofTimer describes a transition that time makes, or why it did not.
func ofTimer(t transitions.Timer, now time.Time) Due {
	d := Due{
		ref:  Ref{Event: string(t.Event), NextTry: t.At},
		What: fmt.Sprintf("%s makes %s (to %s) at %s", transitions.CodeTime, t.Event, t.To, t.At.Format(time.RFC3339)),
	}

	if t.At.After(now) {
		d.NextTry = t.At
		if t.Unmet != "" {
			d.What += ", unless it is still so that " + t.Unmet
		}

		return d
	}

	d.Since, d.ref.NextTry = t.At, time.Time{}
	d.What = fmt.Sprintf("%s (to %s) was due at %s, and a worker makes it within a minute", t.Event, t.To, t.At.Format(time.RFC3339))
	d.Next = "wait; if it stays, `ratchet status` says whether workers run"

	if t.Unmet != "" {
		d.What = fmt.Sprintf("%s (to %s) was due at %s, but %s; it is tried again with the next change of the order, and at least once an hour",
			t.Event, t.To, t.At.Format(time.RFC3339), t.Unmet)
		d.Next = ""
	}

	return d
}
