package layout

import (
	"go/ast"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	// bannedWords are archaic or vague. Rewrite the whole sentence, with a subject and in
	// modern English; another word in the same place rarely helps.
	bannedWords = regexp.MustCompile(`(?i)\b(nobody|whoever|somebody|for\s+ever|afresh|anew|(?:is|be)\s+had|is\s+told|may\s+no\s+more|thereby|hereof)\b`)

	// britishWords are spelled the American way here. "Cancellation" has two l in both.
	britishWords = regexp.MustCompile(`(?i)\b(cancell(?:ed|ing|er|ers|able)|recognis\w*|hono[u]r\w*|behavio[u]r\w*|initialis\w*)\b`)

	// quoted matches quotations in a text: code, wire texts, stored values.
	quoted = regexp.MustCompile("`[^`]*`|\"[^\"\n]*\"")

	// fenced is a code block of a document.
	fenced = regexp.MustCompile("(?ms)^ *```.*?^ *```")
)

// allowedLines may contain a word that is banned elsewhere. An entry is the file and the
// line without the spaces around it.
var allowedLines = []struct{ file, line string }{}

// TestCommentsAndDocumentsAreInPlainEnglish reads the comments of Go files and the
// documents, without their quotations.
func TestCommentsAndDocumentsAreInPlainEnglish(t *testing.T) {
	t.Parallel()

	used := make([]bool, len(allowedLines))
	check := func(name, text, prose string, identifiers map[string]bool) {
		for _, words := range []*regexp.Regexp{bannedWords, britishWords} {
			for _, at := range words.FindAllStringIndex(prose, -1) {
				word := prose[at[0]:at[1]]
				// A stored value such as CANCELLED, or the name of something exported.
				if word == strings.ToUpper(word) || identifiers[word] && ast.IsExported(word) {
					continue
				}

				line := strings.Count(text[:at[0]], "\n")
				content := strings.TrimSpace(strings.Split(text, "\n")[line])

				allowed := slices.IndexFunc(allowedLines, func(a struct{ file, line string }) bool { return a.file == name && a.line == content })
				if allowed >= 0 {
					used[allowed] = true
					continue
				}

				t.Errorf("%s:%d: %q in: %s", name, line+1, word, content)
			}
		}
	}

	for _, s := range sources(t) {
		prose, identifiers := comments(s)
		check(s.name, s.text, prose, identifiers)
	}

	for _, name := range files(t, ".md") {
		text := read(t, name)
		check(name, text, blank(blank(text, fenced), quoted), nil)
	}

	for i, a := range allowedLines {
		if !used[i] {
			t.Errorf("allowedLines: %s does not need %q any more", a.file, a.line)
		}
	}
}

// comments returns the file's comments at their places, everything else being spaces, and
// the identifiers of the file.
func comments(s source) (prose string, identifiers map[string]bool) {
	identifiers = map[string]bool{}
	ast.Inspect(s.file, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			identifiers[id.Name] = true
		}

		return true
	})

	out := []byte(spaces(s.text))
	for _, group := range s.file.Comments {
		for _, c := range group.List {
			// The marks become spaces, so that a phrase may go on in the next line.
			copy(out[parsed.Position(c.Pos()).Offset+2:], c.Text[2:])
		}
	}

	return blank(string(out), quoted), identifiers
}

// blank replaces each match of the pattern by spaces, but for the ends of lines.
func blank(text string, pattern *regexp.Regexp) string {
	return pattern.ReplaceAllStringFunc(text, spaces)
}

// spaces returns as many spaces as the text has bytes, with its ends of lines.
func spaces(text string) string {
	out := []byte(text)
	for i, c := range out {
		if c != '\n' {
			out[i] = ' '
		}
	}

	return string(out)
}
