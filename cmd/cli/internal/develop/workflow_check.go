package develop

import (
	"bytes"
	"fmt"

	"github.com/spf13/cobra"

	"ratchet"
	"ratchet/activities/steps"
	"ratchet/cmd/cli/internal/arguments"
	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/workflow/check"
)

const checkHelp = `Reads a state machine (Amazon States Language, JSON or YAML) and compares it with the
definition of an order. It checks that every event is legal wherever its task can run, that
an execution whose order was moved meanwhile learns of it, that every end of an order can be
reached, that every activity has its time-outs, and that a wait is parked under orderId.incarnation.
A definition with an event whose write DynamoDB would refuse as too long is refused with its line. A fault on a path is shown with the
shortest such path. Without a file it checks the state machine that the settings or the program
name, or the one that Ratchet deploys; a file named - is standard input.`

// checkCommand is `ratchet workflow check`.
func checkCommand(s *settings.Settings) *cobra.Command {
	command := &cobra.Command{
		Use:   "check [FILE]",
		Short: "Check a state machine against the order's definition",
		Long:  checkHelp,
		Args:  cobra.MaximumNArgs(1),
	}
	definition := command.Flags().String("definition", "",
		"definition to check against (YAML or JSON, see workflow show --format yaml); default the order's")

	command.RunE = func(c *cobra.Command, args []string) error {
		// Without arguments it is what a process would run, by the same check that the process makes.
		if len(args) == 0 && *definition == "" {
			cfg, _, err := s.Load()
			if err != nil {
				return err
			}
			report, err := cfg.CheckWorkflow()

			return printReport(s, c, report, err)
		}

		d, err := s.Definition(c, "order", *definition)
		if err != nil {
			return err
		}

		cfg := steps.CheckConfig()
		cfg.File = "statemachine.asl.json"

		// A file may be a state machine of the user, with general steps.
		for name, effect := range steps.GeneralCheckConfig().Tasks {
			if cfg.Tasks[name] == nil {
				cfg.Tasks[name] = effect
			}
		}
		asl := []byte(ratchet.StateMachine)

		if len(args) == 1 {
			cfg.File = args[0]
			if asl, err = arguments.ReadFile(c, cfg.File); err != nil {
				return err
			}
		}

		// A state machine of the user may keep the order elsewhere.
		if !bytes.Contains(asl, []byte("$.run.order")) {
			cfg.Variable = ""
		}

		report, err := check.StateMachine(asl, d, cfg)

		return printReport(s, c, report, err)
	}

	return command
}

// printReport prints a report, and returns the error with which the check ends. failed is the error
// of a state machine that cannot be read, or of a state machine whose findings are in the report.
func printReport(s *settings.Settings, c *cobra.Command, report check.Report, failed error) (err error) {
	// Without findings the error itself is the result.
	if failed != nil && report.Count(check.SeverityError) == 0 {
		return exit.With(exit.Usage, failed)
	}

	if s.JSON {
		err = terminal.PrintJSON(c.OutOrStdout(), report)
	} else {
		_, err = fmt.Fprint(c.OutOrStdout(), report.Text())
	}

	// Warnings alone are no failure.
	if err == nil && report.Count(check.SeverityError) > 0 {
		return exit.With(exit.Failure, nil)
	}

	return err
}
