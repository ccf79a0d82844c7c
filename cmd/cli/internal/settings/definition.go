package settings

import (
	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/arguments"
	"ratchet/cmd/cli/internal/exit"
	"ratchet/server"
	"ratchet/workflow"
)

// Definition returns a built-in definition, or the definition in a file if path is not empty. For
// orders it returns the definition that the settings name.
func (s *Settings) Definition(c *cobra.Command, name, path string) (*workflow.Definition, error) {
	var versions []int // that the settings accept beside the definition's own

	if path == "" && name == "order" {
		cfg, _, err := s.Load()
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

	text, err := arguments.ReadFile(c, path)
	if err != nil {
		return nil, err
	}

	d, err := server.ParseDefinition(path, text, versions)
	if err != nil {
		return nil, exit.With(exit.Usage, err)
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

	return nil, exit.UsageError("there is no definition %q; there are order, payment and shipment", name)
}

// EventNames returns the events of a definition.
func EventNames(d *workflow.Definition) (names []string) {
	for _, event := range d.Events() {
		names = append(names, string(event))
	}

	return names
}

// StateNames returns the states of a definition.
func StateNames(d *workflow.Definition) (names []string) {
	for _, state := range d.States() {
		names = append(names, string(state.State))
	}

	return names
}
