package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"ratchet"
	"ratchet/workflow"
)

func workflowCommand() *cobra.Command {
	return group("workflow", "Look at what an order may do", showCommand(), checkCommand())
}

func showCommand() *cobra.Command {
	show := &cobra.Command{Use: "show [order|payment|shipment]", Short: "Draw the states and events of an order, a payment or a shipment",
		Args: cobra.MaximumNArgs(1), ValidArgs: []string{"order", "payment", "shipment"}}
	format := show.Flags().String("format", "table", "svg, yaml, mermaid, dot or table")
	file := show.Flags().String("file", "", "show the definition in this file (YAML or JSON; - is standard input)")
	show.RunE = func(c *cobra.Command, args []string) error {
		name := "order"
		if len(args) == 1 {
			if *file != "" {
				return usageError("show %s or --file %s, not both", args[0], *file)
			}
			name = args[0]
		}
		d, err := definition(c, name, *file)
		if err != nil {
			return err
		}
		text, err := d.Render(*format)
		if err != nil {
			return &statusError{exitUsage, err}
		}
		_, err = fmt.Fprint(c.OutOrStdout(), text)
		return err
	}
	return show
}

// definition is one of the built-in definitions, or the one in a file.
func definition(c *cobra.Command, name, file string) (*workflow.Definition, error) {
	if file == "" {
		built, ok := map[string]func() *workflow.Definition{"order": workflow.Order, "payment": workflow.Payment, "shipment": workflow.Shipment}[name]
		if !ok {
			return nil, usageError("there is no definition %q; there are order, payment and shipment", name)
		}
		return built(), nil
	}
	text, err := readFile(c, file)
	if err != nil {
		return nil, err
	}
	spec, err := workflow.Parse(file, text)
	if err != nil {
		return nil, &statusError{exitUsage, err}
	}
	d, err := workflow.New(spec)
	if err != nil {
		return nil, &statusError{exitUsage, fmt.Errorf("%s: %w", file, err)}
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
func checkCommand() *cobra.Command {
	check := &cobra.Command{Use: "check [FILE]", Short: "Check a state machine against the order's definition",
		Long: checkHelp, Args: cobra.MaximumNArgs(1)}
	file := check.Flags().String("definition", "", "definition to check against (YAML or JSON, see `workflow show --format yaml`); default the order's")
	check.RunE = func(c *cobra.Command, args []string) error {
		d, err := definition(c, "order", *file)
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
		report, err := workflow.Check(text, d, workflow.CheckOptions{File: name})
		if err != nil {
			return &statusError{exitUsage, err}
		}
		// --json belongs to the root command; the flag is inherited.
		if asJSON, _ := c.Flags().GetBool("json"); asJSON {
			err = printJSON(c.OutOrStdout(), report)
		} else {
			_, err = fmt.Fprint(c.OutOrStdout(), report.Text())
		}
		if err == nil && report.Count(workflow.SeverityError) > 0 {
			return &statusError{exitFailure, nil}
		}
		return err
	}
	return check
}
