package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"ratchet/once"
)

func locksCommand(s *settings) *cobra.Command {
	return group("locks", "Once-locks: keys that are acquired once and never released", locksAcquire(s), locksGet(s))
}

func printLock(c *cobra.Command, s *settings, lock once.Lock) error {
	if s.json {
		return printJSON(c.OutOrStdout(), lock)
	}

	verb := "held"
	if lock.Acquired {
		verb = "acquired"
	}
	fmt.Fprintf(c.OutOrStdout(), "%s by %s since %s\n", verb, lock.Holder, stamp(lock.Since))

	return nil
}
