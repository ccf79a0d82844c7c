package views

import (
	"fmt"
	"io"

	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/internal/plural"
	"ratchet/transitions"
)

// PrintEdit prints an edit's verdict. If the edit was not applied, it returns an error with
// the exit status.
func PrintEdit(out io.Writer, asJSON bool, id transitions.OrderID, r transitions.Result) error {
	var err error
	if asJSON {
		err = terminal.PrintJSON(out, r)
	} else {
		_, err = fmt.Fprintln(out, describeEdit(id, r))
	}

	switch {
	case err != nil || r.Verdict.Done():
		return err
	case r.Verdict == transitions.NotFound:
		return exit.With(exit.NotFound, nil)
	}

	// The verdict is printed already.
	return exit.With(exit.Refused, nil)
}

// describeEdit returns an edit's verdict as one line of text.
func describeEdit(id transitions.OrderID, r transitions.Result) string {
	switch {
	case r.Verdict.Done() && r.Order != nil: // of a replayed edit the order may be unknown
		text := fmt.Sprintf("%s: content version %d of order %s", r.Verdict, r.ContentVersion, id)
		if r.Order.Total != (transitions.Money{}) {
			text += fmt.Sprintf(", which has %s and a total of %s", plural.Of(len(r.Order.Items), "line"), Money(r.Order.Total))
		}

		return text
	case r.Order == nil:
		return fmt.Sprintf("%s: order %s", r.Verdict, id)
	case r.Reason != "":
		return fmt.Sprintf("%s: order %s: %s", r.Verdict, id, r.Reason)
	case r.Verdict == transitions.WrongState:
		return fmt.Sprintf("%s: order %s is %s; it can be edited in %v", r.Verdict, id, r.Order.State, r.Expected)
	}

	return fmt.Sprintf("%s: the content of order %s has version %d", r.Verdict, id, r.Order.ContentVersion)
}
