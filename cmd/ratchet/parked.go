package main

import (
	"github.com/spf13/cobra"
)

func parkedCommand(s *settings) *cobra.Command {
	return group("parked", "List tasks of executions that wait for a state of their order", parkedList(s))
}
