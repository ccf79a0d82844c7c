package operate

import (
	"time"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/arguments"
	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/server"
)

func keysRotate(s *settings.Settings) *cobra.Command {
	c := &cobra.Command{
		Use: "rotate KEY", Short: "Create a successor of a key; the old key expires after --grace", Args: cobra.ExactArgs(1),
		Long: "Prints a new key with the same name, tenant, scope and grant. The old key is valid until\n" +
			"--grace has passed, so that both work while callers change to the new one.",
		Example: "  ratchet keys rotate 5xprx62f523x4pcr --grace 48h",
	}
	grace := c.Flags().Duration("grace", 24*time.Hour, "how long the old key stays valid")
	expires := c.Flags().Duration("expires", 0, "how long the new key is valid; 0: without limit")
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := keyID(args[0]); err != nil {
			return err
		}

		if *grace < 0 || *expires < 0 {
			return exit.UsageError("grace and expires must not be negative")
		}

		return s.With(c.Context(), func(b *server.Backend) error {
			key, token, err := b.APIKeys.Rotate(c.Context(), args[0], *grace, arguments.FromNow(*expires))
			if err != nil {
				return err
			}

			return printKey(c.OutOrStdout(), s.JSON, key, token)
		})
	}

	return c
}
