package server_test

import (
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ratchet/console"
	"ratchet/docs"
)

var (
	documentLink = regexp.MustCompile(`(?:href|src)="(` + console.Path + `/docs/[^"?]*|#[^"]*)"`)
	placeInPage  = regexp.MustCompile(` id="([^"]+)"`)
)

// TestTheConsoleServesTheDocuments follows all links from the list of documents. Each leads to a document or a picture,
// and to a place that it has, and each document can be reached.
func TestTheConsoleServesTheDocuments(t *testing.T) {
	server, _ := consoleServer(t, true)

	get := func(at string) string {
		t.Helper()

		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server+at, nil)
		if err != nil {
			t.Fatal(err)
		}

		status, body := fetch(t, http.DefaultClient, r)
		if status != http.StatusOK {
			t.Errorf("%s: %d", at, status)
		}

		return body
	}

	pages := map[string]string{}
	for todo := []string{console.Path + "/docs/"}; len(todo) > 0; {
		at := todo[0]
		todo = todo[1:]

		if _, known := pages[at]; known {
			continue
		}
		pages[at] = get(at)

		if strings.Contains(pages[at], " style=") {
			t.Errorf("%s has what its policy refuses", at)
		}

		for _, to := range linksOf(t, at, pages[at]) {
			todo = append(todo, to.Path)
		}
	}

	for at, body := range pages {
		for _, to := range linksOf(t, at, body) {
			if to.Fragment != "" && !slices.ContainsFunc(placeInPage.FindAllStringSubmatch(pages[to.Path], -1), func(m []string) bool { return m[1] == to.Fragment }) {
				t.Errorf("%s links to %s, where no %s is", at, to.Path, to.Fragment)
			}
		}
	}

	_ = fs.WalkDir(docs.Files, ".", func(name string, d fs.DirEntry, err error) error {
		at := console.Path + "/docs/" + strings.TrimSuffix(name, ".md")
		if _, reached := pages[at]; err == nil && !d.IsDir() && path.Ext(name) == ".md" && name != "README.md" && !reached {
			t.Errorf("no link leads to %s", at)
		}

		return err
	}) // only if the function fails, which embedded files do not
}

// linksOf returns the links of a page to documents, with their whole paths.
func linksOf(t *testing.T, at, body string) (all []*url.URL) {
	t.Helper()

	for _, m := range documentLink.FindAllStringSubmatch(body, -1) {
		to, err := url.Parse(m[1])
		if err != nil {
			t.Fatal(err)
		}

		if to.Path == "" {
			if to.Fragment == "content" { // the link that skips the navigation
				continue
			}
			to.Path = at
		}
		all = append(all, to)
	}

	return all
}

// TestTheSearchFindsSections by all of their words, the page about a subject first, and shows what a person types as text.
func TestTheSearchFindsSections(t *testing.T) {
	server, _ := consoleServer(t, true)

	for words, want := range map[string][]string{
		"dead letters redrive":        {`href="` + console.Path + `/docs/guides/stream-repair#dead-letters"`, "<mark>"},
		"RETURN window":               {`/docs/guides/`, "<mark>"},
		"signature webhook":           {`/docs/guides/receive-webhooks#`},
		"no-such-word":                {"No section has all of these words."},
		`"><script>alert(1)</script>`: {"No section has all of these words.", "&lt;script&gt;"},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server+console.Path+"/docs/?q="+url.QueryEscape(words), nil)
		if err != nil {
			t.Fatal(err)
		}

		status, body := fetch(t, http.DefaultClient, r)
		for _, w := range want {
			if status != http.StatusOK || !strings.Contains(body, w) {
				t.Errorf("%q: %d, without %q:\n%.3000s", words, status, w, body)
			}
		}

		if strings.Contains(body, "<script>alert") {
			t.Errorf("%q is code on the page", words)
		}
	}
}

// TestADocumentThatDoesNotExist is a page that says so.
func TestADocumentThatDoesNotExist(t *testing.T) {
	server, _ := consoleServer(t, true)

	for _, at := range []string{"/docs/guides/none", "/docs/pictures/none.svg", "/docs/../docs/docs.go"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server+console.Path+at, nil)
		if err != nil {
			t.Fatal(err)
		}

		if status, _ := fetch(t, http.DefaultClient, r); status != http.StatusNotFound {
			t.Errorf("%s: %d", at, status)
		}
	}
}
