// Package orders has the commands about orders and their executions.
package orders

import (
	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/settings"
)

// Commands returns the commands of the group.
func Commands(s *settings.Settings) []*cobra.Command {
	return []*cobra.Command{
		s.Takes(ordersCommand(s), settings.OutputFlags, settings.TargetFlags, settings.OrdersFlags),
		s.Takes(executionsCommand(s), settings.OutputFlags, settings.TargetFlags, settings.OrdersFlags),
		s.Takes(tasksCommand(s), settings.OutputFlags, settings.TargetFlags, settings.OrdersFlags),
		s.Takes(verifyCommand(s), settings.OutputFlags, settings.TargetFlags, settings.OrdersFlags),
	}
}
