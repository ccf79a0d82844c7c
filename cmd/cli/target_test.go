package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/server"
)

// commands returns every command that does something, by its path without the program's name.
func commands(c *cobra.Command) map[string]*cobra.Command {
	all := map[string]*cobra.Command{}
	for _, command := range runnable(c) {
		all[settings.CommandName(command)] = command
	}

	return all
}

// words are the arguments that the tests give to commands, by their names in the usage.
var words = map[string]string{
	"EVENT":                 "pay",
	"TRANSITION":            "1",
	"SKU:QUANTITY:PRICE...": "mug:1:1",
	"SKU:PIECES...":         "mug:1",
	"HANDLER":               "notify",
}

var wordRule = regexp.MustCompile(`^[A-Z][A-Z:.\-]*$`)

// argumentsOf returns arguments that fit a command's usage.
func argumentsOf(c *cobra.Command) (args []string) {
	for _, word := range strings.Fields(c.Use)[1:] {
		if given, ok := words[word]; ok {
			args = append(args, given)
		} else if wordRule.MatchString(word) {
			args = append(args, "x-1")
		}
	}

	return args
}

// TestReadingCommandsCreateNothing runs every command that does not create data in an empty
// directory. The directory stays empty.
func TestReadingCommandsCreateNothing(t *testing.T) {
	t.Setenv("AWS_REGION", "")
	t.Setenv("AWS_CONFIG_FILE", "/dev/null")

	refused := 0
	for path, command := range commands(newRoot(server.Parts{})) {
		if settings.MayCreateData(command) || path == "workflow new" || strings.HasPrefix(path, "deploy ") { // writes files, and no data
			continue
		}

		t.Chdir(t.TempDir())

		root := newRoot(server.Parts{})
		root.SetArgs(append(strings.Fields(path), argumentsOf(command)...))
		root.SetOut(io.Discard)
		root.SetErr(io.Discard)

		// If a command finds data, it may run until it is stopped.
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		err := root.ExecuteContext(ctx)

		cancel()

		if errors.Is(err, exit.ErrNotFound) && strings.Contains(err.Error(), "there is no data in .ratchet") {
			refused++

			if command.Flags().Lookup("data") == nil {
				t.Errorf("%s looks for data and has no flag --data", path)
			}
		}

		if left, err := os.ReadDir("."); err != nil || len(left) != 0 {
			t.Errorf("%s created %v, %v", path, left, err)
		}
	}

	// Other commands fail before they look for data, because they require flags.
	if refused < 50 {
		t.Errorf("only %d commands looked for data", refused)
	}
}

// Every command that is listed as creating data exists.
func TestCreatingCommandsExist(t *testing.T) {
	all := commands(newRoot(server.Parts{}))
	for _, path := range settings.CreatesData {
		if all[path] == nil {
			t.Errorf("there is no command %q", path)
		}
	}
}
