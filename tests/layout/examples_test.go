package layout

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// withoutExample are public packages that have no Example with an output, with the reason.
var withoutExample = map[string]string{
	"activities/activitiestest": "a test kit: its functions need a test; the package comment shows one",
	"cmd/bench/costs":           "part of a program",
	"console":                   "pages for a browser; server mounts them",
	"console/session":           "logs persons in to pages that server mounts",
	"cmd/cli":                   "a program's main function; examples/bank and examples/ticket call it",
	"operate/restored":          "goes through the tables of a whole system; docs/operate/runbooks/tables-restored.md shows the command",
	"operate/erasure":           "goes through the tables of a whole system; docs/operate/privacy.md shows the command",
	"cmd/cli/olist":             "an example itself",
	"examples/recurring":        "a template; its test runs it",
	"payments/reconcile":        "compares three lists of a whole system; docs/guides/money.md shows the command",
	"server/ratchettest":        "a test kit: its examples need a test",
	"server/scenario":           "orders for tests, the demo and benchmarks of this module; it makes no promise",
	"shipping/reports":          "judges the reports of a whole system; examples/carrier sends some",
	"shipping/sfncarrier":       "needs a state machine of the warehouse",
	"streams":                   "what handlers hold; the examples of streams/poller show it",
	"streams/calls":             "part of streams/poller",
	"streams/deadletters":       "needs a worker; an example of streams/poller redrives some",
	"streams/holders":           "part of streams/poller",
	"streams/lambda":            "runs the handlers of a poller; an example of streams/poller shows it",
	"streams/lanes":             "part of streams/poller",
	"streams/leases":            "part of streams/poller",
	"streams/lineage":           "part of streams/poller",
	"streams/redelivery":        "part of streams/poller",
	"streams/replay":            "needs workers; docs/guides/streams.md shows the command",
	"streams/retryqueue":        "needs workers; docs/guides/streams.md shows the commands",
	"streams/shards":            "part of streams/poller",
	"streams/status":            "needs workers; docs/guides/streams.md shows the command",
	"streams/store":             "part of streams/poller",
	"streams/reactions":         "reactions of a whole system; the examples of streams and ratchettest show handlers",
}

var (
	example = regexp.MustCompile(`(?m)^func Example\w*\(\)`)
	output  = regexp.MustCompile(`(?m)^\s*// (?:Unordered output|Output):`)
)

// TestEveryPublicPackageHasAnExample: an example that runs, so that its output is compared.
func TestEveryPublicPackageHasAnExample(t *testing.T) {
	t.Parallel()

	runs := map[string]bool{}

	for _, name := range files(t, "_test.go") {
		text := read(t, name)
		if example.MatchString(text) && output.MatchString(text) {
			runs[filepath.ToSlash(filepath.Dir(name))] = true
		}
	}

	for _, p := range packages(t) {
		path := p.Path
		if p.Name == "main" || strings.HasPrefix(path, "tests/") || strings.Contains("/"+path+"/", "/internal/") {
			continue
		}

		_, excused := withoutExample[path]

		switch {
		case runs[path] && excused:
			t.Errorf("%s has an example: it needs no excuse", path)
		case !runs[path] && !excused:
			t.Errorf("%s has no Example function with an output", path)
		}
	}
}
