package cli

import (
	"fmt"
	"os"
	"runtime"

	"github.com/spf13/cobra"

	"ratchet/workflow/scaffold"
)

const newWorkflowHelp = `Writes a workflow to start from into a new directory: a definition (YAML), a state machine that
fits it (ASL), and a Go program with a step, a reaction and tests. The program has every command
of ratchet. Nothing is overwritten: the directory must be new or empty.

The program's go.mod refers to the sources of Ratchet by a replace directive. They are looked
for above the current directory, and then where this program was built from.`

func newWorkflowCommand(s *settings) *cobra.Command {
	c := &cobra.Command{
		Use: "new NAME", Short: "Write a workflow of your own to start from: definition, state machine, Go program, tests",
		Long: newWorkflowHelp, Args: cobra.ExactArgs(1),
		Example: "  ratchet workflow new ticket\n  cd ticket && go test ./... && go run . dev",
	}
	dir := c.Flags().String("dir", "", "the directory; default: NAME")
	module := c.Flags().String("module", "", "the directory of Ratchet's sources")
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := given(c.Flags(), "dir", "module"); err != nil {
			return err
		}

		o := scaffold.Options{Name: args[0], Dir: *dir, Module: *module}
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

		names, err := scaffold.New(o)
		if err != nil {
			return err
		}

		if s.json {
			return printJSON(c.OutOrStdout(), map[string]any{"dir": o.Dir, "files": names, "module": o.Module})
		}

		_, err = fmt.Fprintf(c.OutOrStdout(), `%[1]s has a workflow that runs (%[2]d files). Next:
  cd %[1]s
  go test ./...
  go run . dev

In a second terminal:
  go run . orders create %[3]s-1 --metadata topic=invoice
  go run . orders apply %[3]s-1 resolve
  go run . orders history %[3]s-1
`, o.Dir, len(names), o.Name)

		return err
	}

	return c
}
