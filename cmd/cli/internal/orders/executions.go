package orders

import (
	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/settings"
)

func executionsCommand(s *settings.Settings) *cobra.Command {
	return settings.Group("executions", "Start, show and repair the orders' executions",
		executionsStart(s), executionsList(s), executionsGet(s), executionsRedrive(s), executionsRepair(s))
}
