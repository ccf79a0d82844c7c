package layout

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// floorsPage has the table of floors: one row a top-level folder, from the roof down.
const floorsPage = "docs/internals/architecture.md"

var floorRow = regexp.MustCompile("(?m)^\\| `([a-z]+)/` \\| [^|]+ \\|$")

// floors returns the top-level folders with Go packages, as docs/internals/architecture.md lists them, from the
// ground up. The root is below all.
func floors(t *testing.T) []string {
	t.Helper()

	found := []string{}
	for _, row := range floorRow.FindAllStringSubmatch(read(t, floorsPage), -1) {
		found = append(found, row[1])
	}

	slices.Reverse(found)

	return append([]string{"."}, found...)
}

// folder returns the top-level folder of a package.
func folder(path string) string {
	top, _, _ := strings.Cut(path, "/")

	return top
}

// kits are packages below tests/ that tests on every floor share: the parts of an order system, the commands
// in the comments of examples, the program as a process, texts that are code. They lie on the roof because they use several
// floors.
var kits = []string{"tests/shop", "tests/examples", "tests/program", "tests/strangers"}

// upward are the imports of test files from a higher floor, with the reason.
var upward = map[[2]string]string{
	{"api", "server/listeners"}:            "floods come through a proxy, as server wires it",
	{"api", "server"}:                      "the routes are tried on the parts as server wires them",
	{"api", "console"}:                     "the acts of the console are tried on the parts that the routes are tried on",
	{"transitions", "operate/inspect"}:     "the journal is compared with what an operator reads of it",
	{"workflow/check", "activities/steps"}: "the state machine of the shop is checked with the error names of its steps",
}

// TestFoldersAreATower: each top-level folder imports only folders on floors below its own, so no two
// form a circle. Packages below tests/ may import anything, and only tests import them.
func TestFoldersAreATower(t *testing.T) {
	order, used := floors(t), map[[2]string]bool{}

	for _, p := range packages(t) {
		here := slices.Index(order, folder(p.Path))
		if here < 0 {
			t.Errorf("%s: the folder has no row in the floors of %s", p.Path, floorsPage)
			continue
		}

		for _, i := range p.Imports {
			if there := slices.Index(order, folder(i)); there > here {
				t.Errorf("%s imports %s, which is on a higher floor", p.Path, i)
			}
		}

		for _, i := range p.TestImports {
			if there := slices.Index(order, folder(i)); there <= here {
				continue
			}

			if slices.Contains(kits, i) {
				continue
			}

			arrow := [2]string{p.Path, i}
			used[arrow] = true

			if upward[arrow] == "" {
				t.Errorf("tests of %s import %s, which is on a higher floor", p.Path, i)
			}
		}
	}

	for arrow := range upward {
		if !used[arrow] {
			t.Errorf("upward: tests of %s import no %s", arrow[0], arrow[1])
		}
	}
}

// alone are packages that import nothing of the module outside of the listed folders: what could serve
// any project, and what must not know its neighbor.
var alone = map[string][]string{
	"embedded":          {"embedded"},
	"workflow":          {"workflow"},
	"streams":           {"streams", "internal"},
	"activities":        {"activities", "internal"},
	"queues":            {"queues", "internal"},
	"once":              {"once", "internal"},
	"notify/webhooks":   {"notify"},
	"streams/reactions": {"streams", "internal", "workflow", "transitions", "once", "notify", "payments", "shipping", "activities"},
	"activities/steps":  {"activities", "internal", "workflow", "transitions", "once", "payments", "shipping"},
}

// TestRuntimesKnowNothingAboutOrders holds the packages of alone and, as a whole, the engine and the rooms of
// streams.
func TestRuntimesKnowNothingAboutOrders(t *testing.T) {
	for _, p := range packages(t) {
		allowed, held := alone[p.Path]
		if folder(p.Path) == "embedded" {
			allowed, held = alone["embedded"], true
		}

		// The rooms of the runtime, as the runtime itself.
		if folder(p.Path) == "streams" && p.Path != "streams/reactions" {
			allowed, held = alone["streams"], true
		}

		if !held {
			continue
		}

		for _, i := range p.Imports {
			if p.Path == "streams/reactions" && i == "activities/steps" {
				t.Errorf("%s imports %s: what both need is below them", p.Path, i)
			}

			if !slices.ContainsFunc(allowed, func(a string) bool { return i == a || strings.HasPrefix(i, a+"/") }) {
				t.Errorf("%s imports %s, allowed are %q", p.Path, i, allowed)
			}
		}
	}
}
