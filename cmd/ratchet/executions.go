package main

import (
	"github.com/spf13/cobra"
)

func executionsCommand(s *settings) *cobra.Command {
	return group("executions", "Start and show the orders' executions",
		executionsStart(s), executionsList(s), executionsDescribe(s))
}
