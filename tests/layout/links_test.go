package layout

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ratchet/docs"
)

var (
	// link is a link of Markdown that leads to a file, a heading, or both. Links with a scheme are not looked up.
	link = regexp.MustCompile(`\]\(([^)#:\s]*)(?:#([^)\s]*))?\)`)
	// heading is a heading of a document, and anchor an element that a link can name.
	heading = regexp.MustCompile(`(?m)^#{1,6} +(.+?) *$`)
	anchor  = regexp.MustCompile(`<a id="([^"]+)">`)
	// code is text in which nothing is a link.
	code = regexp.MustCompile("`[^`\n]*`")
)

// TestLinksOfDocumentsLeadSomewhere looks up each file and each heading that a document links to.
func TestLinksOfDocumentsLeadSomewhere(t *testing.T) {
	t.Parallel()

	known := map[string]docs.Anchors{}

	for _, name := range files(t, ".md") {
		for _, fault := range deadLinks(t, name, known) {
			t.Errorf("%s links to %s", name, fault)
		}
	}
}

// TestDeadLinksAreFound: what the test above would say.
func TestDeadLinksAreFound(t *testing.T) {
	t.Parallel()

	found := anchors("# A title: `x` & more\n\n## Again\n## Again\n```\n# no heading\n```\n<a id=\"code\"></a>")
	for id, want := range map[string]bool{"a-title-x--more": true, "again": true, "again-1": true, "again-2": false, "no-heading": false, "code": true} {
		if found[id] != want {
			t.Errorf("anchor %s: %t", id, found[id])
		}
	}
}

// TestEveryPageIsListed: docs/README.md leads to each page, and a guide to the pages in the folder of its name.
func TestEveryPageIsListed(t *testing.T) {
	t.Parallel()

	listed := map[string]map[string]bool{}

	for _, name := range files(t, ".md") {
		if !forUsers(name) || strings.HasPrefix(name, filepath.Join("docs", "operate", "runbooks")) {
			continue
		}

		list := filepath.Join("docs", "README.md")
		if folder := filepath.Dir(name); filepath.Dir(folder) == filepath.Join("docs", "guides") {
			list = folder + ".md"
		}

		if listed[list] == nil {
			listed[list] = linked(t, list)
		}

		if !listed[list][name] {
			t.Errorf("%s does not list %s", list, name)
		}
	}
}

// linked are the files that the document links to.
func linked(t *testing.T, name string) map[string]bool {
	t.Helper()

	found := map[string]bool{}
	for _, m := range link.FindAllStringSubmatch(read(t, name), -1) {
		found[filepath.Join(filepath.Dir(name), m[1])] = true
	}

	return found
}

// deadLinks returns the links of a document that lead nowhere. known caches the anchors of files.
func deadLinks(t *testing.T, name string, known map[string]docs.Anchors) (faults []string) {
	t.Helper()

	for _, m := range link.FindAllStringSubmatch(blank(blank(read(t, name), fenced), code), -1) {
		target, id := name, m[2]
		if m[1] != "" {
			target = filepath.Join(filepath.Dir(name), m[1])
		}

		if _, err := os.Stat(filepath.Join(root, target)); err != nil {
			faults = append(faults, target+", which does not exist")
			continue
		}

		if id == "" || !strings.HasSuffix(target, ".md") {
			continue
		}

		if known[target] == nil {
			known[target] = anchors(read(t, target))
		}

		if !known[target][id] {
			faults = append(faults, target+"#"+id+", which has no such heading")
		}
	}

	return faults
}

// anchors returns the names by which links reach the places of a document.
func anchors(text string) docs.Anchors {
	found := docs.Anchors{}
	for _, m := range anchor.FindAllStringSubmatch(text, -1) {
		found[m[1]] = true
	}

	for _, m := range heading.FindAllStringSubmatch(blank(text, fenced), -1) {
		found.Next(m[1])
	}

	return found
}
