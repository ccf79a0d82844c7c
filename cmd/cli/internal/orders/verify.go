package orders

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/internal/plural"
	"ratchet/operate/inspect"
	"ratchet/server"
)

func verifyCommand(s *settings.Settings) *cobra.Command {
	c := &cobra.Command{
		Use: "verify", Short: "Compare every order with its journal", Args: cobra.NoArgs,
		Long: "Rebuilds every order from its journal and prints where the two disagree. Reads both tables\n" +
			"completely and writes nothing; orders may move meanwhile. A journal that the stream writes is\n" +
			"behind its orders: transitions that are missing in it and still in the order's ring are counted,\n" +
			"but are no mismatch, if the workers have not handled them. That is known from the checkpoints of\n" +
			"the stream, with a minute for clocks that differ, and from the journal's retry queue. With --lag\n" +
			"the age of a transition decides instead. A state that another program has changed without a transition is\n" +
			"the mismatch moved: see `ratchet orders adopt`.",
	}
	lag := c.Flags().Duration("lag", time.Minute, "how far the journal may be behind, 0 or more; default: up to what the workers have handled")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if *lag < 0 {
			return exit.UsageError("lag %s: 0 or more", *lag)
		}

		return s.With(c.Context(), func(b *server.Backend) error {
			v := &verification{
				context:  c.Context(),
				out:      c.OutOrStdout(),
				progress: s.Progress,
				json:     s.JSON,
				lag:      server.JournalLag{Since: time.Now().Add(-*lag)},
			}

			if !c.Flags().Changed("lag") {
				var err error
				if v.lag, err = b.JournalLag(c.Context()); err != nil {
					fmt.Fprintf(c.ErrOrStderr(), "how far the stream is handled is not known, so only the last minute counts as its lag: %v\n", err)
				}
			}

			if err := inspect.Verify(c.Context(), b.Orders, v.add); err != nil {
				return err
			}

			return v.finish()
		})
	}

	return s.Long(c, "comparing orders")
}

// verification counts and prints the findings of inspect.Verify.
type verification struct {
	context  context.Context //nolint:containedctx // of the command, for the calls that inspect.Verify makes
	out      io.Writer
	progress *terminal.Progress
	json     bool
	lag      server.JournalLag

	counts verificationCounts
}

type verificationCounts struct {
	Orders     int `json:"orders"`
	Rows       int `json:"rows"`
	Lagging    int `json:"lagging"`
	Mismatched int `json:"mismatched"`
	// Elsewhere counts orders that had been paid when they came here.
	Elsewhere int `json:"paidElsewhere,omitempty"`
}

// add counts one order and prints its mismatches.
func (v *verification) add(c inspect.Check) error {
	v.counts.Orders++
	v.counts.Rows += c.Rows

	if c.Elsewhere {
		v.counts.Elsewhere++
	}
	v.progress.Print("%s compared, %d mismatched", plural.Of(v.counts.Orders, "order"), v.counts.Mismatched)

	// A journal that the stream writes lags; only a lag that lasts is a mismatch.
	mismatches, lagging, err := v.lag.Mismatches(v.context, c)
	if err != nil {
		return err
	}
	v.counts.Lagging += lagging

	// The count is of mismatched orders, not of their findings.
	if len(mismatches) == 0 {
		return nil
	}

	v.counts.Mismatched++
	if v.json {
		c.Findings = mismatches
		return terminal.PrintJSON(v.out, c)
	}

	for _, f := range mismatches {
		if _, err := fmt.Fprintf(v.out, "order %s (%s, transition %d): %s: %s\n  %s\n", c.OrderID, c.State, c.TransitionID, f.Kind, f.Detail, f.Advice); err != nil {
			return err
		}
	}

	return nil
}

// finish prints the totals. If there are mismatches, it returns an error with exit.Failure.
func (v *verification) finish() error {
	var err error
	if v.json {
		err = terminal.PrintJSON(v.out, v.counts)
	} else {
		_, err = fmt.Fprintf(v.out, "%s and %s compared: %d mismatched, %d whose journal follows within the lag\n",
			plural.Of(v.counts.Orders, "order"), plural.Of(v.counts.Rows, "row"), v.counts.Mismatched, v.counts.Lagging)
		if err == nil && v.counts.Elsewhere > 0 {
			_, err = fmt.Fprintf(v.out, "%s had been paid elsewhere before they came here: no payment is missing\n", plural.Of(v.counts.Elsewhere, "order"))
		}
	}

	if err == nil && v.counts.Mismatched > 0 {
		err = exit.With(exit.Failure, nil)
	}

	return err
}
