package layout

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestImportClosureOfTransitions holds what a program takes with it when it imports
// package transitions: our own packages and modules on this list, and nothing else. In
// particular no YAML parser and no second JSON parser come along.
func TestImportClosureOfTransitions(t *testing.T) {
	module := modulePath(t)

	ours := []string{"internal/dynamo", "internal/ids", "internal/worker", "once/txn", "transitions", "workflow"}
	modules := []string{
		"github.com/aws/aws-sdk-go-v2",
		"github.com/aws/smithy-go",
		"github.com/cenkalti/backoff/v5", // internal/worker: waits between attempts
		"github.com/looplab/fsm",         // workflow: the transitions of a definition
		"golang.org/x/sync",              // errgroup: the segments of a scan
	}

	// Only packages of AWS that a client of DynamoDB needs: no other service.
	services := []string{"dynamodb", "internal"}

	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", module+"/transitions")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}

	packages := strings.Fields(string(out))
	if len(packages) < len(ours)+len(modules) {
		t.Fatalf("go list shows only %q", packages)
	}

	for _, path := range packages {
		if own, ok := strings.CutPrefix(path, module+"/"); ok {
			if !slices.Contains(ours, own) {
				t.Errorf("transitions imports %s of this module", own)
			}
			continue
		}

		if !slices.ContainsFunc(modules, func(m string) bool { return path == m || strings.HasPrefix(path, m+"/") }) {
			t.Errorf("transitions imports %s", path)
		}

		if service, ok := strings.CutPrefix(path, "github.com/aws/aws-sdk-go-v2/service/"); ok {
			if name, _, _ := strings.Cut(service, "/"); !slices.Contains(services, name) {
				t.Errorf("transitions imports the client of another service: %s", path)
			}
		}
	}
}
