package layout

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const (
	// guideWords is the most words of a guide, as `wc -w` counts them: with code, tables and links.
	guideWords = 600
	// proseWords is the most words outside docs/reference and docs/internals, without blocks of code and without the tables that
	// tests write.
	proseWords = 45_000
)

// prose matches what counts as a word of prose: it has a letter or a digit, as the bars of tables have not.
var prose = regexp.MustCompile(`\S*[\pL\d]\S*`)

// written matches a table that a test writes and compares.
var written = regexp.MustCompile(`(?s)<!-- computed: \w+ -->.*?<!-- end -->`)

// TestAGuideHasOneGoal: it begins with its goal, is short, and says what can go wrong.
func TestAGuideHasOneGoal(t *testing.T) {
	t.Parallel()

	guides := 0

	for _, name := range files(t, ".md") {
		if !strings.HasPrefix(name, filepath.Join("docs", "guides")+string(filepath.Separator)) {
			continue
		}
		guides++

		text := read(t, name)

		if n := len(strings.Fields(text)); n >= guideWords {
			t.Errorf("%s has %d words, want less than %d: split it by goals", name, n, guideWords)
		}

		if !strings.Contains(text, "\n**Goal**: ") {
			t.Errorf("%s does not begin with its goal", name)
		}

		if !strings.Contains(text, "\n## What can go wrong\n") {
			t.Errorf("%s does not say what can go wrong", name)
		}

		if len(fenced.FindAllString(text, -1)) == 0 && !strings.Contains(text, "\n    ") {
			t.Errorf("%s shows no code", name)
		}
	}

	if guides < 80 {
		t.Errorf("%d guides found, want at least 80", guides)
	}
}

// TestTheDocumentsAreReadInAnEvening counts the prose for users: README.md, docs/README.md, docs/learn, docs/guides and
// docs/operate.
func TestTheDocumentsAreReadInAnEvening(t *testing.T) {
	t.Parallel()

	folders, all := map[string]int{}, 0

	for _, name := range files(t, ".md") {
		if !forUsers(name) && name != "README.md" && name != filepath.Join("docs", "README.md") {
			continue
		}

		n := len(prose.FindAllString(blank(blank(read(t, name), fenced), written), -1))
		all += n
		folders[filepath.Dir(name)] += n
	}

	t.Log(folders, all)

	if all > proseWords {
		t.Errorf("%d words of prose, want at most %d", all, proseWords)
	}
}
