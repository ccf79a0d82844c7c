package system

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestTheListOfWorkerPointsNamesTestsThatExist compares docs/internals/worker-points.md with the module:
// the page has a row for each of the 45 points, every test named in it exists, and each point has one
// that is named after it.
func TestTheListOfWorkerPointsNamesTestsThatExist(t *testing.T) {
	page, err := os.ReadFile("../../docs/internals/worker-points.md")
	if err != nil {
		t.Fatal(err)
	}

	all := slices.Collect(maps.Keys(declared(t)))
	exists := func(name string) bool {
		prefix, cut := strings.CutSuffix(name, "…")

		return slices.ContainsFunc(all, func(test string) bool { return test == name || cut && strings.HasPrefix(test, prefix) })
	}

	for n := 1; n <= 45; n++ {
		row := regexp.MustCompile(fmt.Sprintf(`(?m)^\| %d \|.*$`, n)).FindString(string(page))
		own := fmt.Sprintf("TestWorkerPoint%02d_", n)
		named := false

		for _, name := range regexp.MustCompile("`(Test[A-Za-z0-9_]+…?)`").FindAllStringSubmatch(row, -1) {
			if !exists(name[1]) {
				t.Errorf("point %d: there is no test %s", n, name[1])
			}
			named = named || strings.HasPrefix(name[1], own)
		}

		if !named {
			t.Errorf("point %d: its row names no test %s…", n, own)
		}
	}
}
