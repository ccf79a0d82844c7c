package settings

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// CommandName is the path of a command without the name of the program.
func CommandName(c *cobra.Command) string {
	_, name, _ := strings.Cut(c.CommandPath(), " ")
	return name
}

// groupAnnotation marks the commands that only hold others.
const groupAnnotation = "ratchet-group"

// Group returns a command that only holds others. Without a subcommand it prints its help;
// an unknown subcommand is an error.
func Group(use, short string, subs ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{
		Use:   use,
		Short: short,
		Args:  NoSubcommand,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },

		Annotations: map[string]string{groupAnnotation: ""},
	}
	c.AddCommand(subs...)

	return c
}

// NoSubcommand refuses an argument of a command that only holds others, and names commands that are
// written nearly like it.
func NoSubcommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}

	// Two letters: more would suggest commands that mean something else.
	c.SuggestionsMinimumDistance = 2

	err := fmt.Errorf("unknown command %q for %q", args[0], c.CommandPath())

	similar := c.SuggestionsFor(args[0])
	for _, sub := range c.Commands() {
		// A verb alone, such as `ratchet redrive`, means the commands of the things that have it.
		for _, below := range sub.Commands() {
			if !c.HasParent() && (below.Name() == args[0] || slices.Contains(below.SuggestFor, args[0])) {
				similar = append(similar, sub.Name()+" "+below.Name())
			}
		}
	}

	if len(similar) > 0 {
		err = fmt.Errorf("%w; did you mean %s?", err, strings.Join(similar, " or "))
	}

	return err
}
