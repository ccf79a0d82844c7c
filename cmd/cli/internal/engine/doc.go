// Package engine has the commands about the embedded engine and its data.
package engine

import (
	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/settings"
)

// Commands returns the commands of the group.
func Commands(s *settings.Settings) []*cobra.Command {
	return []*cobra.Command{
		s.Takes(engineCommand(s), settings.OutputFlags, settings.TargetFlags),
		s.Takes(backupCommand(s), settings.OutputFlags, settings.TargetFlags),
		s.Takes(restoreCommand(s), settings.OutputFlags, settings.SettingsFlags, settings.DataFlags),
		s.Takes(compactCommand(s), settings.OutputFlags, settings.TargetFlags),
	}
}
