package operate

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/internal/plural"
	"ratchet/server"
	"ratchet/streams/status"
)

func streamsStatus(s *settings.Settings) *cobra.Command {
	c := &cobra.Command{
		Use: "status", Short: "Show shards, holders, lag, retries, dead letters and gaps of the orders' stream", Args: cobra.NoArgs,
		Long: `Shows for each shard that is not handled to its end who holds it, how many records come
after its checkpoint and how old the first of them is; for each handler what waits in its
retry queue and how many dead letters it has; and what a person should look at: no worker
reads the stream, it was switched off, records were lost (a gap).

A holder counts if it renews a lease while the command watches, up to --watch. The command
reads the first records after each checkpoint and is for that moment a reader of the shard
beside the workers; AWS allows two.

States of a shard: held, silent (its holder gives no sign of life), free, waiting (for its
parent), unknown (no worker has noticed it), finished (listed only with a gap).

It reports; ` + "`ratchet streams lag`" + ` judges.`,
		Example: "  ratchet streams status\n  ratchet streams status --json | jq -r '.problems[]'",
	}
	inspection := inspectionFlags(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		return s.With(c.Context(), func(b *server.Backend) error {
			status, err := inspection.status(c, b)
			if err != nil {
				return err
			}

			if s.JSON {
				return terminal.PrintJSON(c.OutOrStdout(), status)
			}

			return printStreamStatus(c.OutOrStdout(), status, time.Now())
		})
	}

	return s.Long(c, "looking for signs of life")
}

// inspection is the flags of the commands that inspect the stream.
type inspection struct {
	watch *time.Duration
	count *int
}

func inspectionFlags(c *cobra.Command) inspection {
	return inspection{
		watch: c.Flags().Duration("watch", 5*time.Second, "how long to look for a sign of life of the holders, more than a third of a lease"),
		count: c.Flags().Int("count", 1000, "count up to this many records of each shard, 1 to 1000000"),
	}
}

func (i inspection) status(c *cobra.Command, b *server.Backend) (status.Status, error) {
	switch {
	case *i.watch <= 0:
		return status.Status{}, exit.UsageError("watch %s: more than 0", *i.watch)
	case *i.count < 1 || *i.count > 1_000_000:
		return status.Status{}, exit.UsageError("count %d: 1 to 1000000", *i.count)
	}

	// The inspector watches leases for a moment: a lease alone does not show that its holder lives.
	inspector := b.StreamInspector()
	inspector.Watch, inspector.Count = *i.watch, *i.count

	return inspector.Status(c.Context())
}

func printStreamStatus(out io.Writer, s status.Status, now time.Time) error {
	fmt.Fprintf(out, "stream of table %s: %s, %s finished\n", s.Table, s.State, plural.Of(s.Finished, "shard"))
	fmt.Fprintf(out, "workers: %s\n\n", terminal.OrDash(strings.Join(s.Workers, ", ")))

	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "SHARD\tSTATE\tHOLDER\tRECORDS\tBEHIND\tHANDLED UP TO\tGAPS")

	for _, shard := range s.Shards {
		records, behind := count(shard.Records, shard.More), ago(shard.OldestAt, now)
		// A shard that could not be read has no known lag.
		if shard.Unread != "" {
			records, behind = "?", "?"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%d\n", shard.Shard, shard.State, terminal.OrDash(shard.Owner), records, behind, terminal.OrDash(shard.Checkpoint), shard.Gaps)
	}

	fmt.Fprintln(w, "\nHANDLER\tWAITING\tITEMS\tSINCE\tNEXT TRY\tDEAD LETTERS\tERROR")

	for _, h := range s.Handlers {
		next := "-"
		if !h.NextTry.IsZero() {
			next = terminal.Stamp(h.NextTry)
		}
		first, _, _ := strings.Cut(h.Error, "\n")
		fmt.Fprintf(w, "%s\t%d\t%d\t%s\t%s\t%d\t%s\n", h.Name, h.Records, h.Items, ago(h.Since, now), next, h.DeadLetters, terminal.OrDash(first))
	}

	if err := w.Flush(); err != nil {
		return err
	}

	for i, problem := range s.Problems {
		if i == 0 {
			fmt.Fprintln(out)
		}
		fmt.Fprintf(out, "! %s\n", problem)
	}

	return nil
}
