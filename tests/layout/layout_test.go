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
)

// levels orders the packages: each imports only lower ones. Packages below
// embedded/internal may import each other (embedded's own affair).
var levels = map[string]int{
	"ratchet":                        0,
	"ratchet/internal/dynamo":        0,
	"ratchet/internal/dynamodblocal": 0,
	"ratchet/internal/worker":        0,
	"ratchet/api/internal/input":     0,
	"ratchet/embedded":               0,
	"ratchet/once/keys":              0,
	"ratchet/webhooks":               0,
	"ratchet/workflow":               0,

	"ratchet/activities":            1,
	"ratchet/embedded/embeddedtest": 1,
	"ratchet/queues":                1,
	"ratchet/streams":               1,
	"ratchet/txn":                   1,
	"ratchet/workflow/file":         1,

	"ratchet/actions":          2,
	"ratchet/api/auth":         2,
	"ratchet/inventory":        2,
	"ratchet/ledger":           2,
	"ratchet/once":             2,
	"ratchet/tasktoken":        2,
	"ratchet/transitions":      2,
	"ratchet/workflow/check":   2,
	"ratchet/workflow/diagram": 2,

	"ratchet/notify":           3,
	"ratchet/once/events":      3,
	"ratchet/once/idempotency": 3,
	"ratchet/payments":         3,
	"ratchet/shipping":         3,

	"ratchet/activities/steps":   4,
	"ratchet/inspect":            4,
	"ratchet/payments/reconcile": 4,
	"ratchet/payments/sandbox":   4,
	"ratchet/queues/requests":    4,
	"ratchet/shipping/sandbox":   4,
	"ratchet/streams/reactions":  4,

	"ratchet/api":    5,
	"ratchet/server": 7,

	"ratchet/internal/scenario": 8,
	"ratchet/ratchettest":       8,
	"ratchet/examples/olist":    8,

	"ratchet/bench/costs":     9,
	"ratchet/bench/reconcile": 9,
	"ratchet/cmd/ratchet":     9,

	"ratchet/bench": 10,
}

type pkg struct {
	ImportPath, Dir string
	Imports         []string
	GoFiles         []string
}

func packages(t *testing.T) []pkg {
	t.Helper()

	cmd := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Dir,Imports,GoFiles", "ratchet/...")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}

	var all []pkg
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

func TestPackagesImportOnlyLowerLevels(t *testing.T) {
	for _, p := range packages(t) {
		internal := strings.HasPrefix(p.ImportPath, "ratchet/embedded/internal/")
		level, known := levels[p.ImportPath]
		if !known && !internal && !strings.HasPrefix(p.ImportPath, "ratchet/tests/") {
			t.Errorf("%s has no level: give it one here and in docs/architecture.md", p.ImportPath)
		}

		for _, i := range p.Imports {
			if !strings.HasPrefix(i, "ratchet") || !known {
				if internal && strings.HasPrefix(i, "ratchet/") && !strings.HasPrefix(i, "ratchet/embedded/internal/") {
					t.Errorf("%s imports %s: the engine must not know what runs on it", p.ImportPath, i)
				}
				continue
			}

			if strings.HasPrefix(i, "ratchet/embedded/internal/") && p.ImportPath == "ratchet/embedded" {
				continue
			}

			if levels[i] >= level {
				t.Errorf("%s (level %d) imports %s (level %d)", p.ImportPath, level, i, levels[i])
			}
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
				t.Errorf("%s/%s has %d lines, at most %d", p.ImportPath, name, n, most)
			}
		}
	}
}

func TestNoPackageIsADrawer(t *testing.T) {
	for _, p := range packages(t) {
		switch filepath.Base(p.ImportPath) {
		case "util", "utils", "common", "helpers", "models", "types", "misc", "shared":
			t.Errorf("%s: name it after what it holds", p.ImportPath)
		}
	}
}

func TestTheDiagramInTheDocsIsTheDefinition(t *testing.T) {
	text, err := os.ReadFile("../../docs/orders.md")
	if err != nil {
		t.Fatal(err)
	}

	diagram, err := workflow.Order().Render("mermaid")
	if err != nil {
		t.Fatal(err)
	}

	if !strings.Contains(string(text), diagram) {
		t.Error("docs/orders.md is stale: paste the output of `ratchet workflow show --format mermaid`")
	}
}
