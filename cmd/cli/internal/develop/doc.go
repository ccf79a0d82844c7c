// Package develop has the commands of the people who write workflows, handlers and programs of their own.
package develop

import (
	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/settings"
)

// Commands returns the commands of the group.
func Commands(s *settings.Settings) []*cobra.Command {
	return []*cobra.Command{
		workflowCommand(s),
		s.Takes(planCommand(s), settings.OutputFlags),
		s.Takes(replayCommand(s), settings.OutputFlags, settings.TargetFlags),
		s.Takes(listenCommand(s), settings.TargetFlags, settings.OrdersFlags),
		s.Takes(triggerCommand(s), settings.OutputFlags, settings.TargetFlags),
		s.Takes(claimsCommand(s), settings.TargetFlags),
		s.Takes(locksCommand(s), settings.OutputFlags, settings.TargetFlags),
	}
}
