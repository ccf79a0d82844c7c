package operate

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/server"
)

func streamsLag(s *settings.Settings) *cobra.Command {
	c := &cobra.Command{
		Use: "lag", Short: "Say whether the orders' stream is handled in time, for scripts", Args: cobra.NoArgs,
		Long: `Compares the oldest record that is not handled with --max: one after a checkpoint, or one that
waits in a retry queue (by its first failure). Prints why the stream is behind, if it is.`,
		Example: "  ratchet streams lag --max 30s || alarm\n  ratchet streams lag --json | jq .seconds",
	}
	inspection := inspectionFlags(c)
	longest := c.Flags().Duration("max", time.Minute, "the oldest record may be as old as this, 0 or more")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if *longest < 0 {
			return exit.UsageError("max %s: 0 or more", *longest)
		}

		return s.With(c.Context(), func(b *server.Backend) error {
			status, err := inspection.status(c, b)
			if err != nil {
				return err
			}

			lag := status.Lag(*longest, time.Now())
			if s.JSON {
				err = terminal.PrintJSON(c.OutOrStdout(), lag)
			} else {
				_, err = fmt.Fprintf(c.OutOrStdout(), "%s behind, %s\n%s", lag.Age.Round(time.Second), records(lag.Records, lag.More), lines(lag.Reasons))
			}

			// The reasons are printed; the error has the exit status.
			if err == nil && len(lag.Reasons) > 0 {
				err = exit.With(exit.Failure, nil)
			}

			return err
		})
	}

	return s.Long(c, "looking for signs of life")
}

// lines returns each text as a line.
func lines(texts []string) string {
	var out strings.Builder
	for _, text := range texts {
		out.WriteString("! " + text + "\n")
	}

	return out.String()
}
