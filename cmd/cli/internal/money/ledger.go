package money

import (
	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/settings"
)

func ledgerCommand(s *settings.Settings) *cobra.Command {
	return settings.Group("ledger", "Check the ledger", ledgerVerify(s))
}
