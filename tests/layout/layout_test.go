// Package layout holds the rules of docs/internals/architecture.md as tests.
package layout

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ratchet/workflow"
	"ratchet/workflow/diagram"
)

// pkg is one package. Path, Imports and TestImports are relative to the module; both lists hold
// only packages of the module.
type pkg struct {
	Path, Dir, Name  string
	Imports, GoFiles []string
	TestImports      []string
}

// modulePath is read from go.mod, since `make module` changes it.
func modulePath(t *testing.T) string {
	t.Helper()

	first, _, _ := strings.Cut(read(t, "go.mod"), "\n")
	path, ok := strings.CutPrefix(first, "module ")
	if !ok {
		t.Fatalf("go.mod begins with %q", first)
	}

	return path
}

func packages(t *testing.T) []pkg {
	t.Helper()

	module := modulePath(t)
	cmd := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Dir,Name,Imports,GoFiles,TestImports,XTestImports", "./...")
	cmd.Dir = root

	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}

	relative := func(path string) (string, bool) {
		if path == module {
			return ".", true
		}

		return strings.CutPrefix(path, module+"/")
	}

	ours := func(paths []string) (found []string) {
		for _, path := range paths {
			if path, ok := relative(path); ok {
				found = append(found, path)
			}
		}

		return found
	}

	var all []pkg
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var listed struct {
			ImportPath, Dir, Name     string
			Imports, GoFiles          []string
			TestImports, XTestImports []string
		}
		if err := d.Decode(&listed); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}

		p := pkg{Dir: listed.Dir, Name: listed.Name, GoFiles: listed.GoFiles}
		p.Path, _ = relative(listed.ImportPath)
		p.Imports = ours(listed.Imports)
		p.TestImports = ours(slices.Concat(listed.TestImports, listed.XTestImports))
		all = append(all, p)
	}
}

// TestTransitionsNeedNoFileFormats: the core of package workflow is pure; definition files
// are read by workflow/file.
func TestTransitionsNeedNoFileFormats(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "./transitions")
	cmd.Dir = root

	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}

	for path := range strings.Lines(string(out)) {
		if strings.Contains(path, "yaml") || strings.Contains(path, "go-json-experiment") {
			t.Errorf("transitions depends on %s", path)
		}
	}
}

func TestFilesHaveOneSubject(t *testing.T) {
	const most = 500
	for _, p := range packages(t) {
		for _, name := range p.GoFiles {
			if strings.HasSuffix(name, "_templ.go") { // written from a page of the same name
				continue
			}

			text, err := os.ReadFile(filepath.Join(p.Dir, name))
			if err != nil {
				t.Fatal(err)
			}

			if n := bytes.Count(text, []byte("\n")); n > most {
				t.Errorf("%s/%s has %d lines, at most %d", p.Path, name, n, most)
			}
		}
	}
}

func TestNoPackageIsADrawer(t *testing.T) {
	for _, p := range packages(t) {
		switch filepath.Base(p.Path) {
		case "util", "utils", "common", "helpers", "models", "types", "misc", "shared":
			t.Errorf("%s: name it after what it holds", p.Path)
		}
	}
}

func TestTheDiagramInTheDocsIsTheDefinition(t *testing.T) {
	text, err := os.ReadFile("../../docs/guides/orders.md")
	if err != nil {
		t.Fatal(err)
	}

	want, err := diagram.Render(workflow.Order(), "mermaid", nil)
	if err != nil {
		t.Fatal(err)
	}

	if !strings.Contains(string(text), want) {
		t.Error("docs/guides/orders.md is stale: paste the output of `ratchet workflow show --format mermaid`")
	}
}
