package layout

import (
	"regexp"
	"strings"
	"testing"
)

var (
	// message is the first cell of a row of troubleshooting.md.
	message = regexp.MustCompile("(?m)^\\| `([^`]+)` \\|")
	// figure is a number with a fraction or a thousand, or a version.
	figure = regexp.MustCompile(`\b\d+(?:[.,]\d+)+\b`)
)

// TestTroubleshootingQuotesTheProgram: the messages of the page stand in the source, piece by piece.
func TestTroubleshootingQuotesTheProgram(t *testing.T) {
	t.Parallel()

	var all strings.Builder
	for _, name := range files(t, ".go") {
		if !strings.HasSuffix(name, "_test.go") {
			all.WriteString(read(t, name))
		}
	}
	source := all.String()

	rows := message.FindAllStringSubmatch(read(t, "docs/operate/troubleshooting.md"), -1)
	if len(rows) < 25 {
		t.Errorf("%d messages", len(rows))
	}

	for _, row := range rows {
		for piece := range strings.SplitSeq(row[1], "…") {
			if piece = strings.TrimSpace(piece); !strings.Contains(source, piece) {
				t.Errorf("no message contains %q", piece)
			}
		}
	}
}

// TestTheFiguresOfWhyAreMeasured: why.md repeats figures of the benchmarks, and has none of its own.
func TestTheFiguresOfWhyAreMeasured(t *testing.T) {
	t.Parallel()

	measured := read(t, "docs/internals/benchmarks.md")

	figures := figure.FindAllString(read(t, "docs/learn/why.md"), -1)
	if len(figures) < 6 {
		t.Errorf("%d figures", len(figures))
	}

	for _, f := range figures {
		if !strings.Contains(measured, f) {
			t.Errorf("why.md has the figure %s, which docs/internals/benchmarks.md lacks", f)
		}
	}
}
