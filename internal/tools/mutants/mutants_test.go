package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const counter = "./testdata/counter"

// planted returns the changes of the mutants of a function body, in order.
func planted(t *testing.T, body string) []string {
	t.Helper()
	text := []byte("package p\n\nimport \"a AND b\"\n\nfunc (r *R) f(a, b int) (int, error) {\n" + body + "\n}\n")

	found, err := plant("p.go", text)
	if err != nil {
		t.Fatal(err)
	}

	var changes []string
	for _, m := range found {
		if !strings.HasPrefix(m.Name, "p.go R.f ") || m.Line < 6 {
			t.Errorf("%q in line %d", m.Name, m.Line)
		}

		if string(text[m.begin:m.end]) != m.Was || !bytes.Contains(m.apply(text), []byte(m.Is)) {
			t.Errorf("%s is at the wrong place", m)
		}
		changes = append(changes, m.change())
	}

	return changes
}

func TestEachKindOfCodeHasItsMutants(t *testing.T) {
	for _, row := range []struct {
		name, body string
		want       []string
	}{
		{name: "a comparison", body: "x := a == b", want: []string{"`==` is `!=`"}},
		{name: "a bound", body: "x := a < b", want: []string{"`<` is `<=`", "`<` is `>=`"}},
		{name: "and, or", body: "x := a && b || c", want: []string{"`&&` is `||`", "`||` is `&&`"}},
		{name: "a condition without an operator", body: "if f(a) {}\nif !ok {}", want: []string{"`f(a)` is `!(f(a))`", "without `!`"}},
		{name: "a case", body: "switch {\ncase ok:\n}\nswitch a {\ncase b:\n}", want: []string{"`ok` is `!(ok)`"}},
		{name: "arithmetic, but not of text", body: "x := a + 1\ny := \"a\" + c + d\na++", want: []string{"`+` is `-`", "`++` is `--`"}},
		{name: "errors", body: "return 1, err", want: []string{"`err` is `nil`"}},
		{name: "no error", body: "return a, nil", want: nil},
		{name: "errors that are made", body: "return 0, fmt.Errorf(\"x: %w\", err)", want: []string{"`fmt.Errorf(\"x: %w\", err)` is `nil`"}},
		{name: "several results of a call", body: "return g(a)", want: nil},
		{name: "beside an error", body: "return false, err", want: []string{"`err` is `nil`"}},
		{name: "beside no error", body: "return false, nil", want: []string{"`false` is `true`"}},
		{name: "truth values", body: "x := func() bool { return true }", want: []string{"`true` is `false`"}},
		{name: "a function literal without an error", body: "x := func() string { return s }", want: nil},
		{name: "calls as statements", body: "send(a)\npanic(b)", want: []string{"without `send(a)`"}},
		{name: "links of a chain", body: "u := New(a).If(c).Set(d).Bind(e)", want: []string{"without `.If(c)`", "without `.Set(d)`"}},
		{name: "a call that is no link", body: "u := New(a)\nu.Set(d)\nx := s.Add(d)", want: []string{"without `u.Set(d)`"}},
		{name: "the argument of If", body: "u := New(a).If(\"version = :v\")", want: []string{"without `.If(\"version = :v\")`", "`=` is `<>`"}},
		{name: "an assignment is no condition", body: "u := New(a).Bind(\"version = :v\")", want: nil},
		{name: "a named condition", body: "in := T{ConditionExpression: aws.String(\"n < :n\")}", want: []string{"`<` is `<=`"}},
		{name: "other text", body: "x := \"you AND me\"\ny := \"a = b\"", want: nil},
		{name: "parts of a condition", body: "x := \"attribute_exists(id) AND (a = :a OR b < :b)\"", want: []string{
			"without `attribute_exists(id) AND`", "`attribute_exists(` is `attribute_not_exists(`", "`AND` is `OR`",
			"without `AND (a = :a OR b < :b)`", "without `a = :a OR`", "`=` is `<>`", "`OR` is `AND`", "without `OR b < :b`", "`<` is `<=`",
		}},
	} {
		got := planted(t, row.body)
		slices.Sort(got)
		slices.Sort(row.want)

		if !slices.Equal(got, row.want) {
			t.Errorf("%s:\ngot  %q\nwant %q", row.name, got, row.want)
		}
	}
}

