// Package docs embeds the documents, so that the console serves those of its own version.
//
// # Caveats
//
// Links that lead out of this folder, to sources and examples, lead nowhere in a program.
package docs

import (
	"embed"
	"fmt"
	"regexp"
	"strings"
)

// Files are the documents for users and maintainers, and their pictures.
//
//go:embed README.md learn guides reference operate pictures internals/*.md internals/model/*.md
var Files embed.FS

var (
	// linked is a link in a heading, whose text stands in the heading's anchor.
	linked = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	// dropped are the characters of a heading that its anchor lacks.
	dropped = regexp.MustCompile(`[^\p{L}\p{N}\s_-]`)
)

// Anchors are the names by which links reach the headings of one document, as forges make them.
type Anchors map[string]bool

// Next returns the name of the next heading of the document: in lower case, without punctuation, with hyphens
// for spaces, and with a number from the second of a name on.
func (a Anchors) Next(heading string) string {
	name := strings.ToLower(linked.ReplaceAllString(strings.TrimSpace(heading), "$1"))
	name = strings.ReplaceAll(dropped.ReplaceAllString(name, ""), " ", "-")

	next := name
	for n := 1; a[next]; n++ {
		next = fmt.Sprintf("%s-%d", name, n)
	}
	a[next] = true

	return next
}
