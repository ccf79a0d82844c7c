package system

import (
	"fmt"
	"strings"
	"testing"

	"ratchet/operate/telemetry"
	"ratchet/tests/page"
)

// TestThePageListsEverySpan: -update writes the table.
func TestThePageListsEverySpan(t *testing.T) {
	var table strings.Builder
	table.WriteString("| span | kind | attributes | meaning |\n|---|---|---|---|\n")

	for _, s := range telemetry.Spans() {
		fmt.Fprintf(&table, "| `%s` | %s | %s | %s |\n", s.Name, s.Kind, strings.Join(s.Attributes, ", "), s.Meaning)
	}

	page.HasTable(t, "../../docs/reference/spans.md", "spans", table.String(), *update, "go test ./tests/system -run ThePage -update")
}
