package operate

import (
	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/views"
	"ratchet/server"
)

func deadLettersGet(s *settings.Settings) *cobra.Command {
	return &cobra.Command{
		Use: "get HANDLER LETTER", SuggestFor: []string{"show"}, Short: "Show a dead letter", Args: cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			return s.With(c.Context(), func(b *server.Backend) error {
				l, err := letterNamed(c.Context(), b, args)
				if err != nil {
					return err
				}

				return printDeadLetter(c.OutOrStdout(), s.JSON, views.ToPrinted(b.Orders.Mapping(), l))
			})
		},
	}
}
