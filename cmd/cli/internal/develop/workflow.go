package develop

import (
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"ratchet/activities/steps"
	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/workflow"
	"ratchet/workflow/file"
)

func workflowCommand(s *settings.Settings) *cobra.Command {
	return settings.Group("workflow", "Look at what an order may do, and begin a workflow of your own",
		s.Takes(showCommand(s), settings.TargetFlags, settings.OrdersFlags),
		s.Takes(checkCommand(s), settings.OutputFlags, settings.SettingsFlags, settings.OrdersFlags),
		s.Takes(migrateCommand(s), settings.OutputFlags, settings.TargetFlags, settings.OrdersFlags),
		s.Takes(newWorkflowCommand(s), settings.OutputFlags),
		s.Takes(machineCommand(s), settings.SettingsFlags, settings.OrdersFlags),
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
func machineCommand(s *settings.Settings) *cobra.Command {
	c := &cobra.Command{
		Use: "machine", Short: "Print a state machine for the happy path of the definition", Args: cobra.NoArgs,
		Long: "Prints the state machine (ASL) of the shortest way from the first state of the definition to its\n" +
			"first settled state, or to its first terminal one. It places the order and applies each event;\n" +
			"for the events of --outside, and for those of a carrier's reports, it waits. Retries and catches\n" +
			"are those of Ratchet's table of errors. --step NAME=EVENT puts a step of yours before an event;\n" +
			"after its refusal (as of a declined payment), the event behind / is applied.",
		Example: "  ratchet workflow machine --order-definition ticket.yaml --outside resolve --step triage=assign > ticket.asl.json",
	}
	outside := c.Flags().StringSlice("outside", nil, "events that other callers make")
	own := c.Flags().StringSlice("step", nil, "steps of your own, as NAME=EVENT or NAME=EVENT/REFUSED")
	c.RunE = func(c *cobra.Command, _ []string) error {
		d, err := s.Definition(c, "order", "")
		if err != nil {
			return err
		}

		var path steps.Path
		for _, name := range *outside {
			if len(d.Groups(workflow.Event(name))) == 0 {
				return exit.UsageError("outside %q: the definition %s has no such event", name, d.Name())
			}
			path.Outside = append(path.Outside, workflow.Event(name))
		}

		for _, text := range *own {
			step, err := parseStep(d, text)
			if err != nil {
				return err
			}
			path.Steps = append(path.Steps, step)
		}

		text, err := steps.HappyPath(d, path)
		if err != nil {
			return exit.UsageError("%w", err)
		}

		if _, err := c.OutOrStdout().Write(text); err != nil {
			return err
		}

		return sayWhatItApplies(c.ErrOrStderr(), path.Applies(d))
	}

	return c
}

var stepRule = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([a-z][a-z0-9-]*)=(\w+)(?:/(\w+))?$`) })

// parseStep reads NAME=EVENT or NAME=EVENT/REFUSED.
func parseStep(d *workflow.Definition, text string) (steps.PathStep, error) {
	parts := stepRule().FindStringSubmatch(text)
	if parts == nil {
		return steps.PathStep{}, exit.UsageError("step %q: must be NAME=EVENT or NAME=EVENT/REFUSED, like charge=accept/decline", text)
	}

	for _, event := range parts[2:] {
		if event != "" && len(d.Groups(workflow.Event(event))) == 0 {
			return steps.PathStep{}, exit.UsageError("step %q: the definition %s has no event %s", text, d.Name(), event)
		}
	}

	activity := steps.NewActivity(parts[1])

	return steps.PathStep{
		Name: activity.Name, Placeholder: activity.Placeholder,
		Before: workflow.Event(parts[2]), Refused: workflow.Event(parts[3]),
	}, nil
}

// sayWhatItApplies says which events an execution will not wait for. Started for an order that people or other programs
// move, it would bring the order to its end at once.
func sayWhatItApplies(out io.Writer, events []workflow.Event) error {
	if len(events) == 0 {
		return nil
	}

	names := make([]string, len(events))
	for i, e := range events {
		names[i] = string(e)
	}

	_, err := fmt.Fprintf(out, "an execution applies %s itself, as soon as the order is there; for events that people or other programs make: --outside %s\n",
		strings.Join(names, ", "), strings.Join(names, ","))

	return err
}
