// Package layout holds the rules of docs/architecture.md as tests.
package layout

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ratchet/workflow"
	"ratchet/workflow/diagram"
)

// levels orders the packages: each imports only lower ones. Packages below
// embedded/internal may import each other, and embedded may import what is below it.
var levels = map[string]int{
	".":                          0,
	"internal/buildinfo":         0,
	"internal/coverage":          0,
	"internal/plural":            0,
	"internal/executionname":     0,
	"internal/modulepath":        0,
	"internal/dynamo":            0,
	"internal/dynamodblocal":     0,
	"internal/worker":            0,
	"api/internal/input":         0,
	"embedded":                   0,
	"embedded/faults":            0,
	"once/keys":                  0,
	"webhooks":                   0,
	"workflow":                   0,
	"workflow/internal/document": 0,

	"activities":            1,
	"doctor":                1,
	"embedded/embeddedtest": 1,
	"queues":                1,
	"refusals":              1,
	"streams":               1,
	"txn":                   1,
	"workflow/file":         1,
	"workflow/plan":         1,
	"workflow/scaffold":     1,

	"actions":                   2,
	"activities/activitiestest": 2,
	"api/auth":                  2,
	"audit":                     2,
	"inventory":                 2,
	"ledger":                    2,
	"once":                      2,
	"processes":                 2,
	"tasktoken":                 2,
	"transitions":               2,
	"workflow/check":            2,
	"workflow/diagram":          2,

	"notify":           3,
	"once/events":      3,
	"once/idempotency": 3,
	"payments":         3,
	"shipping":         3,

	"activities/steps":     4,
	"lists":                3,
	"inspect":              4,
	"payments/reconcile":   4,
	"payments/sandbox":     4,
	"notify/destination":   4,
	"queues/requests":      4,
	"shipping/httpcarrier": 4,
	"shipping/reports":     4,
	"shipping/sandbox":     4,
	"shipping/sfncarrier":  4,
	"streams/reactions":    4,
	"telemetry":            4,

	"api":        5,
	"erasure":    5,
	"executions": 5,
	"server":     7,

	"internal/scenario": 8,
	"ratchettest":       8,
	"examples/carrier":  8,
	"examples/lambda":   8,
	"examples/olist":    8,
	"examples/receiver": 8,

	"bench/costs":        9,
	"bench/peers/poller": 9,
	"bench/reconcile":    9,
	"cli":                9,

	"bench":       10,
	"cmd/ratchet": 10,

	"examples/bank":      10,
	"examples/courier":   10,
	"examples/screening": 10,
	"examples/ticket":    10,
}

// pkg is one package. Path and Imports are relative to the module; Imports holds only
// packages of the module.
type pkg struct {
	Path, Dir, Name  string
	Imports, GoFiles []string
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
	cmd := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Dir,Name,Imports,GoFiles", "./...")
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

	var all []pkg
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var listed struct {
			ImportPath, Dir, Name string
			Imports, GoFiles      []string
		}
		if err := d.Decode(&listed); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}

		p := pkg{Dir: listed.Dir, Name: listed.Name, GoFiles: listed.GoFiles}
		p.Path, _ = relative(listed.ImportPath)
		for _, i := range listed.Imports {
			if ours, ok := relative(i); ok {
				p.Imports = append(p.Imports, ours)
			}
		}
		all = append(all, p)
	}
}

func TestPackagesImportOnlyLowerLevels(t *testing.T) {
	const engine = "embedded/internal/"

	for _, p := range packages(t) {
		level, known := levels[p.Path]

		switch {
		case strings.HasPrefix(p.Path, engine):
			for _, i := range p.Imports {
				if !strings.HasPrefix(i, engine) {
					t.Errorf("%s imports %s: the engine must not know what runs on it", p.Path, i)
				}
			}

			continue
		case strings.HasPrefix(p.Path, "tests/"):
			continue
		case !known:
			t.Errorf("%s has no level: give it one here and in docs/architecture.md", p.Path)
			continue
		}

		for _, i := range p.Imports {
			if p.Path == "embedded" && strings.HasPrefix(i, "embedded/") {
				continue
			}

			if levels[i] >= level {
				t.Errorf("%s (level %d) imports %s (level %d)", p.Path, level, i, levels[i])
			}
		}
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
	text, err := os.ReadFile("../../docs/orders.md")
	if err != nil {
		t.Fatal(err)
	}

	want, err := diagram.Render(workflow.Order(), "mermaid", nil)
	if err != nil {
		t.Fatal(err)
	}

	if !strings.Contains(string(text), want) {
		t.Error("docs/orders.md is stale: paste the output of `ratchet workflow show --format mermaid`")
	}
}
