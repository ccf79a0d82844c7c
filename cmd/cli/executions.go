package cli

import (
	"github.com/spf13/cobra"
)

func executionsCommand(s *settings) *cobra.Command {
	return group("executions", "Start, show and repair the orders' executions",
		executionsStart(s), executionsList(s), executionsDescribe(s), executionsRedrive(s), executionsRepair(s))
}
