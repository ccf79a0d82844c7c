// Package operate has the commands of the people on duty: what runs, what waits, what failed, and what to do about it.
package operate

import (
	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/settings"
)

// Commands returns the commands of the group.
func Commands(s *settings.Settings) []*cobra.Command {
	return []*cobra.Command{
		deployCommand(s),
		s.Takes(configCommand(s), settings.EveryFlag),
		s.Takes(statusCommand(s), settings.OutputFlags, settings.TargetFlags, settings.OrdersFlags, settings.NotificationFlags, settings.ReadyFlags),
		s.Takes(healthCommand(s), settings.OutputFlags, settings.SettingsFlags, settings.AdminFlags),
		s.Takes(doctorCommand(s), settings.EveryFlag),
		s.Takes(restoredCommand(s), settings.OutputFlags, settings.TargetFlags, settings.OrdersFlags),
		s.Takes(auditCommand(s), settings.OutputFlags, settings.TargetFlags),
		s.Takes(keysCommand(s), settings.TargetFlags),
		s.Takes(streamsCommand(s), settings.OutputFlags, settings.TargetFlags, settings.OrdersFlags),
		s.Takes(deadLettersCommand(s), settings.OutputFlags, settings.TargetFlags, settings.OrdersFlags),
		s.Takes(jobsCommand(s), settings.OutputFlags, settings.TargetFlags, settings.OrdersFlags),
		endpointsCommand(s),
		s.Takes(deliveriesCommand(s), settings.OutputFlags, settings.TargetFlags, settings.NotificationFlags),
	}
}
