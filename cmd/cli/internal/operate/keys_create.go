package operate

import (
	"github.com/spf13/cobra"

	"ratchet/api/auth"
	"ratchet/cmd/cli/internal/arguments"
	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/server"
)

func keysCreate(s *settings.Settings) *cobra.Command {
	c := &cobra.Command{
		Use: "create", Short: "Create a key and print it, once", Args: cobra.NoArgs,
		Long: "Creates a key and prints it. It cannot be shown again, because only its hash is stored.\n\n" +
			"The scopes are read (read data), act (read, and request changes) and admin (act, and operate).\n" +
			"No scope shows personal data: customers, addresses, notes, metadata, texts. --personal does.\n" +
			"A key opens the data of its tenant only; the other commands work on the tenant `default`.",
	}
	name := c.Flags().String("name", "", "purpose of the key")
	tenant := c.Flags().String("tenant", string(auth.DefaultTenant), "tenant whose data the key opens")
	scope := c.Flags().String("scope", string(auth.Read), "read, act or admin")
	personal := c.Flags().Bool("personal", false, "show personal data, beside the scope")
	expires := c.Flags().Duration("expires", 0, "how long it is valid, like 720h; 0: without limit")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if *expires < 0 {
			return exit.UsageError("expires %s: must not be negative", *expires)
		}

		return s.With(c.Context(), func(b *server.Backend) error {
			key, token, err := b.APIKeys.Create(c.Context(), auth.NewKey{
				Name:     *name,
				Tenant:   auth.Tenant(*tenant),
				Scope:    auth.Scope(*scope),
				Personal: *personal,
				Expires:  arguments.FromNow(*expires),
			})
			if err != nil {
				return err
			}

			return printKey(c.OutOrStdout(), s.JSON, key, token)
		})
	}

	return c
}
