package cli

import (
	"io"
	"os"

	"github.com/spf13/cobra"

	"ratchet/activities/steps"
	"ratchet/server"
	"ratchet/workflow"
	"ratchet/workflow/file"
)

func workflowCommand(s *settings) *cobra.Command {
	return group("workflow", "Look at what an order may do, and begin a workflow of your own",
		s.takes(showCommand(s), targetFlags, ordersFlags),
		s.takes(checkCommand(s), outputFlags, settingsFlags, ordersFlags),
		s.takes(migrateCommand(s), outputFlags, targetFlags, ordersFlags),
		s.takes(newWorkflowCommand(s), outputFlags),
		s.takes(machineCommand(s), settingsFlags, ordersFlags),
		schemaCommand())
}

// schemaCommand prints the schema of definition files.
func schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use: "schema", Short: "Print the JSON Schema of workflow files, for editors", Args: cobra.NoArgs,
		Long: "Prints the JSON Schema of a definition's file. Editors read it from the first line of a YAML file,\n" +
			"`# yaml-language-server: $schema=" + file.SchemaName + "`, or from the member \"$schema\" of a JSON file.\n" +
			"`ratchet workflow new` writes the schema and this line.",
		Example: "  ratchet workflow schema > " + file.SchemaName,
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := c.OutOrStdout().Write(file.Schema())
			return err
		},
	}
}

// machineCommand prints a state machine to start from.
func machineCommand(s *settings) *cobra.Command {
	c := &cobra.Command{
		Use: "machine", Short: "Print a state machine for the happy path of the definition", Args: cobra.NoArgs,
		Long: "Prints the state machine (ASL) of the shortest way from the first state of the definition to its\n" +
			"first settled state, or to its first terminal one. It places the order and applies each event;\n" +
			"for the events of --outside, and for those of a carrier's reports, it waits. Retries and catches\n" +
			"are those of Ratchet's table of errors. Steps of your own are yours to add.",
		Example: "  ratchet workflow machine --order-definition ticket.yaml --outside resolve > ticket.asl.json",
	}
	outside := c.Flags().StringSlice("outside", nil, "events that other callers make")
	c.RunE = func(c *cobra.Command, _ []string) error {
		d, err := s.definition(c, "order", "")
		if err != nil {
			return err
		}

		var path steps.Path
		for _, name := range *outside {
			if len(d.Groups(workflow.Event(name))) == 0 {
				return usageError("outside %q: the definition %s has no such event", name, d.Name())
			}
			path.Outside = append(path.Outside, workflow.Event(name))
		}

		text, err := steps.HappyPath(d, path)
		if err != nil {
			return usageError("%w", err)
		}
		_, err = c.OutOrStdout().Write(text)

		return err
	}

	return c
}

// definition returns a built-in definition, or the definition in a file if path is not empty. For
// orders it returns the definition that the settings name.
func (s *settings) definition(c *cobra.Command, name, path string) (*workflow.Definition, error) {
	var versions []int // that the settings accept beside the definition's own

	if path == "" && name == "order" {
		cfg, _, err := s.load()
		if err != nil {
			return nil, err
		}

		// The program's own definition wins over the built-in one.
		if w := cfg.Parts.Workflow; w != nil && w.Definition != nil {
			return w.Definition, nil
		}

		path, versions = cfg.OrderDefinition, cfg.AcceptVersions

		// Without a file, a process has the shop's definition with the times of the settings.
		if path == "" {
			return workflow.OrderWith(workflow.Terms{ExpireUnpaid: cfg.ExpireUnpaid, ReturnWindow: cfg.ReturnWindow})
		}
	}

	if path == "" {
		return builtInDefinition(name)
	}

	text, err := readFile(c, path)
	if err != nil {
		return nil, err
	}

	d, err := server.ParseDefinition(path, text, versions)
	if err != nil {
		return nil, &statusError{exitUsage, err}
	}

	return d, nil
}

func builtInDefinition(name string) (*workflow.Definition, error) {
	switch name {
	case "order":
		return workflow.Order(), nil
	case "payment":
		return workflow.Payment(), nil
	case "shipment":
		return workflow.Shipment(), nil
	}

	return nil, usageError("there is no definition %q; there are order, payment and shipment", name)
}

// readFile reads a file that the user names, or standard input for "-".
func readFile(c *cobra.Command, path string) ([]byte, error) {
	var text []byte
	var err error
	if path == "-" {
		text, err = io.ReadAll(c.InOrStdin())
	} else {
		text, err = os.ReadFile(path)
	}

	if err != nil {
		return nil, usageError("read %s: %w", path, err)
	}

	return text, nil
}
