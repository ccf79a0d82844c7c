// Package tutorial does what docs/learn/tutorial.md says, and compares what happens with the page.
//
// The page has blocks of the language "console". A line that begins with "$ " is a command; the lines
// up to the next command are its output, standard error included. The rules for output that differs
// from run to run are:
//
//   - "…" stands for any text of a line, and on a line of its own for any lines.
//   - Runs of spaces count as one, and spaces at the ends of a line not at all.
//   - The shell's messages about its jobs are not compared, nor is the progress of a command that is slow.
//   - Ports are free ones: settings give `ratchet dev` its ports, the command gives the receiver its port.
//
// All commands run in one shell, in a copy of the files that Git knows. They find Go and the tools of the
// system, and no C compiler is used. Compiled packages do not depend on the place of the copy, so the
// build's cache has them for the next run. With -v the test prints how long each part took, and with
// -args -cold it begins with an empty cache, as a newcomer does.
package tutorial

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"ratchet/tests/program"
)

const (
	root = "../.."
	page = "docs/learn/tutorial.md"
)

// allowed matches the commands that the page may use: Go, the shell's own, and the built programs.
var allowed = regexp.MustCompile(`^(\w+=(\$\(|\S* ?))*(go|cd|cat|echo|export|kill|wait|bin/ratchet|bin/receiver|\./ticket|$)( |$)`)

// TestTheTutorialDoesWhatItSays runs every command of the page in order.
func TestTheTutorialDoesWhatItSays(t *testing.T) {
	if testing.Short() {
		t.Skip("builds programs")
	}

	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}

	all := commands(string(text))
	if len(all) < 40 {
		t.Fatalf("%d commands found, want at least 40", len(all))
	}

	receiver, admin := program.FreeAddress(t), program.FreeAddress(t)
	s := openShell(t, clone(t), settings(t, admin)...)

	took := times{text: strings.Split(string(text), "\n")}
	defer took.log(t)

	for _, c := range all {
		if !allowed.MatchString(c.line) {
			t.Fatalf("%s:%d: the page may not use this command: %s", page, c.at, c.line)
		}

		line := strings.ReplaceAll(c.line, "127.0.0.1:9000", receiver)
		if strings.HasPrefix(line, "RECEIVER_SECRET=") {
			line = strings.Replace(line, "bin/receiver", "bin/receiver -listen "+receiver, 1)
		}

		begun := time.Now()
		output, err := s.run(line, remaining(t))
		took.add(c, time.Since(begun))

		if err != nil {
			t.Fatalf("%s:%d: %s: %v\n%s", page, c.at, c.line, err, output)
		}

		if !c.pattern().MatchString(plain(output)) {
			t.Fatalf("%s:%d: %s\nprinted\n%s\nthe page says\n%s", page, c.at, c.line, output, strings.Join(c.output, "\n"))
		}
	}
}

// remaining is how long a command may take: until shortly before the test's own time-out, because
// commands of Go compile, which takes long on a busy machine.
func remaining(t *testing.T) time.Duration {
	t.Helper()

	if deadline, ok := t.Deadline(); ok {
		return time.Until(deadline) - 10*time.Second
	}

	return time.Hour
}

// command is one command of the page with its output.
type command struct {
	at     int // line of the page
	line   string
	output []string
}

// commands reads the console blocks of the page.
func commands(text string) []command {
	var all []command
	inside := false

	for i, line := range strings.Split(text, "\n") {
		switch name, isCommand := strings.CutPrefix(line, "$ "); {
		case strings.HasPrefix(line, "```"):
			inside = line == "```console"
		case !inside:
		case isCommand:
			all = append(all, command{at: i + 1, line: name})
		default:
			last := &all[len(all)-1]
			last.output = append(last.output, line)
		}
	}

	return all
}

// pattern matches the output of the command, once it is plain.
func (c command) pattern() *regexp.Regexp {
	var b strings.Builder
	for _, line := range c.output {
		if line == "…" {
			b.WriteString(`(?:.*\n)*`)
			continue
		}

		b.WriteString(strings.ReplaceAll(regexp.QuoteMeta(plain(line)), "…", ".*"))
	}

	return regexp.MustCompile(`\A` + b.String() + `\z`)
}

var (
	spaces = regexp.MustCompile(`[ \t]+`)
	// jobs matches the lines that bash prints when a job was killed.
	jobs = regexp.MustCompile(`^bash: line \d+: +\d+ (Killed|Terminated)`)
	// progress matches the lines that a command prints every two seconds while it runs, as on a busy machine.
	progress = regexp.MustCompile(`^[^=:]* \((\d+m)?\d+s\)$`)
)

// plain returns the lines that the rules compare, each with its end.
func plain(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if jobs.MatchString(line) || progress.MatchString(strings.TrimRight(line, "\n")) {
			continue
		}

		b.WriteString(strings.TrimSpace(spaces.ReplaceAllString(line, " ")) + "\n")
	}

	return b.String()
}

// clone copies the files that Git knows, or would add, into a new directory.
func clone(t *testing.T) string {
	t.Helper()

	list := exec.CommandContext(t.Context(), "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = root

	names, err := list.Output()
	if err != nil {
		t.Fatal(fmt.Errorf("git ls-files: %w", err))
	}

	dir := filepath.Join(t.TempDir(), "ratchet")

	for name := range strings.SplitSeq(strings.TrimRight(string(names), "\x00"), "\x00") {
		text, err := os.ReadFile(filepath.Join(root, name))
		if os.IsNotExist(err) {
			continue // it was deleted and is not committed
		}

		if err != nil {
			t.Fatal(err)
		}

		to := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}

		if err := os.WriteFile(to, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}

	return dir
}
