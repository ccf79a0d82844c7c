package money

import (
	"fmt"
	"io"
	"time"

	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/once/actions"
)

// actionStatus maps outcomes other than success to exit statuses.
var actionStatus = map[actions.Outcome]int{
	actions.NotFound: exit.NotFound, actions.AlreadyUsed: 10, actions.Expired: 11, actions.Canceled: 12, actions.NotActive: 13,
	actions.Held: 14, actions.HoldLost: 15, actions.Locked: 16, actions.InvalidPIN: 17,
}

// printOutcome prints a result. Unless the outcome is one of done, it returns an error with
// the exit status.
func printOutcome(out io.Writer, asJSON bool, r actions.Result, done ...actions.Outcome) error {
	var err error
	if asJSON {
		err = terminal.PrintJSON(out, r)
	} else {
		_, err = fmt.Fprintln(out, describeOutcome(r))
	}

	if err != nil {
		return err
	}

	for _, o := range done {
		if r.Outcome == o {
			return nil
		}
	}

	// The outcome is printed already, so the error has only the exit status.
	return exit.With(actionStatus[r.Outcome], nil)
}

// describeOutcome returns a result as text, with the payload on a line of its own.
func describeOutcome(r actions.Result) string {
	text := string(r.Outcome)
	for _, at := range []struct {
		what string
		time time.Time
	}{{"at", r.ConsumedAt}, {"at", r.CanceledAt}, {"active from", r.ActiveAt}, {"until", r.HeldUntil}} {
		if !at.time.IsZero() {
			text += " " + at.what + " " + terminal.Stamp(at.time)
		}
	}

	// An expired action has no other time to show.
	if r.Outcome == actions.Expired && !r.ExpiresAt.IsZero() {
		text += " at " + terminal.Stamp(r.ExpiresAt)
	}

	if r.Fence != 0 {
		text += fmt.Sprintf(", fence %d", r.Fence)
	}

	if len(r.Payload) > 0 {
		text += "\n" + string(r.Payload)
	}

	return text
}
