package cli

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ratchet/activities"
	"ratchet/server"
	"ratchet/workflow/file"
)

// TestWhatWorkflowNewWritesBuildsAndPasses builds and tests the program as its reader would, without a network.
// `go vet` reads the same code as examples/ticket.
func TestWhatWorkflowNewWritesBuildsAndPasses(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program")
	}

	dir := filepath.Join(t.TempDir(), "claim")

	var out bytes.Buffer
	root := newRoot(server.Parts{})
	root.SetOut(&out)
	root.SetArgs([]string{"workflow", "new", "claim", "--dir", dir})

	if err := root.ExecuteContext(t.Context()); err != nil || !strings.Contains(out.String(), "go run . dev") {
		t.Fatalf("%v\n%s", err, out.String())
	}

	// Its test binary holds the command line, so the tests run the new build.
	cmd := exec.CommandContext(t.Context(), "go", "test", "-vet=off", "-count=1", "./...")
	cmd.Dir = dir
	// With the flags of this test, so that the build cache has its dependencies.
	cmd.Env = append(os.Environ(), "GOPROXY=off", "GOFLAGS="+os.Getenv("GOFLAGS")+" -mod=readonly -buildvcs=false", "GOWORK=off")

	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go test: %v\n%s", err, text)
	}

	again := newRoot(server.Parts{})
	again.SetArgs([]string{"workflow", "new", "claim", "--dir", dir})

	if err := again.ExecuteContext(t.Context()); err == nil || report(err) != exitUsage {
		t.Errorf("a second time: %v", err)
	}
}

// TestAProgramsOwnWorkflowIsThatOfItsCommands: no setting has to name it.
func TestAProgramsOwnWorkflowIsThatOfItsCommands(t *testing.T) {
	read := func(name string) []byte {
		text, err := os.ReadFile(filepath.Join("../../examples/ticket", name))
		if err != nil {
			t.Fatal(err)
		}

		return text
	}

	definition, err := file.Parse("workflow.yaml", read("workflow.yaml"))
	if err != nil {
		t.Fatal(err)
	}

	step := server.Step{Name: "triage", Handle: func(*server.Backend) activities.HandlerFunc { return nil }}
	parts := server.Parts{Workflow: &server.Workflow{
		Definition: definition, StateMachine: read("statemachine.asl.json"), Steps: []server.Step{step},
	}}

	for command, want := range map[string]string{"check": "0 errors, 0 warnings", "show": "WITHDRAWN"} {
		var out bytes.Buffer
		root := newRoot(parts)
		root.SetOut(&out)
		root.SetArgs([]string{"workflow", command})

		if err := root.ExecuteContext(t.Context()); err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("%s: %v\n%s", command, err, out.String())
		}
	}
}
