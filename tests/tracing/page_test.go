package tracing

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"ratchet/operate/telemetry"
	"ratchet/tests/page"
)

var update = flag.Bool("update", false, "write the table of spans into docs/reference/spans.md")

// TestThePageListsEverySpan: -update writes the table.
func TestThePageListsEverySpan(t *testing.T) {
	var table strings.Builder
	table.WriteString("| span | kind | attributes | meaning |\n|---|---|---|---|\n")

	for _, s := range telemetry.Spans() {
		fmt.Fprintf(&table, "| `%s` | %s | %s | %s |\n", s.Name, s.Kind, strings.Join(s.Attributes, ", "), s.Meaning)
	}

	page.HasTable(t, "../../docs/reference/spans.md", "spans", table.String(), *update, "go test ./tests/tracing -run ThePage -update")
}
