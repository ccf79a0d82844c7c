package orders

import (
	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/jobrun"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/operate/jobs"
	"ratchet/server"
)

const rebuildListsHelp = `Makes the lists of orders (the setting order-lists) show every order as it is, and nothing
else: also after a gap of the stream, after orders were deleted or placed again while the lists
were off, or after a restore of one of the tables.

It reads both tables, part by part. Workers may run meanwhile, but only with order-lists: changes that a
worker handles without it are missing in the lists, so the last part is refused then (lists_incomplete):
repeat the command. It goes on with what is left.

A job does it: a worker runs it, or without workers this command. Ctrl-C pauses it, and
` + "`ratchet jobs resume`" + ` goes on. Workers with order-lists do the same by themselves while the lists are not
ready.`

func ordersRebuildLists(s *settings.Settings) *cobra.Command {
	c := &cobra.Command{Use: "rebuild-lists", Short: "Correct the lists of orders", Args: cobra.NoArgs, Long: rebuildListsHelp, Example: "  ratchet orders rebuild-lists"}
	job := jobrun.AddFlags(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := job.Check(); err != nil {
			return err
		}

		return s.With(c.Context(), func(b *server.Backend) error {
			if b.Lists == nil {
				return exit.UsageError("there are no lists: the setting order-lists is off")
			}

			return job.All(c, s, b, jobs.New{Kind: jobs.RebuildLists}, "part", "compared and corrected")
		})
	}

	return s.Long(c, "comparing the lists")
}
