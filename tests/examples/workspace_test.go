package examples

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestAWorkspaceFindsTheModule by the command of docs/guides/library.md, with nothing in go.mod. A workspace reads the go.mod of
// each module of the graph, more of them than a build needs, so the first run fetches some from the proxy. `make own` tries the
// directive replace, and `make module-check` another path.
func TestAWorkspaceFindsTheModule(t *testing.T) {
	t.Parallel()

	const command = "go work init . ../ratchet"
	if !strings.Contains(read(t, "docs/guides/library.md"), "`"+command+"`") {
		t.Fatalf("docs/guides/library.md has no %q", command)
	}

	sources, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}

	projects := t.TempDir()
	dir := filepath.Join(projects, "loans")
	// The repository stands beside the project.
	if err := os.Symlink(sources, filepath.Join(projects, "ratchet")); err != nil {
		t.Fatal(err)
	}

	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}

	for name, text := range map[string]string{
		"go.mod":  "module loans\n\ngo 1.26.0\n",
		"main.go": "package main\n\nimport \"ratchet/once\"\n\nfunc main() { once.TableInput(\"once\") }\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	run := func(command string) string {
		args := strings.Fields(command)
		cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOWORK=", "PWD="+dir)

		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}

		return string(out)
	}

	run(command)

	if packages := run("go list -deps ."); !strings.Contains(packages, "\nratchet/once\n") {
		t.Errorf("the project does not use the sources beside it:\n%s", packages)
	}
}
