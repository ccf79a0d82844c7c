package develop

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"testing"

	"ratchet/workflow/scaffold"
)

var update = flag.Bool("update", false, "write the examples")

// TestTheExamplesAreWhatNewWrites: examples/ticket and examples/mugs are the workflows of the templates, so that
// the linter and their own tests read them, too. The flag -update writes them.
func TestTheExamplesAreWhatNewWrites(t *testing.T) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		t.Fatal("this test has no build information")
	}

	for _, o := range []scaffold.Options{{Name: "ticket"}, {Name: "mugs", With: scaffold.Features()}} {
		o.Machine = happyPath

		content, err := o.Render(info.Main.Path)
		if err != nil {
			t.Fatal(err)
		}

		for name, want := range content {
			path := filepath.Join("../../../../examples", o.Name, name)

			if *update {
				if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
					t.Fatal(err)
				}

				if err := os.WriteFile(path, want, 0o600); err != nil {
					t.Fatal(err)
				}
			}

			got, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}

			// The order of imports depends on the module's path.
			if !bytes.Equal(sortedImports(got), sortedImports(want)) {
				t.Errorf("%s is not what the template says: go test ./cmd/cli/internal/develop -run TestTheExamples -update", path)
			}
		}
	}
}

func sortedImports(text []byte) []byte {
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
