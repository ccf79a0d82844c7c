package main

import (
	"github.com/spf13/cobra"

	"ratchet/api/auth"
	"ratchet/server"
)

func keysCreate(s *settings) *cobra.Command {
	c := &cobra.Command{
		Use: "create", Short: "Create a key and print it, once", Args: cobra.NoArgs,
		Long: "Creates a key and prints it. It cannot be shown again: only its hash is stored.\n\n" +
			"Scopes, each with the ones before it: read (look), act (request changes), admin (operate).\n" +
			"A key sees the data of its tenant only; `default` is what the other commands create.",
	}
	name := c.Flags().String("name", "", "what it is for")
	tenant := c.Flags().String("tenant", string(auth.DefaultTenant), "whose data it opens")
	scope := c.Flags().String("scope", string(auth.Read), "read, act or admin")
	expires := c.Flags().Duration("expires", 0, "how long it is good, like 720h; 0: for ever")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if *expires < 0 {
			return usageError("expires %s: must not be negative", *expires)
		}

		return s.with(c.Context(), func(b *server.Backend) error {
			key, token, err := b.APIKeys.Create(c.Context(), auth.NewKey{Name: *name, Tenant: auth.Tenant(*tenant), Scope: auth.Scope(*scope), Expires: in(*expires)})
			if err != nil {
				return err
			}

			return printKey(c.OutOrStdout(), s.json, key, token)
		})
	}

	return c
}
