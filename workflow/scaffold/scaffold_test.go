package scaffold_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ratchet/workflow/scaffold"
)

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

// machine stands for the writer of state machines, which is above this package.
func machine(scaffold.Plan) ([]byte, error) { return []byte("{}"), nil }

// TestNothingIsOverwritten, and what breaks a rule is named.
func TestNothingIsOverwritten(t *testing.T) {
	dir := t.TempDir()

	names, err := scaffold.New(scaffold.Options{Name: "ticket", Dir: filepath.Join(dir, "ticket"), Module: root, Machine: machine})
	if err != nil || len(names) != 8 {
		t.Fatalf("%q, %v", names, err)
	}

	for _, row := range []struct {
		name string
		o    scaffold.Options
		want string
	}{
		{"once more", scaffold.Options{Name: "ticket", Dir: filepath.Join(dir, "ticket"), Module: root, Machine: machine}, "is not empty"},
		{"a name with a capital", scaffold.Options{Name: "Ticket", Dir: filepath.Join(dir, "a"), Module: root, Machine: machine}, `name "Ticket": 1 to 32`},
		{"a path as a name", scaffold.Options{Name: "../ticket", Dir: filepath.Join(dir, "a"), Module: root, Machine: machine}, "1 to 32"},
		{"the module's own name", scaffold.Options{Name: modulePath(t), Dir: filepath.Join(dir, "a"), Module: root, Machine: machine}, ""},
		{"an unknown part", scaffold.Options{Name: "ticket", Dir: filepath.Join(dir, "a"), Module: root, Machine: machine, With: []string{"money"}}, "one or several of payments, shipping, stock"},
		{"an unknown part, without sources", scaffold.Options{Name: "ticket", Dir: filepath.Join(dir, "a"), Machine: machine, With: []string{"money"}}, "one or several of payments, shipping, stock"},
		{"no sources", scaffold.Options{Name: "ticket", Dir: filepath.Join(dir, "a"), Module: dir, Machine: machine}, "must be the directory of Ratchet's sources"},
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
