package deploy

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// commandHeading matches the heading of a command in the reference, which cmd/cli holds to be complete.
var commandHeading = regexp.MustCompile(`(?m)^## ratchet (.+)$`)

// everyCommand wants every command of the program in testdata/cli.txt, so that a new one
// cannot be without permissions. A command may hold others and do something itself.
func everyCommand(t *testing.T) {
	reference, err := os.ReadFile("../../docs/reference/cli.md")
	if err != nil {
		t.Fatal(err)
	}

	missing := map[string]bool{}
	for _, match := range commandHeading.FindAllStringSubmatch(string(reference), -1) {
		missing[match[1]] = true
	}

	if len(missing) < 100 {
		t.Fatalf("%d commands found, want at least 100", len(missing))
	}

	for _, line := range script(t, "cli.txt") {
		words := strings.Fields(line)[1:]

		// What follows the command are its arguments.
		for n := len(words); n > 0; n-- {
			name := strings.Join(words[:n], " ")
			if _, is := missing[name]; is {
				missing[name] = false
				break
			}
		}
	}

	for name, is := range missing {
		if is {
			t.Errorf("testdata/cli.txt lacks `ratchet %s`", name)
		}
	}
}
