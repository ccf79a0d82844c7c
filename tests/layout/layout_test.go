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
	"ratchet": 0, "ratchet/internal/attribute": 0, "ratchet/internal/wait": 0, "ratchet/internal/dynamodblocal": 0, "ratchet/workflow": 0, "ratchet/activities": 0, "ratchet/streams": 0, "ratchet/once/keys": 0, "ratchet/queues": 0, "ratchet/embedded": 0,
	"ratchet/txn":         0,
	"ratchet/webhooks":    0,
	"ratchet/actions":     1,
	"ratchet/ledger":      1,
	"ratchet/transitions": 1, "ratchet/once": 1, "ratchet/inventory": 1, "ratchet/parked": 1,
	"ratchet/once/idempotency": 2, "ratchet/once/events": 2,
	"ratchet/shipping": 2,
	"ratchet/payments": 2, "ratchet/payments/reconcile": 3,
	"ratchet/activities/steps": 3, "ratchet/streams/reactions": 3, "ratchet/queues/requests": 3,
	"ratchet/api/internal/input": 0, "ratchet/api/auth": 4, "ratchet/api": 5,
	"ratchet/server":                6,
	"ratchet/embedded/embeddedtest": 7, "ratchet/examples/olist": 7, "ratchet/bench/load": 7, "ratchet/bench/costs": 8,
	"ratchet/cmd/ratchet": 8, "ratchet/bench": 9,
	"ratchet/bench/reconcile": 8,
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
