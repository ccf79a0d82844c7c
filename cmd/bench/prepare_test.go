package main

import (
	"os/exec"
	"strings"
	"testing"
)

// TestAPreparationSaysWhatItDoes before it begins, and what has failed.
func TestAPreparationSaysWhatItDoes(t *testing.T) {
	for script, want := range map[string]string{"exit 0": "", "echo no network; exit 3": "npm installs Restate: sh -c echo no network; exit 3: exit status 3: no network"} {
		var said strings.Builder

		err := prepareTo(&said, "npm installs Restate", exec.CommandContext(t.Context(), "sh", "-c", script))
		if (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v", script, err)
		}

		if said.String() != "bench: npm installs Restate, which may take minutes the first time\n" {
			t.Errorf("%s: said %q", script, said.String())
		}
	}
}
