// Command coverage prints the statement coverage of packages as a table. With -update it
// also writes the table into a document, between the lines "<!-- coverage -->" and
// "<!-- end -->":
//
//	go run ./internal/tools/coverage -update docs/internals/testing.md ./...
//
// Each package is measured with its own tests only. An update replaces the whole table, so
// measure all packages with it. Packages without statements are left
// out. The last column of the document's table is written by hand and says why a package
// is below 80 %; an update keeps it, drops it once the package is above, and names the
// packages that lack it.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// enough is the coverage in percent below which a package needs a note.
const enough = 80

func main() {
	document := flag.String("update", "", "the `document` to write the table into")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, *document, flag.Args(), os.Stdout)
	stop()

	if err != nil {
		fmt.Fprintln(os.Stderr, "coverage:", err)
		os.Exit(1)
	}
}

// run measures the packages and prints the table. A failed test is an error, and the
// document is then left alone.
func run(ctx context.Context, document string, packages []string, out io.Writer) error {
	if len(packages) == 0 {
		packages = []string{"./..."}
	}

	module, err := output(ctx, "go", "list", "-m")
	if err != nil {
		return err
	}

	report, failed := output(ctx, "go", append([]string{"test", "-cover"}, packages...)...)
	rows := parse(report, strings.TrimSpace(module))
	// A failed package has no figure, and an update would drop its note.
	if failed != nil {
		fmt.Fprint(out, report)
		return failed
	}

	if len(rows) == 0 {
		return errors.New("no package with statements")
	}

	if document == "" {
		fmt.Fprint(out, table(rows))
		return nil
	}

	text, err := os.ReadFile(document)
	if err != nil {
		return err
	}

	updated, err := update(string(text), rows, time.Now())
	if err != nil {
		return fmt.Errorf("%s: %w", document, err)
	}
	fmt.Fprint(out, table(rows))

	if lacking := withoutNote(rows); len(lacking) > 0 {
		fmt.Fprintf(os.Stderr, "coverage: below %d %% without a note in %s: %s\n", enough, document, strings.Join(lacking, ", "))
	}

	return os.WriteFile(document, []byte(updated), 0o600)
}

func output(ctx context.Context, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stderr = os.Stderr

	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}

	return string(out), err
}

// row is a package with its coverage in percent.
type row struct {
	path    string
	percent float64
	note    string
}

// covered matches what `go test -cover` prints of a package: with tests, from the cache,
// or without tests (then the coverage is 0.0 %).
var covered = regexp.MustCompile(`^(?:ok  )?\t(\S+)\t.*\bcoverage: ([0-9.]+)% of statements`)

// parse reads the report of `go test -cover`. Paths become relative to the module.
func parse(report, module string) []row {
	var rows []row

	// Other lines are reports of failures and packages without statements.
	for lines := bufio.NewScanner(strings.NewReader(report)); lines.Scan(); {
		m := covered.FindStringSubmatch(lines.Text())
		if m == nil {
			continue
		}

		percent, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			continue
		}

		path := "."
		if m[1] != module {
			path = strings.TrimPrefix(m[1], module+"/")
		}
		rows = append(rows, row{path: path, percent: percent})
	}

	slices.SortFunc(rows, func(a, b row) int { return strings.Compare(a.path, b.path) })

	return rows
}

// table writes the rows in Markdown.
func table(rows []row) string {
	var b strings.Builder
	b.WriteString("| package | statements covered | why below 80 % |\n|---|---:|---|\n")

	for _, r := range rows {
		fmt.Fprintf(&b, "| `%s` | %.1f %% | %s |\n", r.path, r.percent, r.note)
	}

	return b.String()
}

const (
	begin = "<!-- coverage -->\n"
	end   = "<!-- end -->"
)

// documented matches a row of the table in the document.
var documented = regexp.MustCompile("(?m)^\\| `([^`]+)` \\| [^|]* \\| (.*?) *\\|$")

// update replaces the table in the text, and completes the rows with the table's notes.
func update(text string, rows []row, at time.Time) (string, error) {
	// The rest of the document is written by hand, and only the part between the lines is replaced.
	before, rest, found := strings.Cut(text, begin)
	old, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		return "", fmt.Errorf("no lines %q and %q", strings.TrimSpace(begin), end)
	}

	notes := map[string]string{}
	for _, m := range documented.FindAllStringSubmatch(old, -1) {
		notes[m[1]] = m[2]
	}

	// A note of a package that is now above the limit is dropped.
	for i, r := range rows {
		if r.percent < enough {
			rows[i].note = notes[r.path]
		}
	}

	return before + begin + "Measured " + at.UTC().Format(time.DateOnly) + ".\n\n" + table(rows) + end + after, nil
}

// withoutNote returns the packages that need a note and have none.
func withoutNote(rows []row) []string {
	var paths []string

	for _, r := range rows {
		if r.percent < enough && r.note == "" {
			paths = append(paths, r.path)
		}
	}

	return paths
}
