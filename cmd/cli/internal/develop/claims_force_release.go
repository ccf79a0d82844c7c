package develop

import (
	"fmt"
	"log/slog"
	"os/user"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/once"
	"ratchet/server"
)

func claimsForceRelease(s *settings.Settings) *cobra.Command {
	c := &cobra.Command{
		Use: "force-release KEY", Short: "Release a key that another process may hold", Args: cobra.ExactArgs(1),
		Long: "Releases the key, so that the next caller does the work again. Writes of the former holder fail on\n" +
			"the fence. Make sure first that the work had no effect, or may have its effect twice. --by and\n" +
			"--reason are stored in the record and logged.",
	}
	reason := c.Flags().String("reason", "", "reason (required)")
	by := c.Flags().String("by", "", "name of the person; default: the user who runs the command")
	finished := c.Flags().Bool("finished", false, "release it although its work is done")
	c.RunE = func(c *cobra.Command, args []string) error {
		if *by == "" {
			if u, err := user.Current(); err == nil {
				*by = u.Username
			}
		}

		if *reason == "" || *by == "" {
			return exit.UsageError("force-release needs --reason, and --by if the user is not known")
		}

		return s.With(c.Context(), func(b *server.Backend) error {
			r, err := claimRecord(c.Context(), b, args[0])
			if err != nil {
				return err
			}

			// A finished claim protects work that was done, and its release repeats that work. So
			// it needs a flag of its own.
			if (r.Status == once.StatusCompleted || r.Status == once.StatusFailed) && !*finished {
				return exit.With(exit.Refused, fmt.Errorf("claim %s is %s: releasing it repeats work that was done; use --finished to do so", r.Key, r.Status))
			}

			if err := b.Claims.ForceRelease(c.Context(), r, *by, *reason); err != nil {
				return err
			}
			slog.New(slog.NewTextHandler(c.ErrOrStderr(), nil)).LogAttrs(c.Context(), slog.LevelWarn, "audit: claim force-released",
				slog.String("ref", b.Claims.Ref(r.Key)), slog.String("was", string(r.Status)), slog.Int64("fence", r.Fence), slog.String("by", *by), slog.String("reason", *reason))

			if s.JSON {
				return terminal.PrintJSON(c.OutOrStdout(), map[string]any{"key": r.Key, "was": r.Status, "released": true})
			}
			fmt.Fprintf(c.OutOrStdout(), "released: it was %s, claimed %s\n", r.Status, terminal.Stamp(r.ClaimedAt))

			return nil
		})
	}

	return c
}
