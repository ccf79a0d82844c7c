package develop

import (
	"fmt"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/server"
)

func locksGet(s *settings.Settings) *cobra.Command {
	return &cobra.Command{
		Use: "get KEY", Short: "Print the holder of a key, and since when", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return s.With(c.Context(), func(b *server.Backend) error {
				lock, found, err := b.Locks.Get(c.Context(), args[0])
				if err == nil && !found {
					err = fmt.Errorf("lock %s: %w", args[0], exit.ErrNotFound)
				}

				if err != nil {
					return err
				}

				return printLock(c, s, lock)
			})
		},
	}
}
