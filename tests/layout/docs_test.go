package layout

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

// skipped are directories that hold nothing of the project's own.
var skipped = map[string]bool{".git": true, ".cache": true, ".schemathesis": true, "bin": true, ".ratchet": true}

// files returns the project's files with the ending, relative to the root.
func files(t *testing.T, ending string) []string {
	t.Helper()

	var found []string

	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && skipped[d.Name()]:
			return filepath.SkipDir
		case !d.IsDir() && strings.HasSuffix(path, ending):
			name, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			found = append(found, name)
		}

		return nil
	})
	if err != nil {
		t.Fatal(err)
	}

	return found
}

func read(t *testing.T, name string) string {
	t.Helper()

	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}

	return string(text)
}

var (
	testFunc = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark|Example)\w+)\(`)
	// namedTest matches a test's name in a document. A name may end in "…".
	namedTest = regexp.MustCompile("`((?:Test|Fuzz|Benchmark)[A-Z0-9]\\w*)(…?)`")
)

func TestDocumentsNameTestsThatExist(t *testing.T) {
	t.Parallel()

	known := map[string]bool{}
	for _, name := range files(t, "_test.go") {
		for _, m := range testFunc.FindAllStringSubmatch(read(t, name), -1) {
			known[m[1]] = true
		}
	}

	exists := func(name string, prefix bool) bool {
		if known[name] {
			return true
		}

		for k := range known {
			if prefix && strings.HasPrefix(k, name) {
				return true
			}
		}

		return false
	}

	for _, name := range files(t, ".md") {
		for _, m := range namedTest.FindAllStringSubmatch(read(t, name), -1) {
			if !exists(m[1], m[2] != "") {
				t.Errorf("%s names %s, which does not exist", name, m[1])
			}
		}
	}
}

// userTest is the name of a test in a page for users. TestState is an operation of Step Functions.
var userTest = regexp.MustCompile(`\b(?:Test|Fuzz)[A-Z]\w*`)

// TestPagesForUsersNameNoTests: docs/internals/proofs.md does.
func TestPagesForUsersNameNoTests(t *testing.T) {
	t.Parallel()

	for _, name := range files(t, ".md") {
		if !forUsers(name) {
			continue
		}

		for _, found := range userTest.FindAllString(read(t, name), -1) {
			if found != "TestState" {
				t.Errorf("%s names %s; docs/internals/proofs.md is the place for it", name, found)
			}
		}
	}
}

// forUsers reports whether the page is one of docs/learn, docs/guides and docs/operate.
func forUsers(name string) bool {
	parts := strings.Split(filepath.ToSlash(name), "/")

	return len(parts) > 2 && parts[0] == "docs" && slices.Contains([]string{"learn", "guides", "operate"}, parts[1])
}
