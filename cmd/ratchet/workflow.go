package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"ratchet"
	"ratchet/activities/steps"
	"ratchet/inspect"
	"ratchet/server"
	"ratchet/transitions"
	"ratchet/workflow"
	"ratchet/workflow/check"
	"ratchet/workflow/diagram"
	"ratchet/workflow/file"
)

func workflowCommand(s *settings) *cobra.Command {
	return group("workflow", "Look at what an order may do", showCommand(s), checkCommand(s), migrateCommand(s))
}

func showCommand(s *settings) *cobra.Command {
	show := &cobra.Command{Use: "show [order|payment|shipment]", Short: "Draw the states and events of an order, a payment or a shipment",
		Args: cobra.MaximumNArgs(1), ValidArgs: []string{"order", "payment", "shipment"}}
	format := show.Flags().String("format", "table", "svg, yaml, mermaid, dot or table")
	file := show.Flags().String("file", "", "show the definition in this file (YAML or JSON; - is standard input)")
	counts := show.Flags().Bool("counts", false, "with the number of orders in each state, counted in the orders' table")
	show.RunE = func(c *cobra.Command, args []string) error {
		name := "order"
		if len(args) == 1 {
			if *file != "" {
				return usageError("show %s or --file %s, not both", args[0], *file)
			}
			name = args[0]
		}

		if *counts && name != "order" {
			return usageError("only orders are counted, not %ss", name)
		}

		d, err := s.definition(c, name, *file)
		if err != nil {
			return err
		}

		var inStates map[workflow.State]int
		if *counts {
			if inStates, err = s.countOrders(c, d); err != nil {
				return err
			}
		}

		text, err := diagram.Render(d, *format, inStates)
		if err != nil {
			return &statusError{exitUsage, err}
		}
		_, err = fmt.Fprint(c.OutOrStdout(), text)

		return err
	}

	return show
}

// countOrders counts the orders of the definition's version by state. What it leaves
// out it says.
func (s *settings) countOrders(c *cobra.Command, d *workflow.Definition) (map[workflow.State]int, error) {
	inStates := map[workflow.State]int{}
	err := s.with(c.Context(), func(b *server.Backend) error {
		counts, err := inspect.Count(c.Context(), b.Orders, transitions.Sweep{Progress: told(c.ErrOrStderr(), "counted")})
		if err != nil {
			return err
		}

		left := 0
		for version, states := range counts {
			for state, n := range states {
				if (version == d.Version() || version == 0) && d.HasState(state) {
					inStates[state] += n
				} else {
					left += n
				}
			}
		}

		if left > 0 {
			fmt.Fprintf(c.ErrOrStderr(), "%d orders of other versions or states are not in the picture (see `ratchet workflow migrate --dry-run`)\n", left)
		}

		return nil
	})

	return inStates, err
}

// told returns a function that tells the progress of a long run every two seconds.
func told(out io.Writer, did string) func(orders int) {
	last := time.Now()

	return func(orders int) {
		if now := time.Now(); now.Sub(last) >= 2*time.Second {
			last = now
			fmt.Fprintf(out, "%d orders %s\n", orders, did)
		}
	}
}

// definition returns one of the built-in definitions, or the one in a file if path is not
// empty. Orders follow the definition that the settings name.
func (s *settings) definition(c *cobra.Command, name, path string) (*workflow.Definition, error) {
	if path == "" && name == "order" {
		cfg, _, err := s.load()
		if err != nil {
			return nil, err
		}
		path = cfg.OrderDefinition
	}

	if path == "" {
		built, ok := map[string]func() *workflow.Definition{"order": workflow.Order, "payment": workflow.Payment, "shipment": workflow.Shipment}[name]
		if !ok {
			return nil, usageError("there is no definition %q; there are order, payment and shipment", name)
		}

		return built(), nil
	}

	text, err := readFile(c, path)
	if err != nil {
		return nil, err
	}

	d, err := file.Parse(path, text)
	if err != nil {
		return nil, &statusError{exitUsage, err}
	}

	return d, nil
}

// readFile reads a file of the user's, or standard input for "-".
func readFile(c *cobra.Command, file string) ([]byte, error) {
	var text []byte
	var err error
	if file == "-" {
		text, err = io.ReadAll(c.InOrStdin())
	} else {
		text, err = os.ReadFile(file)
	}

	if err != nil {
		return nil, usageError("read %s: %w", file, err)
	}

	return text, nil
}

const checkHelp = `Reads a state machine (Amazon States Language, JSON or YAML) and compares it with the
definition of an order: is every event legal wherever its task can run, is somebody
who is overtaken told so, can every end of an order be reached, has every activity
its clocks? What is wrong on a path is shown with the shortest such path. Without a
file the state machine that Ratchet deploys is checked; a file named - is standard input.

Exit status: 0 no errors (warnings may be there), 1 errors, 2 the file cannot be read.`

// checkCommand is `ratchet workflow check`, and `ratchet check` at the root.
func checkCommand(s *settings) *cobra.Command {
	command := &cobra.Command{Use: "check [FILE]", Short: "Check a state machine against the order's definition",
		Long: checkHelp, Args: cobra.MaximumNArgs(1)}
	file := command.Flags().String("definition", "", "definition to check against (YAML or JSON, see workflow show --format yaml); default the order's")
	command.RunE = func(c *cobra.Command, args []string) error {
		d, err := s.definition(c, "order", *file)
		if err != nil {
			return err
		}

		name, text := "statemachine.asl.json", []byte(ratchet.StateMachine)
		if len(args) == 1 {
			name = args[0]
			if text, err = readFile(c, name); err != nil {
				return err
			}
		}

		cfg := steps.CheckConfig()
		cfg.File = name

		report, err := check.StateMachine(text, d, cfg)
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
