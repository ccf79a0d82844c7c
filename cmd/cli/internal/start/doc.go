// Package start has the commands that start Ratchet: dev and demo on one machine, init, serve and worker for an
// installation.
package start

import (
	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/settings"
)

// Commands returns the commands of the group.
func Commands(s *settings.Settings) []*cobra.Command {
	return []*cobra.Command{
		s.Takes(initCommand(s), settings.OutputFlags, settings.TargetFlags, settings.RoleFlags),
		s.Takes(untilStopped(devCommand(s)), settings.EngineFlags, settings.WorkerFlags),
		s.Takes(demoCommand(s), settings.OutputFlags, settings.SettingsFlags, settings.StoreFlags, settings.BankFlags, settings.CarrierFlags, settings.WorkFlags, settings.FreshFlags),
		s.Takes(untilStopped(serveCommand(s)), settings.TargetFlags, settings.WorkerFlags),
		s.Takes(untilStopped(workerCommand(s)), settings.TargetFlags, settings.WorkerFlags),
	}
}
