package arguments

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
)

// counted matches cobra's messages about the number of arguments.
var counted = regexp.MustCompile(`^(?:accepts|requires) .*arg\(s\)`)

// CountError replaces cobra's messages about the number of arguments by one with the names of the arguments.
func CountError(c *cobra.Command, args []string, err error) error {
	if !counted.MatchString(err.Error()) {
		return err
	}

	var names []string

	most := 0

	for _, name := range strings.Fields(c.Use)[1:] {
		if strings.HasPrefix(name, "-") && name != "--" {
			break // a flag that is required
		}

		if name == "--" {
			continue
		}

		most++

		if !strings.HasPrefix(name, "[") {
			names = append(names, name)
		}
	}

	if len(args) < len(names) {
		return fmt.Errorf("%s is missing", strings.Join(names[len(args):], " "))
	}

	if len(args) <= most {
		return err // a rule that the usage does not show
	}

	return fmt.Errorf("%q is one argument too many", args[most])
}
