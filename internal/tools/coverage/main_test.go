package main

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// report is the output of `go test -cover`, with every kind of line.
const report = "ok  \tratchet\t0.01s\tcoverage: 100.0% of statements\n" +
	"ok  \tratchet/workflow\t(cached)\tcoverage: 91.5% of statements\n" +
	"\tratchet/cmd/tool\t\tcoverage: 0.0% of statements\n" +
	"ok  \tratchet/tests/layout\t1.20s\tcoverage: [no statements]\n" +
	"?   \tratchet/examples\t[no test files]\n" +
	"ok  \tratchet/api\t3.40s\tcoverage: 79.9% of statements [no tests to run]\n"

func TestParseReadsEveryPackageWithStatements(t *testing.T) {
	t.Parallel()

	want := []row{
		{path: ".", percent: 100},
		{path: "api", percent: 79.9},
		{path: "cmd/tool", percent: 0},
		{path: "workflow", percent: 91.5},
	}
	if got := parse(report, "ratchet"); !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestUpdateKeepsNotesOfPackagesBelowTheGoal(t *testing.T) {
	t.Parallel()

	old := "# Tests\n\n" + begin + "| package | statements covered | why below 80 % |\n|---|---:|---|\n" +
		"| `cmd/tool` | 1.0 % | it only starts a server |\n" +
		"| `workflow` | 70.0 % | not needed any more |\n" + end + "\n\nMore.\n"
	rows := parse(report, "ratchet")

	got, err := update(old, rows, time.Date(2026, 11, 22, 23, 0, 0, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}

	want := "# Tests\n\n" + begin + "Measured 2026-11-22.\n\n" +
		"| package | statements covered | why below 80 % |\n|---|---:|---|\n" +
		"| `.` | 100.0 % |  |\n" +
		"| `api` | 79.9 % |  |\n" +
		"| `cmd/tool` | 0.0 % | it only starts a server |\n" +
		"| `workflow` | 91.5 % |  |\n" + end + "\n\nMore.\n"
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}

	if lacking := withoutNote(rows); !slices.Equal(lacking, []string{"api"}) {
		t.Errorf("packages that need a note: %v", lacking)
	}

	again, err := update(got, parse(report, "ratchet"), time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC))
	if err != nil || again != want {
		t.Errorf("a second update changes the document: %v\n%s", err, again)
	}
}

func TestUpdateNeedsBothMarkers(t *testing.T) {
	t.Parallel()

	for _, text := range []string{"", begin, end, "<!-- coverage --> in a line\n" + end} {
		if _, err := update(text, nil, time.Now()); err == nil || !strings.Contains(err.Error(), "no lines") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestRunWritesTheDocument(t *testing.T) {
	document := filepath.Join(t.TempDir(), "testing.md")
	if err := os.WriteFile(document, []byte(begin+end+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	var out strings.Builder
	if err := run(t.Context(), document, []string{"../../../once/keys"}, &out); err != nil {
		t.Fatal(err)
	}

	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}

	var printed strings.Builder
	if err := run(t.Context(), "", []string{"../../../once/keys"}, &printed); err != nil {
		t.Fatal(err)
	}

	for _, where := range []string{string(text), out.String(), printed.String()} {
		if !strings.Contains(where, "| `once/keys` | ") {
			t.Errorf("the package is missing:\n%s", where)
		}
	}
}

func TestRunReportsWhatItCannotMeasure(t *testing.T) {
	t.Parallel()

	if err := run(t.Context(), "", []string{"./absent"}, io.Discard); err == nil {
		t.Error("no error for a package that does not exist")
	}

	if err := run(t.Context(), filepath.Join(t.TempDir(), "absent.md"), []string{"../../../once/keys"}, io.Discard); !os.IsNotExist(err) {
		t.Errorf("document that does not exist: %v", err)
	}
}
