package layout

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ratchet/once"
	"ratchet/workflow"
	"ratchet/workflow/diagram"
)

// TestThePictureOfAnOrderIsTheDefinition: docs/learn/concepts.md shows it.
func TestThePictureOfAnOrderIsTheDefinition(t *testing.T) {
	t.Parallel()

	want, err := diagram.Render(workflow.Order(), "svg", nil)
	if err != nil {
		t.Fatal(err)
	}

	if read(t, "docs/pictures/order.svg") != want {
		t.Error("docs/pictures/order.svg is stale: ratchet workflow show order --format svg > docs/pictures/order.svg")
	}
}

// TestThePictureOfAClaimHasEveryStatus reads the diagrams of a claim's life.
func TestThePictureOfAClaimHasEveryStatus(t *testing.T) {
	t.Parallel()

	for _, page := range []string{"docs/learn/concepts.md", "docs/guides/patterns/claims.md"} {
		_, picture, _ := strings.Cut(read(t, page), "stateDiagram-v2")
		picture, _, _ = strings.Cut(picture, "```")

		for _, status := range []once.Status{
			once.StatusInProgress, once.StatusCompleted, once.StatusFailed, once.StatusUnknown, once.StatusReleased,
		} {
			if !regexp.MustCompile(`--> ` + string(status) + `\b`).MatchString(picture) {
				t.Errorf("%s: the picture lacks %s", page, status)
			}
		}
	}
}

// TestPagesShowCodeThatRuns looks up each block of Go, Python and TypeScript of docs/guides in the file that its
// first line names. A line "// …" stands for lines that are left out; indentation does not count.
func TestPagesShowCodeThatRuns(t *testing.T) {
	t.Parallel()

	blocks := 0

	for _, page := range files(t, ".md") {
		if !strings.HasPrefix(page, filepath.Join("docs", "guides")+string(filepath.Separator)) {
			continue
		}

		for _, block := range codeBlocks(read(t, page)) {
			blocks++

			first, code, _ := strings.Cut(block, "\n")
			name, named := strings.CutPrefix(strings.Replace(first, "# ", "// ", 1), "// ")

			text, err := os.ReadFile(filepath.Join(root, name))
			if !named || err != nil {
				t.Errorf("%s: a block must begin with the name of its file: %q, %v", page, first, err)
				continue
			}

			rest := plainLines(string(text))

			for part := range strings.SplitSeq(plainLines(code), "\n// …\n") {
				_, after, found := strings.Cut(rest, strings.TrimSuffix(part, "\n")+"\n")
				if !found {
					t.Errorf("%s: %s does not have, or not in this order:\n%s", page, name, part)
					break
				}
				rest = after
			}
		}
	}

	if blocks < 40 {
		t.Errorf("%d blocks found, want at least 40", blocks)
	}
}

// codeBlocks returns the text of the blocks of code, which may be indented.
func codeBlocks(text string) []string {
	var (
		all    []string
		inside bool
	)

	for line := range strings.Lines(text) {
		switch trimmed := strings.TrimSpace(line); {
		case trimmed == "```go", trimmed == "```python", trimmed == "```ts":
			inside = true
			all = append(all, "")
		case strings.HasPrefix(trimmed, "```"):
			inside = false
		case inside:
			all[len(all)-1] += trimmed + "\n"
		}
	}

	return all
}

// plainLines returns the text without indentation and without empty lines.
func plainLines(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			b.WriteString(line + "\n")
		}
	}

	return b.String()
}
