package cli

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ratchet/cmd/cli/internal/settings"
	"ratchet/server"
)

var (
	// documentCommand matches a line of a block of code that runs ratchet.
	documentCommand = regexp.MustCompile(`^(?: {3,4}|\$ )*(?:bin/)?ratchet ([a-z].*)$`)
	// statedStatus is the exit status beside a command that does not end with 0.
	statedStatus = regexp.MustCompile(`# exit status (\d)`)
)

// pagesElsewhere are pages whose commands other tests run, with their output.
var pagesElsewhere = []string{"learn/tutorial.md", "guides/adopt.md", "guides/import.md", "guides/adopt-workers.md"}

// documentsElsewhere are commands of documents whose arguments alone are checked, by their beginning, with the reason.
var documentsElsewhere = map[string]string{
	"doctor --orders-table":           "the reader's own table: the tests of doctor",
	"orders apply o-1 cancel --queue": "needs a queue: orders_queue.txtar",
	"deploy plan":                     "needs what is deployed", "restored": "needs tables that were restored: restored_test.go",
	"reconcile --file processor.csv":      "the processor's own file: the tests of reconcile",
	"workflow migrate --order-definition": "needs two versions: workflow_migrate.txtar",
	"workflow check --order-definition":   "the reader's own workflow: workflow.txtar",
	"workflow show --order-definition":    "the reader's own workflow: workflow.txtar",
	"orders create day-close":             "the reader's own workflow: tests/examples",
	"dev --order-definition":              "the reader's own workflow: own_workflow.txtar",
}

// placeholders are the words for which a reader puts something of their own.
var placeholders = strings.NewReplacer(
	"ORDER/INCARNATION/TRANSITION/ENDPOINT", "o-1/06h1hnv0clhti/3/shop", "ORDER", "o-1", "HANDLER", "notify",
	"JOB", theJob, "PAYMENT", "o-1", "STEP", "r-1", "REPORT", "ci0x", "NAME", "ci0x", "TEXT", "asked", "STATE", "SHIPPED",
	"KEY", "mail", "http://HOST:8702", "http://127.0.0.1:8702",
)

// TestCommandsOfDocumentsRun runs the commands in blocks of code of docs/learn, docs/guides and docs/operate on data of
// their own: each ends with the exit status that stands beside it, or with 0. Those that help gives, too, run in TestExamplesOfHelpRun.
func TestCommandsOfDocumentsRun(t *testing.T) {
	all := documentCommands(t, os.DirFS("../../docs"))
	t.Setenv("RATCHET_SMTP_URL", "smtp://127.0.0.1:25")
	t.Setenv("RATCHET_SMTP_FROM", "shop@example.org")

	f := newFixture(t)
	run, seen, examples := 0, map[string]bool{}, examplesThatRun()

	for _, c := range all {
		line := "ratchet " + placeholders.Replace(c.line)

		command := withoutComment(line)

		// Several pages give the same command.
		if seen[command] {
			continue
		}
		seen[command] = true

		if examples[command] {
			run++
			continue
		}

		if beginning(runElsewhere, line)+beginning(documentsElsewhere, line) != "" || strings.Contains(line, "--prefix") {
			parseDocumented(t, c, exampleArguments(t, line))
			continue
		}

		run++

		f.fresh(t)
		t.Run(c.page, func(t *testing.T) { f.example(t, line) })
	}

	t.Logf("%d commands, %d of them run", len(all), run)

	if run < 90 {
		t.Errorf("%d commands run, want at least 90", run)
	}
}

// withoutComment returns a command line without the remark behind it, except for the exit status.
func withoutComment(line string) string {
	command, _, _ := strings.Cut(line, " # ")

	return strings.Join(strings.Fields(command), " ") + statedStatus.FindString(line)
}

// examplesThatRun returns the examples of help that TestExamplesOfHelpRun runs, on the same data.
func examplesThatRun() map[string]bool {
	run := map[string]bool{}

	for _, c := range commands(newRoot(server.Parts{})) {
		for line := range strings.Lines(c.Example) {
			line = strings.TrimSpace(line)
			if beginning(runElsewhere, line) == "" {
				run[withoutComment(line)] = true
			}
		}
	}

	return run
}

type documented struct{ page, line string }

// documentCommands reads the blocks of code: those in fences, and lines that are indented.
func documentCommands(t *testing.T, pages fs.FS) (all []documented) {
	t.Helper()

	err := fs.WalkDir(pages, ".", func(name string, d fs.DirEntry, err error) error {
		folder, _, _ := strings.Cut(name, "/")
		if err != nil || d.IsDir() || filepath.Ext(name) != ".md" || !slices.Contains([]string{"learn", "guides", "operate"}, folder) ||
			slices.Contains(pagesElsewhere, name) {
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
