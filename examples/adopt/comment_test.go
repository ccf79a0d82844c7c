package main

import (
	"slices"
	"strings"
	"testing"

	"ratchet/cmd/cli"
	"ratchet/server"
	"ratchet/tests/examples"
)

func TestMain(m *testing.M) {
	examples.Main(m, map[string]func(){"adopt": main, "ratchet": func() { cli.Main(server.Parts{}) }})
}

// TestTheCommentSaysWhatHappens: its commands are those of the pages, which TestThePagesDoWhatTheySay runs.
func TestTheCommentSaysWhatHappens(t *testing.T) {
	var acts []string
	for _, line := range commandsOf(t) {
		if act, is := strings.CutPrefix(line.line, "go run . "); is {
			acts = append(acts, strings.Fields(act)[0])
		}
	}

	for _, command := range examples.Commands(t, "adopt") {
		if act := strings.Fields(command)[0]; !slices.Contains(acts, act) {
			t.Errorf("the pages do not run %q", command)
		}
	}
}
