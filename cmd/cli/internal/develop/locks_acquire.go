package develop

import (
	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/server"
)

func locksAcquire(s *settings.Settings) *cobra.Command {
	c := &cobra.Command{
		Use: "acquire KEY --holder NAME", Short: "Acquire a key permanently, or print its holder", Args: cobra.ExactArgs(1),
		Long: "Acquires the key with one write. A once-lock is never released: work under it is done at most once, and\n" +
			"not at all if its holder crashes. Use `ratchet claims run` for work that must be done.",
	}
	holder := c.Flags().String("holder", "", "name of the holder, unique to the request (required)")
	c.RunE = func(c *cobra.Command, args []string) error {
		if *holder == "" {
			return exit.UsageError("acquire needs --holder")
		}

		return s.With(c.Context(), func(b *server.Backend) error {
			lock, err := b.Locks.Acquire(c.Context(), args[0], *holder)
			if err != nil {
				return err
			}

			if err := printLock(c, s, lock); err != nil || lock.Acquired {
				return err
			}

			// The holder is printed already.
			return exit.With(exit.Refused, nil)
		})
	}

	return c
}
