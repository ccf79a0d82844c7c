// Package money has the commands about money and stock: the ledger, payments, inventory, shipments and actions that
// are used once.
package money

import (
	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/settings"
)

// Commands returns the commands of the group.
func Commands(s *settings.Settings) []*cobra.Command {
	return []*cobra.Command{
		s.Takes(accountsCommand(s), settings.TargetFlags),
		s.Takes(transfersCommand(s), settings.OutputFlags, settings.TargetFlags),
		s.Takes(holdsCommand(s), settings.OutputFlags, settings.TargetFlags),
		s.Takes(ledgerCommand(s), settings.OutputFlags, settings.TargetFlags),
		s.Takes(paymentsCommand(s), settings.TargetFlags),
		s.Takes(reconcileCommand(s), settings.OutputFlags, settings.TargetFlags),
		s.Takes(inventoryCommand(s), settings.OutputFlags, settings.TargetFlags),
		s.Takes(shipmentsCommand(s), settings.OutputFlags, settings.TargetFlags),
		actionsCommand(s),
	}
}
