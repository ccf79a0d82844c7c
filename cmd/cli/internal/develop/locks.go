package develop

import (
	"fmt"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/once"
)

func locksCommand(s *settings.Settings) *cobra.Command {
	return settings.Group("locks", "Once-locks: keys that are acquired once and never released", locksAcquire(s), locksGet(s))
}

func printLock(c *cobra.Command, s *settings.Settings, lock once.Lock) error {
	if s.JSON {
		return terminal.PrintJSON(c.OutOrStdout(), lock)
	}

	verb := "held"
	if lock.Acquired {
		verb = "acquired"
	}
	fmt.Fprintf(c.OutOrStdout(), "%s by %s since %s\n", verb, lock.Holder, terminal.Stamp(lock.Since))

	return nil
}
