package cli

import (
	"github.com/spf13/cobra"
)

func ledgerCommand(s *settings) *cobra.Command {
	return group("ledger", "Check the ledger", ledgerVerify(s))
}
