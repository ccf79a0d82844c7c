package cli

import (
	_ "embed"
	"strings"

	"github.com/spf13/cobra"
)

// examplesText has a line for each example of a command that does not set its own.
//
//go:embed examples.txt
var examplesText string

// exampleLines returns the lines of examplesText.
func exampleLines() []string { return strings.Split(strings.TrimSpace(examplesText), "\n") }

// addExamples gives the commands below c that have no example their lines of examples.
func addExamples(c *cobra.Command, examples []string) {
	for _, sub := range c.Commands() {
		addExamples(sub, examples)

		if sub.HasSubCommands() || sub.Example != "" {
			continue
		}

		path := sub.CommandPath()

		var lines []string
		for _, line := range examples {
			// The space keeps `orders` from matching `orders-x`.
			if rest, found := strings.CutPrefix(line, path); found && (rest == "" || rest[0] == ' ') {
				lines = append(lines, "  "+line)
			}
		}

		sub.Example = strings.Join(lines, "\n")
	}
}
