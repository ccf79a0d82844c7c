package develop

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/internal/plural"
	"ratchet/once"
	"ratchet/server"
)

func claimsGet(s *settings.Settings) *cobra.Command {
	return &cobra.Command{
		Use: "get KEY", Short: "Show the record under a key", Args: cobra.ExactArgs(1),
		Long: "Shows the record of an idempotency key. \"ref\" is the abbreviation of the key in the logs. Of a\n" +
			"result only the size is shown.",
		RunE: func(c *cobra.Command, args []string) error {
			return s.With(c.Context(), func(b *server.Backend) error {
				r, err := claimRecord(c.Context(), b, args[0])
				if err != nil {
					return err
				}

				if s.JSON {
					return terminal.PrintJSON(c.OutOrStdout(), struct {
						once.Record
						Ref string `json:"ref"`
					}{r, b.Claims.Ref(r.Key)})
				}

				return printClaim(c.OutOrStdout(), r, b.Claims.Ref(r.Key))
			})
		},
	}
}

func printClaim(out io.Writer, r once.Record, ref string) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "key\t%s\nref\t%s\nstatus\t%s\n", r.Key, ref, r.Status)

	for _, line := range []struct{ name, value string }{
		{"operation", r.Operation}, {"failure", r.FailureCode}, {"released by", r.ReleasedBy}, {"because", r.Reason}} {
		if line.value != "" {
			fmt.Fprintf(w, "%s\t%s\n", line.name, line.value)
		}
	}
	fmt.Fprintf(w, "fence\t%d\nclaimed\t%s\nlease until\t%s\nupdated\t%s\n", r.Fence, terminal.Stamp(r.ClaimedAt), terminal.Stamp(r.LeaseUntil), terminal.Stamp(r.UpdatedAt))

	kept := "without limit"
	if !r.ExpiresAt.IsZero() {
		kept = "until " + terminal.Stamp(r.ExpiresAt)
	}
	fmt.Fprintf(w, "kept\t%s\nresult\t%s\n", kept, plural.Of(r.ResultBytes, "byte"))

	return w.Flush()
}
