package views

import (
	"fmt"
	"io"

	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/transitions"
)

// PrintResult prints a verdict. If the request was not applied, it returns an error with
// the exit status.
func PrintResult(out io.Writer, asJSON bool, id transitions.OrderID, r transitions.Result) error {
	if asJSON {
		if err := terminal.PrintJSON(out, r); err != nil {
			return err
		}
	} else {
		fmt.Fprintln(out, describe(id, r))
	}

	switch {
	case r.Verdict.Done():
		return nil
	case r.Verdict == transitions.NotFound:
		// The verdict is printed already; the error adds the exit status and the hint.
		return exit.WithHint(exit.NotFound, "order_not_found")
	}

	return exit.WithHint(exit.Refused, verdictCodes[r.Verdict])
}

// verdictCodes are the error codes of the verdicts that refuse.
var verdictCodes = map[transitions.Verdict]string{
	transitions.Superseded: "superseded",
	transitions.WrongState: "wrong_state",
	transitions.Conflict:   "conflict",
	transitions.Illegal:    "illegal",
}

// describe returns a verdict as one line of text.
func describe(id transitions.OrderID, r transitions.Result) string {
	switch r.Verdict {
	case transitions.Applied, transitions.Replayed:
		// What a repeated request did may be long ago.
		if o := r.Order; o != nil && o.TransitionID > r.Transition.ID {
			return fmt.Sprintf("%s: order %s became %s by transition %d (%s); it is %s now (transition %d)",
				r.Verdict, id, r.Transition.To, r.Transition.ID, r.Transition.Event, o.State, o.TransitionID)
		}

		return fmt.Sprintf("%s: order %s is %s since transition %d (%s)", r.Verdict, id, r.Transition.To, r.Transition.ID, r.Transition.Event)
	case transitions.Superseded:
		return fmt.Sprintf("%s: order %s has moved on to %s (transition %d); this request was never applied", r.Verdict, id, r.Order.State, r.Order.TransitionID)
	case transitions.WrongState:
		if r.Reason != "" {
			return fmt.Sprintf("%s: order %s is %s (transition %d); in the way: %s", r.Verdict, id, r.Order.State, r.Order.TransitionID, r.Reason)
		}
		return fmt.Sprintf("%s: order %s is %s (transition %d); the event needs %v", r.Verdict, id, r.Order.State, r.Order.TransitionID, r.Expected)
	case transitions.Conflict:
		return fmt.Sprintf("%s: order %s has seen this id with other content; it is %s (transition %d)", r.Verdict, id, r.Order.State, r.Order.TransitionID)
	case transitions.NotFound:
		return fmt.Sprintf("%s: there is no order %s", r.Verdict, id)
	default:
		return fmt.Sprintf("%s: no order may do this (see `ratchet workflow show`)", r.Verdict)
	}
}
