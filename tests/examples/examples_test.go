package examples

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// elsewhere are the examples whose own tests do not start them, and what does.
var elsewhere = map[string]struct{ file, text string }{
	"receiver":  {"docs/learn/tutorial.md", "$ RECEIVER_SECRET="},             // tests/tutorial runs each command of the page
	"own":       {"Makefile", "in $(USERS)"},                                  // a module of its own: `make own`
	"recurring": {"examples/recurring/recurring_test.go", "func Test"},        // a template; its test sends what the template says
	"webhooks":  {"tests/sdks/receivers_test.go", "func TestReceivers("},      // in four languages
	"clients":   {"tests/sdks/clients_test.go", "func TestGeneratedClients("}, // in two
	"olist":     {"cmd/cli/olist/olist_test.go", "func Test"},                 // a package without a program
}

// TestEveryExampleIsStarted: by a test of its own, or by the list above.
func TestEveryExampleIsStarted(t *testing.T) {
	t.Parallel()

	dirs, err := os.ReadDir(filepath.Join(root, "examples"))
	if err != nil {
		t.Fatal(err)
	}

	for _, dir := range dirs {
		name := dir.Name()

		where, is := elsewhere[name]
		if !is {
			where.file, where.text = "examples/"+name+"/comment_test.go", "func TestTheCommentSaysWhatHappens("
		}

		if text := read(t, where.file); !strings.Contains(text, where.text) {
			t.Errorf("%s: %s has no %q", name, where.file, where.text)
		}
	}
}
