package system

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ratchet/api"
)

const errorsPage = "../../docs/reference/errors.md"

const errorsIntro = `# Error codes

Every error of the HTTP API has a ` + "`code`" + ` that programs compare and that is never renamed. Its ` + "`type`" + `
is a link to this list on the server that has answered: ` + "`GET /errors`" + `, without a credential. The
command line prints the same hint, with the code, below an error that has one, on standard error. [errors.md](../guides/api/errors.md)
describes the other members, [cli.md](cli.md) the exit statuses. This page is written from the code
(` + "`make errors`" + `).

What you can do about a **503** without reading further: send the same request again, after the time in
Retry-After. A request that was applied is answered as before.

| code | status | what to do |
|---|---|---|
`

// TestErrorsPage compares docs/reference/errors.md with the code.
func TestErrorsPage(t *testing.T) {
	var page strings.Builder
	page.WriteString(errorsIntro)

	anchored := map[string]bool{}
	for _, c := range api.ErrorCodes() {
		anchor := ""
		if !anchored[c.Code] {
			anchor = fmt.Sprintf(`<a id="%s"></a>`, c.Code)
		}
		anchored[c.Code] = true
		fmt.Fprintf(&page, "| %s`%s` | %d | %s |\n", anchor, c.Code, c.Status, c.Hint)
	}

	if *update {
		if err := os.WriteFile(errorsPage, []byte(page.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	if text, err := os.ReadFile(errorsPage); err != nil || string(text) != page.String() {
		t.Errorf("docs/reference/errors.md is not as the code says: run `make errors` (%v)", err)
	}
}

// statusAndCode finds the problems in the source whose status is a constant.
var statusAndCode = regexp.MustCompile(`http\.Status(\w+)(?:, |: +)"([a-z_]+)"`)

// TestEveryProblemHasItsHint looks for the status and the code of each problem in the list, and for
// each of the list in the source.
func TestEveryProblemHasItsHint(t *testing.T) {
	statuses := map[string]int{}
	for status := 400; status < 600; status++ {
		statuses[strings.ReplaceAll(http.StatusText(status), " ", "")] = status
	}

	listed := map[string]bool{}
	for _, c := range api.ErrorCodes() {
		name := fmt.Sprint(c.Status, " ", c.Code)
		if listed[name] || c.Hint == "" {
			t.Errorf("%s is twice in the list, or has no hint", name)
		}
		listed[name] = true
	}

	files, err := filepath.Glob("../../api/*.go")
	if err != nil {
		t.Fatal(err)
	}

	all, found := "", 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") || filepath.Base(name) == "error_codes.go" {
			continue
		}

		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all += string(source)

		for _, m := range statusAndCode.FindAllStringSubmatch(string(source), -1) {
			if problem := fmt.Sprint(statuses[m[1]], " ", m[2]); !listed[problem] {
				t.Errorf("%s: the list of error codes lacks %s", name, problem)
			}
			found++
		}
	}

	if found < 50 {
		t.Fatalf("only %d problems found", found)
	}

	outcomes, err := os.ReadFile("../../once/actions/outcome.go") // whose texts are codes
	if err != nil {
		t.Fatal(err)
	}
	all += string(outcomes)

	for _, c := range api.ErrorCodes() {
		what := strings.TrimSuffix(c.Code, "_not_found")
		if !strings.Contains(all, `"`+c.Code+`"`) && !strings.Contains(all, `notFound("`+what+`")`) {
			t.Errorf("no source has the code %s", c.Code)
		}
	}
}

var (
	problemCode = regexp.MustCompile(`(?:newProblem\([^,\n]+, |http\.Status\w+, |http\.Status\w+: +)"([a-z_]+)"`)
	missingKind = regexp.MustCompile(`notFound\("([a-z_]+)"\)`)
)

// TestTheListHasEveryCode reads the error codes from the source of package api, also those whose status is a variable.
func TestTheListHasEveryCode(t *testing.T) {
	text, err := os.ReadFile(errorsPage)
	if err != nil {
		t.Fatal(err)
	}

	files, err := filepath.Glob("../../api/*.go")
	if err != nil {
		t.Fatal(err)
	}

	var codes []string
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}

		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}

		for _, m := range problemCode.FindAllStringSubmatch(string(source), -1) {
			codes = append(codes, m[1])
		}

		for _, m := range missingKind.FindAllStringSubmatch(string(source), -1) {
			codes = append(codes, m[1]+"_not_found")
		}
	}
	slices.Sort(codes)

	codes = slices.Compact(codes)
	if len(codes) < 50 {
		t.Fatalf("only %d codes found", len(codes))
	}

	for _, code := range codes {
		if code != "true" && !strings.Contains(string(text), "`"+code+"`") {
			t.Errorf("docs/reference/errors.md does not name %s", code)
		}
	}
}
