package operate

import (
	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/settings"
	"ratchet/operate/jobs"
	"ratchet/server"
	"ratchet/streams/deadletters"
)

func deadLettersDiscard(s *settings.Settings) *cobra.Command {
	c := &cobra.Command{
		Use: "discard [HANDLER LETTER]", Short: "Delete dead letters without handling them", Args: cobra.MaximumNArgs(2),
		Long: `Deletes a dead letter, or those that --order or --all select, including letters that
cannot be read. The handler never acts on the change then. A letter that waits to be redriven
is not redriven any more.

With --order and --all a job does it: a worker runs it, or without workers this command. Ctrl-C pauses it,
and ` + "`ratchet jobs resume`" + ` goes on. A letter that has failed again since it was selected stays.`,
		Example: "  ratchet deadletters discard --order o-1\n" +
			"  ratchet deadletters discard notify LETTER\n" +
			"  ratchet deadletters discard --all --handler notify --error 410 --dry-run",
	}
	selection := deadLetterSelectionFlags(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := selection.check(c, args); err != nil {
			return err
		}

		return s.With(c.Context(), func(b *server.Backend) error {
			return selection.each(c, s, b, args, jobs.DiscardDeadLetters, "discarded", func(l deadletters.Letter) error {
				return b.DeadLetters().Delete(c.Context(), l.Handler, l.ID)
			})
		})
	}

	return s.Long(c, "reading dead letters")
}
