package develop

import (
	"fmt"
	"io"
	"time"

	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/internal/plural"
	"ratchet/transitions"
	"ratchet/workflow"
)

// orderReport is the result of one order.
type orderReport struct {
	OrderID      transitions.OrderID      `json:"orderId"`
	FinalState   workflow.State           `json:"finalState"`
	TransitionID transitions.TransitionID `json:"transitionId"`
	Applied      int                      `json:"applied"`
	Replayed     int                      `json:"replayed"`
	Refused      []refusal                `json:"refused"`
	// Expected is the state in which the order's real history ended, if the input has it.
	Expected   workflow.State `json:"expected,omitempty"`
	AsExpected bool           `json:"asExpected"`

	line   int // where the input has the order's history, 0 if each request has a line of its own
	events int
	made   []line // requests that were sent as copies and done, for late duplicates
}

type refusal struct {
	Event   workflow.Event      `json:"event"`
	Verdict transitions.Verdict `json:"verdict"`
}

// print prints the report: one line of JSON per order, or the orders with refused events.
// A summary follows; with JSON it goes to the notes. print fails if lines could not be used.
func (f *replayFeed) print(out io.Writer, asJSON bool) error {
	asExpected, applied, replayed := 0, 0, 0
	refused := map[transitions.Verdict]int{}
	// In the order of the input, so that two runs can be compared.
	for _, id := range f.sequence {
		r := f.reports[id]
		r.AsExpected = r.Expected == "" || r.Expected == r.FinalState
		if r.AsExpected {
			asExpected++
		}

		applied, replayed = applied+r.Applied, replayed+r.Replayed
		for _, x := range r.Refused {
			refused[x.Verdict]++
		}

		switch {
		case asJSON:
			if err := terminal.PrintJSON(out, r); err != nil {
				return err
			}
		case len(r.Refused) > 0 || !r.AsExpected:
			fmt.Fprintf(out, "%s  %s", r.OrderID, r.FinalState)

			if !r.AsExpected {
				fmt.Fprintf(out, " (history says %s)", r.Expected)
			}

			for _, x := range r.Refused {
				fmt.Fprintf(out, "  %s: %s", x.Event, x.Verdict)
			}
			fmt.Fprintln(out)
		}
	}

	// Standard output has JSON only.
	summary := out
	if asJSON {
		summary = f.notes
	}
	fmt.Fprintf(summary, "%s, %d ended where their history says; %s in %s: %d applied, %d replayed",
		plural.Of(len(f.sequence), "order"), asExpected, plural.Of(f.sent, "request"), f.took.Round(time.Millisecond), applied, replayed)

	for _, v := range transitions.Verdicts() {
		if refused[v] > 0 {
			fmt.Fprintf(summary, ", %s refused as %s", plural.Of(refused[v], "event"), v)
		}
	}
	fmt.Fprintln(summary)

	if f.badLines > 0 {
		return exit.With(exit.Usage, fmt.Errorf("%s could not be used", plural.Of(f.badLines, "line")))
	}

	return nil
}
