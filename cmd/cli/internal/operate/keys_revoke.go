package operate

import (
	"github.com/spf13/cobra"

	"ratchet/api/auth"
	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/server"
)

func keysRevoke(s *settings.Settings) *cobra.Command {
	return &cobra.Command{
		Use: "revoke KEY", Short: "Revoke a key; servers refuse it within 10 seconds", Args: cobra.ExactArgs(1),
		Example: "  ratchet keys revoke 5xprx62f523x4pcr",
		// The id is checked before the table is opened and the act is written down.
		RunE: func(c *cobra.Command, args []string) error {
			if err := keyID(args[0]); err != nil {
				return err
			}

			return s.With(c.Context(), func(b *server.Backend) error {
				return b.APIKeys.Revoke(c.Context(), args[0])
			})
		},
	}
}

// keyID refuses a key where its id belongs: the argument is written into the audit table and into
// errors, and the secret must be in neither.
func keyID(arg string) error {
	if auth.IsToken(arg) {
		return exit.UsageError("KEY: must be the id that `ratchet keys list` prints, and not the key itself, which is a secret")
	}

	return nil
}
