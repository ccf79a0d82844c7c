package cli

import (
	"io"
	"os"

	"github.com/spf13/cobra"

	"ratchet/server"
	"ratchet/workflow"
)

func workflowCommand(s *settings) *cobra.Command {
	return group("workflow", "Look at what an order may do, and begin a workflow of your own",
		s.takes(showCommand(s), targetFlags, ordersFlags),
		s.takes(checkCommand(s), outputFlags, settingsFlags, ordersFlags),
		s.takes(migrateCommand(s), outputFlags, targetFlags, ordersFlags),
		s.takes(newWorkflowCommand(s), outputFlags))
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
