package develop

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/arguments"
	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/once"
	"ratchet/server"
)

func claimsUnsettled(s *settings.Settings) *cobra.Command {
	c := &cobra.Command{
		Use: "unsettled", Short: "List keys whose work does not end: unknown outcomes and expired leases", Args: cobra.NoArgs,
		Long: "Reads the whole claims table, in pages, and lists records with an unknown outcome, and records in\n" +
			"progress whose lease ended --age ago or earlier.",
	}
	age := c.Flags().Duration("age", time.Minute, "how long ago a lease must have ended")
	limit := arguments.LimitFlag(c.Flags(), 100, 1_000_000, "at most this many")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if *age < 0 {
			return exit.UsageError("--age must not be negative")
		}
		return s.With(c.Context(), func(b *server.Backend) error { return listUnsettled(c, s, b, time.Now().Add(-*age), *limit) })
	}

	return s.Long(c, "reading claims")
}

// listUnsettled prints the records and returns an error with exit.Failure if there are any.
func listUnsettled(c *cobra.Command, s *settings.Settings, b *server.Backend, before time.Time, limit int) error {
	found := 0

	var corrupt error // of a page with records that cannot be read; the others are printed
	for after := ""; ; {
		page, next, err := b.Claims.Unsettled(c.Context(), before, after, 1000)
		if errors.Is(err, once.ErrCorrupt) {
			corrupt, err = err, nil
		}

		if err != nil {
			return err
		}

		s.Progress.Print("reading claims, %d found", found)

		for _, r := range page {
			// A record beyond the limit needs no line: the exit status says that there are more.
			if found++; found > limit {
				return exit.With(exit.Failure, nil)
			}

			if s.JSON {
				if err := terminal.PrintJSON(c.OutOrStdout(), r); err != nil {
					return err
				}
				continue
			}
			fmt.Fprintf(c.OutOrStdout(), "%s\t%s\t%s\tsince %s\n", r.Key, r.Status, r.Operation, terminal.Stamp(r.ClaimedAt))
		}

		// A page may be empty and have a next one.
		if after = next; next == "" {
			break
		}
	}

	if corrupt != nil {
		return corrupt
	}

	if found > 0 {
		return exit.With(exit.Failure, nil)
	}

	return nil
}
