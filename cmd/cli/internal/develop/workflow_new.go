package develop

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"ratchet/activities/steps"
	"ratchet/cmd/cli/internal/arguments"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/workflow/scaffold"
)

const newWorkflowHelp = `Writes a workflow to start from into a new directory: a definition (YAML), a state machine that
fits it (ASL), and a Go program with steps, reactions and tests. The program has every command
of ratchet. Nothing is overwritten: the directory must be new or empty. Without --with it is a
ticket with neither money nor parcels; with payments, shipping or stock it is a shop that charges,
sends or reserves. Editors find the schema of the definition beside it.

The program's go.mod refers to the sources of Ratchet by a replace directive. They are looked
for above the current directory, and then where this program was built from.`

func newWorkflowCommand(s *settings.Settings) *cobra.Command {
	c := &cobra.Command{
		Use: "new NAME", Short: "Write a workflow of your own to start from: definition, state machine, Go program, tests",
		Long: newWorkflowHelp, Args: cobra.ExactArgs(1),
		Example: "  ratchet workflow new ticket\n  ratchet workflow new prints --with payments,shipping,stock\n  cd ticket && go test ./... && go run . dev",
	}
	dir := c.Flags().String("dir", "", "the directory; default: NAME")
	module := c.Flags().String("module", "", "the directory of Ratchet's sources")
	with := c.Flags().StringSlice("with", nil, "begin with a shop that uses these: "+strings.Join(scaffold.Features(), ", "))
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := arguments.Given(c.Flags(), "dir", "module"); err != nil {
			return err
		}

		o := scaffold.Options{Name: args[0], Dir: *dir, Module: *module, With: *with}
		if o.Dir == "" {
			o.Dir = o.Name
		}

		if o.Module == "" {
			here, err := os.Getwd()
			if err != nil {
				return err
			}

			_, source, _, _ := runtime.Caller(0) // not an absolute path if the program was built with -trimpath
			o.Module = scaffold.FindModule(here, source)
		}

		var plan scaffold.Plan

		o.Machine = func(p scaffold.Plan) ([]byte, error) {
			plan = p
			return happyPath(p)
		}

		names, err := scaffold.New(o)
		if err != nil {
			return err
		}

		if s.JSON {
			return terminal.PrintJSON(c.OutOrStdout(), map[string]any{"dir": o.Dir, "files": names, "module": o.Module})
		}

		_, err = fmt.Fprintf(c.OutOrStdout(), `%[1]s has a workflow that runs (%[2]d files). Next:
  cd %[1]s
  go test ./...
  go run . dev

In a second terminal:
%[3]s
The states are those of %[4]s. For yours, write workflow.yaml, then its state machine, and after that the steps,
reactions and tests that fit (parts.go, parts_test.go):
  go run . workflow machine%[5]s > statemachine.asl.json
  go run . workflow check
`, o.Dir, len(names), firstCommands(o), kindOf(o), machineFlags(plan))

		return err
	}

	return c
}

// firstCommands are the commands that place an order of the new program and move it.
func firstCommands(o scaffold.Options) string {
	create, then := "--metadata topic=invoice", "apply %[1]s-1 resolve"
	if len(o.With) > 0 {
		create, then = "--item mug:2:1250 --stock 10", "apply %[1]s-1 send"
	}

	if slices.Contains(o.With, "shipping") {
		then = "watch %[1]s-1"
	}

	return fmt.Sprintf("  go run . orders create %[1]s-1 "+create+"\n  go run . orders "+then+"\n  go run . orders history %[1]s-1\n", o.Name)
}

// kindOf names what the files begin as.
func kindOf(o scaffold.Options) string {
	if len(o.With) > 0 {
		return "a small shop"
	}

	return "a ticket"
}

// machineFlags are the flags with which the state machine of the new program was written.
func machineFlags(p scaffold.Plan) string {
	var outside, before []string
	for _, event := range p.Outside {
		outside = append(outside, string(event))
	}

	flags := " --outside " + strings.Join(outside, ",")

	for _, step := range p.Steps {
		text := fmt.Sprintf("%s=%s", step.Name, step.Before)
		if step.Refused != "" {
			text += "/" + string(step.Refused)
		}

		before = append(before, text)
	}

	if len(before) > 0 {
		flags += " --step " + strings.Join(before, ",")
	}

	return flags
}

// happyPath writes the state machine of a new program.
func happyPath(p scaffold.Plan) ([]byte, error) {
	path := steps.Path{Outside: p.Outside}
	for _, s := range p.Steps {
		path.Steps = append(path.Steps, steps.PathStep(s))
	}

	return steps.HappyPath(p.Definition, path)
}
