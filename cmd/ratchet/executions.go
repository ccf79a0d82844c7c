package main

import (
	"github.com/spf13/cobra"
)

func executionsCommand(s *settings) *cobra.Command {
	return group("executions", "Start and look at the orders' executions",
		executionsStart(s), executionsList(s), executionsDescribe(s))
}
