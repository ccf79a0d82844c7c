package main

import (
	"github.com/spf13/cobra"
)

func parkedCommand(s *settings) *cobra.Command {
	return group("parked", "Look at tasks of executions that wait for a state of their order", parkedList(s))
}
