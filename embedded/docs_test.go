package embedded

import (
	"flag"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"ratchet/embedded/internal/wire"
)

var updateDocs = flag.Bool("update", false, "write the operations into docs/reference/engine.md")

// TestTheDocsListEveryOperation compares the lists of docs/reference/engine.md with the operations that
// the services have.
func TestTheDocsListEveryOperation(t *testing.T) {
	e, err := Open(Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()

	const page = "../docs/reference/engine.md"

	before, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}

	text := string(before)
	for name, service := range map[string]wire.Service{
		"dynamodb": e.dynamodb.Wire(), "streams": e.streams.Wire(), "sqs": e.sqs.Wire(), "states": e.stepfunctions.Wire(),
	} {
		mark := "<!-- " + name + " -->\n"
		from := strings.Index(text, mark)
		if from < 0 {
			t.Fatalf("%s has no list %q", page, mark)
		}
		from += len(mark)
		end := from + strings.Index(text[from:], "<!-- end -->")
		text = text[:from] + filled(slices.Sorted(maps.Keys(service.Operations))) + text[end:]
	}

	if text == string(before) {
		return
	}

	if !*updateDocs {
		t.Fatalf("%s is stale: go test ./embedded -run TheDocs -args -update", page)
	}

	if err := os.WriteFile(page, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// filled writes names in lines of up to 100 characters.
func filled(names []string) string {
	var b strings.Builder
	width := 0
	for i, name := range names {
		if i > 0 {
			b.WriteByte(',')

			if width+len(name) > 96 {
				b.WriteByte('\n')
				width = 0
			} else {
				b.WriteByte(' ')
			}
		}
		b.WriteString(name)
		width += len(name) + 2
	}

	return b.String() + "\n"
}
