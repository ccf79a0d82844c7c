package cli

import (
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/server"
)

var (
	// documentCommand matches a line of a block of code that runs ratchet.
	documentCommand = regexp.MustCompile(`^(?: {3,4}|\$ )*(?:bin/)?ratchet ([a-z].*)$`)
	// statedStatus is the exit status beside a command that does not end with 0.
	statedStatus = regexp.MustCompile(`# exit status (\d)`)
	// ownFile is a file of the reader's.
	ownFile = regexp.MustCompile(`\.(?:yaml|json|csv|jsonl|backup)$`)
)

// runElsewhere are pages whose commands other tests run, with their output.
var runElsewhere = []string{"learn/tutorial.md", "guides/adopt.md", "guides/import.md", "guides/adopt-workers.md"}

// onlyParsed are commands whose arguments alone are checked, with the reason.
var onlyParsed = map[string]string{
	"dev": "runs until it is stopped", "worker": "runs until it is stopped", "serve": "runs until it is stopped",
	"listen": "runs until it is stopped", "orders watch": "runs until the order has ended", "claims run": "runs another program",
	"demo": "takes a minute; CI runs it", "health": "asks a process", "status": "watches processes; TestEveryPrintedCommandRuns runs it",
	"streams status": "watches a worker", "streams lag": "watches a worker", "jobs start --here": "runs a worker",
	"restored": "needs tables that were restored", "backup": "testdata/script/backup.txt runs it", "restore": "the same", "compact": "the same",
	"deploy plan": "needs what is deployed", "workflow new": "workflow_new_test.go runs it", "keys": "the tests of keys run it",
}

// placeholders are the words for which a reader puts something of their own.
var placeholders = strings.NewReplacer(
	"ORDER/INCARNATION/TRANSITION/ENDPOINT", "o-1/06h1hnv0clhti/3/shop", "ORDER", "o-1", "HANDLER", "notify", "LETTER", "letter-1",
	"JOB", "20261128T151834.123-ABCDEFGHIJ", "PAYMENT", "o-1", "STEP", "r-1", "REPORT", "ci0x", "NAME", "ci0x", "TEXT", "asked", "STATE", "SHIPPED",
	"KEY", "mail",
)

// TestCommandsOfDocumentsRun runs the commands in blocks of code of docs/learn, docs/guides and docs/operate on data of its
// own: none is wrong (exit status 2), and one with a comment ends as the comment says. What data the reader has, and so
// whether a thing is found, is not compared.
func TestCommandsOfDocumentsRun(t *testing.T) {
	pages := os.DirFS("../../docs")
	dir := t.TempDir()
	t.Setenv("RATCHET_DATA", filepath.Join(dir, "data"))
	t.Setenv("RATCHET_SMTP_URL", "smtp://127.0.0.1:25")
	t.Setenv("RATCHET_SMTP_FROM", "shop@example.org")

	all := documentCommands(t, pages)
	t.Chdir(dir)

	for _, line := range []string{"init --quiet", "inventory set mug 10", "orders create o-1 --item mug:1:1250 --no-execution", "endpoints create shop log"} {
		if err := runDocumented(t, strings.Fields(line)); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
	}

	run := 0

	for _, c := range all {
		args := exampleArguments(t, "ratchet "+placeholders.Replace(c.line))

		if reason := parsedOnly(args); reason != "" {
			parseDocumented(t, c, args)
			continue
		}

		run++

		status := 0
		if err := runDocumented(t, args); err != nil {
			if status = exit.Report(err); status == exit.Usage {
				t.Errorf("docs/%s: `ratchet %s`: %v", c.page, c.line, err)
			}
		}

		if stated := statedStatus.FindStringSubmatch(c.line); stated != nil && stated[1] != string(rune('0'+status)) {
			t.Errorf("docs/%s: `ratchet %s` has exit status %d", c.page, c.line, status)
		}
	}

	t.Logf("%d commands, %d of them run", len(all), run)

	if run < 80 {
		t.Errorf("%d commands run, want at least 80", run)
	}
}

type documented struct{ page, line string }

// documentCommands reads the blocks of code: those in fences, and lines that are indented.
func documentCommands(t *testing.T, pages fs.FS) (all []documented) {
	t.Helper()

	err := fs.WalkDir(pages, ".", func(name string, d fs.DirEntry, err error) error {
		folder, _, _ := strings.Cut(name, "/")
		if err != nil || d.IsDir() || filepath.Ext(name) != ".md" || !slices.Contains([]string{"learn", "guides", "operate"}, folder) ||
			slices.Contains(runElsewhere, name) {
			return err
		}

		text, err := fs.ReadFile(pages, name)
		if err != nil {
			return err
		}

		inside := false

		for line := range strings.Lines(strings.ReplaceAll(string(text), "\\\n", " ")) {
			line = strings.TrimRight(line, "\n")
			if strings.HasPrefix(strings.TrimSpace(line), "```") {
				inside = !inside
				continue
			}

			m := documentCommand.FindStringSubmatch(line)
			if m != nil && (inside || strings.HasPrefix(line, "    ")) {
				all = append(all, documented{page: name, line: m[1]})
			}
		}

		return nil
	})
	if err != nil {
		t.Fatal(err)
	}

	return all
}

// parsedOnly returns why a command is not run, or "".
func parsedOnly(args []string) string {
	line := strings.Join(args, " ")
	for prefix, reason := range onlyParsed {
		if line == prefix || strings.HasPrefix(line, prefix+" ") {
			return reason
		}
	}

	for _, a := range args {
		_, value, _ := strings.Cut(a, "=")

		switch {
		case ownFile.MatchString(a), ownFile.MatchString(value), a == "-", strings.HasPrefix(a, "--data"), strings.HasPrefix(a, "--prefix"):
			return "needs a file or tables of the reader's"
		case a == "--queue", a == "--write", a == "--watch", strings.HasPrefix(a, "--endpoint-url"), a == "--pin", strings.HasPrefix(a, "--order-definition"):
			return "needs a queue, a person or a process"
		}
	}

	return ""
}

func parseDocumented(t *testing.T, c documented, args []string) {
	t.Helper()

	found, rest, err := newRoot(server.Parts{}).Find(args)
	if err == nil {
		err = found.ParseFlags(rest)
	}

	if err == nil {
		err = found.ValidateArgs(found.Flags().Args())
	}

	if err != nil {
		t.Errorf("docs/%s: `ratchet %s`: %s: %v", c.page, c.line, settings.CommandName(found), err)
	}
}

func runDocumented(t *testing.T, args []string) error {
	t.Helper()

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()

	root := newRoot(server.Parts{})
	root.SetArgs(args)
	root.SetIn(strings.NewReader(""))
	root.SetOut(io.Discard)
	root.SetErr(io.Discard)

	return root.ExecuteContext(ctx)
}
