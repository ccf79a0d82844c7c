package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = "../../.."

func read(t *testing.T, name string) string {
	t.Helper()

	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}

	return string(text)
}

// An id stands in the first column of a table or in parentheses behind a sentence.
var stated = regexp.MustCompile(`(?m)^\| ([A-Z][0-9]+[a-z]?) \||\(([A-Z][0-9]+[a-z]?)\)`)

func TestEachPromiseHasARow(t *testing.T) {
	all, err := parse(read(t, table))
	if err != nil {
		t.Fatal(err)
	}

	var rows []string
	for _, p := range all {
		rows = append(rows, p.id)
	}

	var promised []string
	for _, document := range []string{
		"docs/learn/guarantees.md", "docs/guides/ledger.md", "docs/guides/money.md", "docs/guides/money-errors.md", "docs/guides/reconcile.md",
	} {
		for _, m := range stated.FindAllStringSubmatch(read(t, document), -1) {
			promised = append(promised, m[1]+m[2])
		}
	}

	for _, id := range promised {
		if !slices.Contains(rows, id) {
			t.Errorf("promise %s has no row in %s", id, table)
		}
	}

	for _, id := range rows {
		if !slices.Contains(promised, id) {
			t.Errorf("%s has a row for %s, which no document promises", table, id)
		}
	}
}

// The breaks are planted by `make promises`. Here each must fit the code as it is.
func TestEachBreakFitsTheCode(t *testing.T) {
	all, err := parse(read(t, table))
	if err != nil {
		t.Fatal(err)
	}

	for _, p := range all {
		if _, err := p.broken.apply(read(t, p.broken.file)); err != nil {
			t.Errorf("promise %s: %v", p.id, err)
		}

		files, err := filepath.Glob(filepath.Join(root, p.pkg, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}

		for _, test := range p.tests {
			if !slices.ContainsFunc(files, func(f string) bool {
				text, _ := os.ReadFile(f)
				return strings.Contains(string(text), "func "+test+"(t *testing.T)")
			}) {
				t.Errorf("promise %s: %s has no %s", p.id, p.pkg, test)
			}
		}
	}
}

func TestARowIsRefusedByItsRule(t *testing.T) {
	const sound = "| G1 | text | `once`: `TestA`, `TestB` | `once/do.go`: `a \\|\\| b` → `a` |"

	p, err := parseRow(sound)
	if err != nil || p.pkg != "once" || len(p.tests) != 2 || p.broken != (change{"once/do.go", "a || b", "a"}) {
		t.Fatalf("%+v, %v", p, err)
	}

	for _, row := range []string{
		"| G1 | text | `once`: `TestA` |",
		"| one | text | `once`: `TestA` | `once/do.go`: `a` → `b` |",
		"| G1 | text | TestA | `once/do.go`: `a` → `b` |",
		"| G1 | text | `once`: `TestA` | `once/do.go`: a → b |",
	} {
		if _, err := parseRow(row); err == nil {
			t.Errorf("accepted %s", row)
		}
	}

	if _, err := parse(heading + sound + "\n" + sound + "\n"); err == nil {
		t.Error("a promise with two rows was accepted")
	}

	if _, err := parse("## Other\n"); err == nil {
		t.Error("a document without the table was accepted")
	}
}

// module writes a module with one function and a test of it.
func module(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()

	for name, text := range map[string]string{
		"go.mod":      "module example\n\ngo 1.26\n",
		"a/a.go":      "package a\n\nfunc Sum(x, y int) int { return x + y }\n\nfunc Other() int { return 1 }\n",
		"a/a_test.go": "package a\n\nimport \"testing\"\n\nfunc TestSum(t *testing.T) {\n\tif Sum(1, 2) != 3 {\n\t\tt.Error(\"sum\")\n\t}\n}\n",
	} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o700); err != nil {
			t.Fatal(err)
		}

		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	return dir
}

func TestABreakIsPlanted(t *testing.T) {
	dir := module(t)
	p := promise{pkg: "a", tests: []string{"TestSum"}}

	for about, test := range map[string]struct {
		change
		held, fails bool
	}{
		"a break that the test notices":         {change: change{"a/a.go", "x + y", "x - y"}},
		"a break that it does not notice":       {change: change{"a/a.go", "return 1", "return 2"}, held: true},
		"a break that does not compile":         {change: change{"a/a.go", "x + y", "x +"}, fails: true},
		"a break whose text is not in the file": {change: change{"a/a.go", "z + y", "x"}, fails: true},
		"a break whose text is there twice":     {change: change{"a/a.go", "return", "x"}, fails: true},
	} {
		p.broken = test.change
		if held, err := p.try(t.Context(), dir); held != test.held || (err != nil) != test.fails {
			t.Errorf("%s: held %t, %v", about, held, err)
		}
	}

	p.tests = []string{"TestNone"}
	p.broken = change{"a/a.go", "x + y", "x - y"}
	if _, err := p.try(t.Context(), dir); err == nil {
		t.Error("a test that does not exist was accepted")
	}
}
