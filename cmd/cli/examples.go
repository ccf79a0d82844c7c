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

// addExamples gives the commands below c that have no example the lines of examplesText.
func addExamples(c *cobra.Command) {
	for _, sub := range c.Commands() {
		addExamples(sub)

		if sub.HasSubCommands() || sub.Example != "" {
			continue
		}

		path := sub.CommandPath() + " " // the space keeps `orders` from matching `orders-x`

		var lines []string
		for line := range strings.Lines(examplesText) {
			if strings.HasPrefix(strings.TrimSpace(line)+" ", path) {
				lines = append(lines, "  "+strings.TrimSpace(line))
			}
		}

		sub.Example = strings.Join(lines, "\n")
	}
}