// A mutant in the signature of a function is not in its body.
func TestASignatureIsOutsideOfTheFunction(t *testing.T) {
	found, err := plant("p.go", []byte("package p\n\nfunc f() [n + 1]byte {\n\treturn [a + 1]byte{}\n}\n"))
	if err != nil || len(found) != 2 || found[0].scopeEnd != 0 || found[1].scopeEnd == 0 {
		t.Errorf("%+v, %v", found, err)
	}

	if _, pkg, err := weaveFile("p.go", []byte("package p\n\nfunc f() [n + 1]byte {\n\treturn [a + 1]byte{}\n}\n"), map[int]mutant{1: found[0], 2: found[1]}); err != nil || pkg != "p" {
		t.Errorf("%s, %v", pkg, err)
	}
}

func TestEqualMutantsOfAFunctionAreNumbered(t *testing.T) {
	found, err := plant("p.go", []byte("package p\n\nfunc f() {\n\tx := a == b\n\ty := a == b\n}\n"))
	if err != nil {
		t.Fatal(err)
	}

	if len(found) != 2 || found[0].Name != "p.go f `==` is `!=`" || found[1].Name != "p.go f `==` is `!=` (2)" {
		t.Errorf("%+v", found)
	}

	if _, err := plant("p.go", []byte("package")); err == nil {
		t.Error("a file that cannot be parsed was accepted")
	}
}

// trial runs the command on the fixture.
func trial(t *testing.T, o options) ([]report, string, error) {
	t.Helper()

	var out, progress bytes.Buffer
	o.json = true
	err := run(t.Context(), o, []string{counter}, &out, &progress)

	var reports []report
	if jsonErr := json.Unmarshal(out.Bytes(), &reports); jsonErr != nil {
		t.Fatalf("%v: %s (%v)", jsonErr, out.Bytes(), err)
	}

	return reports, progress.String(), err
}

// outcomes lists the mutants of a report with their outcomes.
func outcomes(r report) string {
	var rows []string
	for _, m := range r.Mutants {
		rows = append(rows, fmt.Sprintf("%s %s", m.Outcome, m.change()))
	}

	return strings.Join(rows, "\n")
}

// TestMutantsAreTriedOnceAndSurvivorsListed plants the mutants of a small package, and asks
// for them again, with an explanation for the survivors.
func TestMutantsAreTriedOnceAndSurvivorsListed(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a package many times")
	}

	o := options{cache: t.TempDir(), explained: filepath.Join(t.TempDir(), "none"), timeout: 5 * time.Second, match: "^counter.go (-|Counter.(Add|Drain)) "}

	reports, _, err := trial(t, o)
	if !errors.Is(err, errSurvivors) || len(reports) != 1 {
		t.Fatalf("%v, %d reports", err, len(reports))
	}

	want := strings.Join([]string{
		"killed without `attribute_not_exists(id) AND`",
		"killed `attribute_not_exists(` is `attribute_exists(`",
		"killed `AND` is `OR`",
		"killed without `AND version < :version`",
		"survived `<` is `<=`",
		"survived `>=` is `>`",
		"killed `>=` is `<`",
		"survived `ErrFull` is `nil`",
		"killed `++` is `--`",
		"killed `>` is `>=`",
		"killed `>` is `<=`",
		"timed out `--` is `++`",
	}, "\n")
	if got := outcomes(reports[0]); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}

	_, progress, err := trial(t, o)
	if !errors.Is(err, errSurvivors) || progress != "" {
		t.Errorf("the second run tried mutants again: %s (%v)", progress, err)
	}

	var explanations strings.Builder
	for _, m := range reports[0].Mutants {
		if m.Outcome == survived {
			fmt.Fprintf(&explanations, "%s\tthe fixture has no test\n", reports[0].key(m))
		}
	}

	if err := os.WriteFile(o.explained, []byte(explanations.String()), 0o600); err != nil {
		t.Fatal(err)
	}

	if reports, _, err = trial(t, o); err != nil {
		t.Errorf("every survivor is explained: %v", err)
	}

	for _, m := range reports[0].Mutants {
		if (m.Outcome == survived) != (m.Reason != "") {
			t.Errorf("%s %s: reason %q", m.Outcome, m, m.Reason)
		}
	}
}

