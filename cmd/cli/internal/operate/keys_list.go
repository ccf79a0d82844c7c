package operate

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"ratchet/api/auth"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/server"
)

func keysList(s *settings.Settings) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List keys, without their secrets", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return s.With(c.Context(), func(b *server.Backend) error {
				keys, err := b.APIKeys.List(c.Context())
				if err != nil {
					return err
				}

				return printKeys(c.OutOrStdout(), s.JSON, keys)
			})
		},
	}
}

// yes prints a boolean in a table.
func yes(b bool) string {
	if b {
		return "yes"
	}

	return "-"
}

func printKeys(out io.Writer, asJSON bool, keys []auth.Key) error {
	if asJSON {
		for _, k := range keys {
			if err := terminal.PrintJSON(out, k); err != nil {
				return err
			}
		}

		return nil
	}
	now := time.Now()
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tNAME\tTENANT\tSCOPE\tPERSONAL\tCREATED\tSTATUS")

	for _, k := range keys {
		status := "live"
		// Revoked comes first: a revoked key may also have expired.
		switch {
		case !k.RevokedAt.IsZero():
			status = "revoked " + terminal.Stamp(k.RevokedAt)
		case !k.Live(now):
			status = "expired " + terminal.Stamp(k.ExpiresAt)
		case !k.ExpiresAt.IsZero():
			status = "live until " + terminal.Stamp(k.ExpiresAt)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", k.ID, k.Name, k.Tenant, k.Scope, yes(k.Personal), terminal.Stamp(k.CreatedAt), status)
	}

	return w.Flush()
}
