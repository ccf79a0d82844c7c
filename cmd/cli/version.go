package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/internal/buildinfo"
)

func versionCommand(s *settings.Settings) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version and what it was built from", Args: cobra.NoArgs,
		Example: "  ratchet version\n  ratchet version --json | jq -r .revision",
		RunE: func(c *cobra.Command, _ []string) error {
			b := buildinfo.Read()
			if s.JSON {
				return terminal.PrintJSON(c.OutOrStdout(), b)
			}

			text := fmt.Sprintf("ratchet %s (%s, %s)", b.Version, b.Go, b.Platform)
			if b.Revision != "" {
				text += fmt.Sprintf("\ncommit %s of %s", b.Revision, b.Time)
			}

			if b.Modified {
				text += ", with changes"
			}
			_, err := fmt.Fprintln(c.OutOrStdout(), text)

			return err
		},
	}
}