func TestALineThatWasCutOffIsTriedAgain(t *testing.T) {
	p := &pkg{Path: "example.org/p", Files: []string{"p.go"}, Tests: []string{"p_test.go"}, texts: map[string][]byte{"p.go": []byte("a"), "p_test.go": []byte("b")}}
	o := options{cache: t.TempDir()}
	ms := []mutant{{Name: "killed", File: "p.go"}, {Name: "survived", File: "p.go"}, {Name: "cut off", File: "p.go"}}

	r, err := openResults(o, p)
	if err != nil {
		t.Fatal(err)
	}

	for i, outcome := range []outcome{killed, survived, killed} {
		if err := r.add(ms[i], outcome); err != nil {
			t.Fatal(err)
		}
	}
	r.Close()

	file := filepath.Join(o.cache, "example.org_p.jsonl")

	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}

	if err := os.WriteFile(file, text[:len(text)-10], 0o600); err != nil {
		t.Fatal(err)
	}

	known := func(change func()) (found []bool) {
		t.Helper()
		change()

		r, err := openResults(o, p)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()

		for _, m := range ms {
			_, ok := r.of(m)
			found = append(found, ok)
		}

		return found
	}

	for _, row := range []struct {
		name   string
		change func()
		want   []bool
	}{
		{name: "the same package", change: func() {}, want: []bool{true, true, false}},
		{name: "another test", change: func() { p.texts["p_test.go"] = []byte("c") }, want: []bool{true, false, false}},
		{name: "another file", change: func() { p.texts["p.go"] = []byte("d") }, want: []bool{false, false, false}},
	} {
		if got := known(row.change); !slices.Equal(got, row.want) {
			t.Errorf("%s: known %v, want %v", row.name, got, row.want)
		}
	}
}

func TestWhatCannotBeRunIsRefused(t *testing.T) {
	explained := filepath.Join(t.TempDir(), "explained.txt")
	if err := os.WriteFile(explained, []byte("# a comment\n\na mutant without a reason\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	for name, o := range map[string]struct {
		options
		packages []string
	}{
		"no package":            {},
		"a bad expression":      {options: options{match: "("}, packages: []string{counter}},
		"no reason":             {options: options{explained: explained}, packages: []string{counter}},
		"no such package":       {packages: []string{"./testdata/nothing"}},
		"more than one package": {packages: []string{"../..."}},
	} {
		o.cache = t.TempDir()
		if err := run(t.Context(), o.options, o.packages, io.Discard, io.Discard); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestAnErrorOfTheCompilerIsNoFault(t *testing.T) {
	p := &pkg{Path: "m/p"}
	for output, want := range map[string]bool{
		"# m/p\np.go:1: undefined: x":                true,
		"# m/p [m/p.test]\np.go:1: undefined: x":     true,
		"# m/p_test [m/p.test]\np.go:1: bad":         true,
		"# m/p.test\nlink: signal: killed":           false,
		"# m/other\no.go:1: undefined":               false,
		"go: writing the output: no space left: m/p": false,
	} {
		if got := p.isCompileError([]byte(output)); got != want {
			t.Errorf("%q: %t", output, got)
		}
	}
}
