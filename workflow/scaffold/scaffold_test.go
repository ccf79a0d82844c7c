package scaffold_test

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ratchet/workflow/scaffold"
)

var update = flag.Bool("update", false, "write examples/ticket")

const root = "../.."

// modulePath reads the path of this module, which `make module` changes.
func modulePath(t *testing.T) string {
	t.Helper()

	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}

	first, _, _ := strings.Cut(string(text), "\n")

	return strings.TrimPrefix(first, "module ")
}

// TestTheTicketIsWhatNewWrites: examples/ticket is the workflow of the templates, so that the linter
// and its own tests read them, too.
func TestTheTicketIsWhatNewWrites(t *testing.T) {
	content, err := scaffold.Render("ticket", modulePath(t))
	if err != nil {
		t.Fatal(err)
	}

	for name, want := range content {
		path := filepath.Join(root, "examples", "ticket", name)

		if *update {
			if err := os.WriteFile(path, want, 0o600); err != nil {
				t.Fatal(err)
			}
		}

		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}

		// The order of imports depends on the module's path.
		if !bytes.Equal(sorted(got), sorted(want)) {
			t.Errorf("%s is not what the template says: go test ./workflow/scaffold -args -update", path)
		}
	}
}

func sorted(text []byte) []byte {
	lines := bytes.Split(text, []byte("\n"))

	var imports, rest [][]byte
	for _, line := range lines {
		if bytes.HasPrefix(line, []byte("\t\"")) {
			imports = append(imports, line)
		} else {
			rest = append(rest, line)
		}
	}

	slices.SortFunc(imports, bytes.Compare)

	return bytes.Join(append(rest, imports...), []byte("\n"))
}

// TestNothingIsOverwritten, and what breaks a rule is named.
func TestNothingIsOverwritten(t *testing.T) {
	dir := t.TempDir()

	names, err := scaffold.New(scaffold.Options{Name: "ticket", Dir: filepath.Join(dir, "ticket"), Module: root})
	if err != nil || len(names) != 7 {
		t.Fatalf("%q, %v", names, err)
	}

	for _, row := range []struct {
		name string
		o    scaffold.Options
		want string
	}{
		{"once more", scaffold.Options{Name: "ticket", Dir: filepath.Join(dir, "ticket"), Module: root}, "is not empty"},
		{"a name with a capital", scaffold.Options{Name: "Ticket", Dir: filepath.Join(dir, "a"), Module: root}, `name "Ticket": 1 to 32`},
		{"a path as a name", scaffold.Options{Name: "../ticket", Dir: filepath.Join(dir, "a"), Module: root}, "1 to 32"},
		{"the module's own name", scaffold.Options{Name: modulePath(t), Dir: filepath.Join(dir, "a"), Module: root}, ""},
		{"no sources", scaffold.Options{Name: "ticket", Dir: filepath.Join(dir, "a"), Module: dir}, "must be the directory of Ratchet's sources"},
	} {
		if _, err := scaffold.New(row.o); !errors.Is(err, scaffold.ErrInvalid) || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v, want %q", row.name, err, row.want)
		}
	}

	if _, err := os.Stat(filepath.Join(dir, "a")); err == nil {
		t.Error("a refused call has created its directory")
	}
}

func TestTheSourcesAreFoundAboveOrWhereTheProgramWasBuilt(t *testing.T) {
	absolute, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}

	for _, row := range []struct{ name, start, source, want string }{
		{"below them", "testdata/deep", "", absolute},
		{"elsewhere", t.TempDir(), filepath.Join(absolute, "cmd", "cli", "workflow_new.go"), absolute},
		{"nowhere", t.TempDir(), "ratchet/cmd/cli/workflow_new.go", ""},
	} {
		if got := scaffold.FindModule(row.start, row.source); got != row.want {
			t.Errorf("%s: %q, want %q", row.name, got, row.want)
		}
	}
}
