package main

import (
	"bytes"
	"fmt"

	"github.com/spf13/cobra"

	"ratchet"
	"ratchet/activities/steps"
	"ratchet/workflow/check"
)

const checkHelp = `Reads a state machine (Amazon States Language, JSON or YAML) and compares it with the
definition of an order. It checks that every event is legal wherever its task can run, that
an execution whose order was moved meanwhile learns of it, that every end of an order can be
reached, and that every activity has its time-outs. A fault on a path is shown with the
shortest such path. Without a file it checks the state machine that Ratchet deploys; a
file named - is standard input.

Exit status: 0 no errors (there may be warnings), 1 errors, 2 the file cannot be read.`

// checkCommand is `ratchet workflow check`, and `ratchet check` at the root.
func checkCommand(s *settings) *cobra.Command {
	command := &cobra.Command{
		Use:   "check [FILE]",
		Short: "Check a state machine against the order's definition",
		Long:  checkHelp,
		Args:  cobra.MaximumNArgs(1),
	}
	definition := command.Flags().String("definition", "",
		"definition to check against (YAML or JSON, see workflow show --format yaml); default the order's")

	command.RunE = func(c *cobra.Command, args []string) error {
		d, err := s.definition(c, "order", *definition)
		if err != nil {
			return err
		}

		cfg := steps.CheckConfig()
		cfg.File = "statemachine.asl.json"
		asl := []byte(ratchet.StateMachine)

		if len(args) == 1 {
			cfg.File = args[0]
			if asl, err = readFile(c, cfg.File); err != nil {
				return err
			}
		}

		// A machine of one's own may keep the order where the former one of Ratchet did.
		if !bytes.Contains(asl, []byte("$.run.order")) {
			cfg.Variable = ""
		}

		report, err := check.StateMachine(asl, d, cfg)
		if err != nil {
			return &statusError{exitUsage, err}
		}

		// --json belongs to the root command; the flag is inherited.
		if asJSON, _ := c.Flags().GetBool("json"); asJSON {
			err = printJSON(c.OutOrStdout(), report)
		} else {
			_, err = fmt.Fprint(c.OutOrStdout(), report.Text())
		}

		if err == nil && report.Count(check.SeverityError) > 0 {
			return &statusError{exitFailure, nil}
		}

		return err
	}

	return command
}
