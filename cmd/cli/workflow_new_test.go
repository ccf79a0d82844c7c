package cli

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ratchet/activities"
	"ratchet/cmd/cli/internal/exit"
	"ratchet/server"
	"ratchet/workflow/file"
	"ratchet/workflow/scaffold"
)

// TestWhatWorkflowNewWritesBuildsAndPasses builds and tests the programs as their readers would, without a network.
// `go vet` reads the same code as examples/ticket and examples/mugs.
func TestWhatWorkflowNewWritesBuildsAndPasses(t *testing.T) {
	if testing.Short() {
		t.Skip("builds programs")
	}

	for _, with := range []string{"", "payments,shipping,stock"} {
		dir := writeWorkflow(t, filepath.Join(t.TempDir(), "claim"), with)

		// Its test binary holds the command line, so the tests run the new build.
		goIn(t, dir, "test", "-vet=off", "-count=1", "./...")

		again := newRoot(server.Parts{})
		again.SetArgs([]string{"workflow", "new", "claim", "--dir", dir})

		if err := again.ExecuteContext(t.Context()); err == nil || exit.Report(err) != exit.Usage {
			t.Errorf("a second time: %v", err)
		}
	}
}

// TestEveryChoiceOfPartsCompilesAndFits: what is written for each choice of parts compiles, with its tests, and
// its definition and state machine fit each other.
func TestEveryChoiceOfPartsCompilesAndFits(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles programs")
	}

	// One module of all, so that one command reads what they use.
	module := writeWorkflow(t, filepath.Join(t.TempDir(), "claim"), "")

	for choice := 1; choice < 1<<len(scaffold.Features()); choice++ {
		var with []string
		for i, feature := range scaffold.Features() {
			if choice&(1<<i) != 0 {
				with = append(with, feature)
			}
		}

		t.Run(strings.Join(with, ","), func(t *testing.T) {
			dir := writeWorkflow(t, filepath.Join(module, strings.Join(with, "-")), strings.Join(with, ","))
			for _, name := range []string{"go.mod", "go.sum"} {
				if err := os.Remove(filepath.Join(dir, name)); err != nil {
					t.Fatal(err)
				}
			}

			d, err := os.ReadFile(filepath.Join(dir, "workflow.yaml"))
			if err != nil {
				t.Fatal(err)
			}

			definition, err := file.Parse("workflow.yaml", d)
			if err != nil {
				t.Fatal(err)
			}

			machine, err := os.ReadFile(filepath.Join(dir, "statemachine.asl.json"))
			if err != nil {
				t.Fatal(err)
			}

			w := &server.Workflow{Definition: definition, StateMachine: machine}
			for feature, step := range map[string]string{"payments": "charge", "stock": "reserve"} {
				if slices.Contains(with, feature) {
					w.Steps = append(w.Steps, server.Step{Name: step, Handle: func(*server.Backend) activities.HandlerFunc { return nil }})
				}
			}

			if _, err := (server.Config{Parts: server.Parts{Workflow: w}}).CheckWorkflow(); err != nil {
				t.Error(err)
			}
		})
	}

	goIn(t, module, "vet", "./...")
}

// writeWorkflow runs `workflow new` for the directory, and returns it.
func writeWorkflow(t *testing.T, dir, with string) string {
	t.Helper()

	args := []string{"workflow", "new", "claim", "--dir", dir}

	if with != "" {
		args = append(args, "--with", with)
	}

	var out bytes.Buffer
	root := newRoot(server.Parts{})
	root.SetOut(&out)
	root.SetArgs(args)

	if err := root.ExecuteContext(t.Context()); err != nil || !strings.Contains(out.String(), "go run . dev") {
		t.Fatalf("%v\n%s", err, out.String())
	}

	return dir
}

// goIn runs a go command in the directory.
func goIn(t *testing.T, dir string, args ...string) {
	t.Helper()

	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = dir
	// With the flags of this test, so that the build cache has its dependencies.
	cmd.Env = append(os.Environ(), "GOPROXY=off", "GOFLAGS="+os.Getenv("GOFLAGS")+" -mod=readonly -buildvcs=false", "GOWORK=off")

	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go %v: %v\n%s", args, err, text)
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
