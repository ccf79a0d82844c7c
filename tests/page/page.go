// Package page holds the tables of documents against the code that they describe.
package page

import (
	"os"
	"regexp"
	"testing"
)

// HasTable fails the test if the page at path does not have the table between the comments
// "<!-- NAME -->" and "<!-- end of NAME -->". With update it writes the table there instead; rerun is the
// command for an update.
func HasTable(t testing.TB, path, name, table string, update bool, rerun string) {
	t.Helper()

	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}

	place := regexp.MustCompile(`(?s)(<!-- ` + name + ` -->\n).*?(<!-- end of ` + name + ` -->)`)
	want := place.ReplaceAllString(string(text), "${1}\n"+table+"\n${2}")

	switch {
	case !place.Match(text):
		t.Fatalf("%s has no place for the table", path)
	case want == string(text):
	case update:
		if err := os.WriteFile(path, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s is stale: run %s", path, rerun)
	}
}
