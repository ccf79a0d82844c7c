package start

import (
	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/exit"
)

// untilStopped is a command that runs until it is interrupted. While it still starts, the interruption fails one of its
// calls; that is a clean stop, too.
func untilStopped(c *cobra.Command) *cobra.Command {
	run := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		err := run(c, args)
		if c.Context().Err() != nil && exit.OnlyCanceled(err) && exit.StatusOf(err) == exit.Failure {
			return nil
		}

		return err
	}

	return c
}
