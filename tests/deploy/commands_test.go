package deploy

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

var subcommand = regexp.MustCompile(`(?m)^  ([a-z-]+) +\S`)

// everyCommand wants every command of the program in testdata/cli.txt, so that a new one
// cannot be without permissions.
func (w *world) everyCommand(t *testing.T) {
	listed := map[string]bool{}
	for _, line := range script(t, "cli.txt") {
		words := strings.Fields(line)[1:]
		for i := range words {
			listed[strings.Join(words[:i+1], " ")] = true
		}
	}

	var walk func(path []string)
	walk = func(path []string) {
		out, err := exec.CommandContext(t.Context(), w.bin, append(path, "--help")...).Output()
		if err != nil {
			t.Fatalf("ratchet %v --help: %v", path, err)
		}

		_, rest, isGroup := strings.Cut(string(out), "Available Commands:\n")
		if !isGroup {
			if name := strings.Join(path, " "); !listed[name] && path[0] != "help" {
				t.Errorf("testdata/cli.txt lacks `ratchet %s`", name)
			}

			return
		}

		names, _, _ := strings.Cut(rest, "\n\n")
		for _, match := range subcommand.FindAllStringSubmatch(names, -1) {
			if match[1] != "completion" {
				walk(append(path[:len(path):len(path)], match[1]))
			}
		}
	}
	walk(nil)
}
