package deploy

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

var subcommand = regexp.MustCompile(`(?m)^  ([a-z-]+) +\S`)

// everyCommand wants every command of the program in testdata/cli.txt, so that a new one
// cannot be without permissions. A command may hold others and do something itself.
func (r *recordedBackend) everyCommand(t *testing.T) {
	missing := map[string]bool{}
	r.collectCommands(t, nil, missing)

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

// collectCommands sets the names of the commands below the path, and of the path itself, that do more than
// print their help.
func (r *recordedBackend) collectCommands(t *testing.T, path []string, found map[string]bool) {
	out, err := exec.CommandContext(t.Context(), r.bin, append(path, "--help")...).Output()
	if err != nil {
		t.Fatalf("ratchet %v --help: %v", path, err)
	}

	_, rest, holds := strings.Cut(string(out), "Available Commands:\n")
	names, _, _ := strings.Cut(rest, "\n\n")
	name := strings.Join(path, " ")

	if len(path) > 0 && path[0] != "help" && (!holds || !strings.Contains(string(out), "Usage:\n  ratchet "+name+" [command]\n")) {
		found[name] = true
	}

	for _, match := range subcommand.FindAllStringSubmatch(names, -1) {
		if match[1] != "completion" {
			r.collectCommands(t, append(path[:len(path):len(path)], match[1]), found)
		}
	}
}
