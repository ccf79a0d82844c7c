package cli

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/server"
)

// isStated reports whether the help of a command names the exit status of an error. 0, 1 and 2 are the same everywhere, as
// is 4 for a directory without data.
func isStated(c *cobra.Command, err error) bool {
	status := exit.StatusOf(err)
	if status <= exit.Usage || errors.Is(err, exit.ErrNoData) {
		return true
	}

	_, stated := statusesOf()[settings.CommandName(c)][status]

	return stated
}

// statusLine matches a line of statuses.txt.
var statusLine = regexp.MustCompile(`^[a-z -]+: \d+(?: [^;]+)?(?:; \d+(?: [^;]+)?)*$`)

// TestStatusesBelongToCommands: each line of statuses.txt has its form, a command, and statuses with a meaning. Other texts
// leave the statuses to it.
func TestStatusesBelongToCommands(t *testing.T) {
	all := commands(newRoot(server.Parts{}))

	for line := range strings.Lines(statusesText) {
		if line = strings.TrimSpace(line); !statusLine.MatchString(line) {
			t.Errorf("%q: want COMMAND: STATUS [MEANING]; ...", line)
		}
	}

	for path, own := range statusesOf() {
		if all[path] == nil {
			t.Errorf("statuses.txt: there is no command %q", path)
		}

		for status, meaning := range own {
			if meaning == "" {
				t.Errorf("statuses.txt: %s: status %d needs a meaning", path, status)
			}
		}
	}

	for path, c := range all {
		if strings.Contains(strings.ToLower(c.Long), "exit status") {
			t.Errorf("the text of %s names exit statuses: they are in statuses.txt", path)
		}
	}
}
