package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"ratchet/api/auth"
	"ratchet/server"
)

func keysCommand(s *settings) *cobra.Command {
	return group("keys", "Create, list, rotate and revoke keys of the HTTP API", keysCreate(s), keysList(s), keysRotate(s), keysRevoke(s))
}

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

// in is the time after d, or none.
func in(d time.Duration) time.Time {
	if d == 0 {
		return time.Time{}
	}
	return time.Now().Add(d)
}

func printKey(out io.Writer, asJSON bool, key auth.Key, token auth.Token) error {
	if asJSON {
		return printJSON(out, struct {
			auth.Key
			Token string `json:"token"`
		}{key, string(token)})
	}
	_, err := fmt.Fprintf(out, "%s\n\nkey %s for %s, tenant %s, scope %s. This is the only time that it is shown.\n", string(token), key.ID, key.Name, key.Tenant, key.Scope)

	return err
}

func keysList(s *settings) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List keys, without what is secret", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return s.with(c.Context(), func(b *server.Backend) error {
				keys, err := b.APIKeys.List(c.Context())
				if err != nil {
					return err
				}

				return printKeys(c.OutOrStdout(), s.json, keys)
			})
		},
	}
}

func printKeys(out io.Writer, asJSON bool, keys []auth.Key) error {
	if asJSON {
		for _, k := range keys {
			if err := printJSON(out, k); err != nil {
				return err
			}
		}

		return nil
	}
	now := time.Now()
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tNAME\tTENANT\tSCOPE\tCREATED\tSTATUS")

	for _, k := range keys {
		status := "live"
		switch {
		case !k.RevokedAt.IsZero():
			status = "revoked " + stamp(k.RevokedAt)
		case !k.Live(now):
			status = "expired " + stamp(k.ExpiresAt)
		case !k.ExpiresAt.IsZero():
			status = "live until " + stamp(k.ExpiresAt)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", k.ID, k.Name, k.Tenant, k.Scope, stamp(k.CreatedAt), status)
	}

	return w.Flush()
}

func keysRotate(s *settings) *cobra.Command {
	c := &cobra.Command{
		Use: "rotate KEY", Short: "Create a successor of a key and end the key after a grace", Args: cobra.ExactArgs(1),
		Long: "Prints a new key with the same name, tenant and scope. The old one is good until --grace is\n" +
			"over, so that both work while callers change.",
	}
	grace := c.Flags().Duration("grace", 24*time.Hour, "how long the old key stays good")
	expires := c.Flags().Duration("expires", 0, "how long the new key is good; 0: for ever")
	c.RunE = func(c *cobra.Command, args []string) error {
		if *grace < 0 || *expires < 0 {
			return usageError("grace and expires must not be negative")
		}

		return s.with(c.Context(), func(b *server.Backend) error {
			key, token, err := b.APIKeys.Rotate(c.Context(), args[0], *grace, in(*expires))
			if err != nil {
				return err
			}

			return printKey(c.OutOrStdout(), s.json, key, token)
		})
	}

	return c
}

func keysRevoke(s *settings) *cobra.Command {
	return &cobra.Command{
		Use: "revoke KEY", Short: "End a key; servers forget it within 10 seconds", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return s.with(c.Context(), func(b *server.Backend) error {
				return b.APIKeys.Revoke(c.Context(), args[0])
			})
		},
	}
}
