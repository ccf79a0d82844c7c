package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"ratchet/tests/program"
)

// pages are those of docs/guides whose steps follow each other.
var pages = []string{"adopt.md", "import.md", "adopt-workers.md"}

// command is one command of the page with its output.
type command struct {
	line   string
	output []string
}

// commandsOf reads the console blocks of the pages, whose steps are indented.
func commandsOf(t *testing.T) (all []command) {
	t.Helper()

	for _, page := range pages {
		all = append(all, commandsOn(t, page)...)
	}

	return all
}

func commandsOn(t *testing.T, page string) (all []command) {
	t.Helper()

	text, err := os.ReadFile("../../docs/guides/" + page)
	if err != nil {
		t.Fatal(err)
	}
	inside := false

	for line := range strings.Lines(string(text)) {
		line = strings.TrimPrefix(strings.TrimRight(line, "\n"), "   ")

		switch name, isCommand := strings.CutPrefix(line, "$ "); {
		case strings.HasPrefix(line, "```"):
			inside = line == "```console"
		case !inside:
		case isCommand:
			all = append(all, command{line: name})
		default:
			last := &all[len(all)-1]
			last.output = append(last.output, line)
		}
	}

	return all
}

// pattern matches the output: "…" stands for any text of a line, and on a line of its own for any lines. Runs of spaces
// count as one.
func (c command) pattern() *regexp.Regexp {
	var b strings.Builder
	for _, line := range c.output {
		if line == "…" {
			b.WriteString(`(?:.*\n)*`)
			continue
		}
		b.WriteString(strings.ReplaceAll(regexp.QuoteMeta(plain(line)), "…", ".*") + `\n`)
	}

	return regexp.MustCompile(`\A` + b.String() + `\z`)
}

var spaces = regexp.MustCompile(`[ \t]+`)

func plain(line string) string { return strings.TrimSpace(spaces.ReplaceAllString(line, " ")) }

// reads reports whether the command only reads: what it shows may follow a moment later.
func (c command) reads() bool {
	for _, begin := range []string{"ratchet verify", "ratchet doctor", "ratchet orders explain", "ratchet executions get"} {
		if strings.HasPrefix(c.line, begin) {
			return true
		}
	}

	return false
}

// TestThePagesDoWhatTheySay runs every command of docs/guides/adopt.md and of the pages after it in order, in the directory of the example. Only
// the ports and the directory of the data differ.
func TestThePagesDoWhatTheySay(t *testing.T) {
	for _, name := range []string{"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE", "RATCHET_ENDPOINT_URL", "RATCHET_CONFIG"} {
		t.Setenv(name, "")
	}
	t.Setenv("RATCHET_ADMIN_LISTEN", "127.0.0.1:0")

	dir, engine := t.TempDir(), program.FreeAddress(t)
	bins := map[string]string{"ratchet": program.Self(t, "ratchet"), "go": program.Self(t, "adopt")}
	t.Setenv("AWS_ENDPOINT_URL", "http://"+engine)

	all := commandsOf(t)
	if len(all) < 20 {
		t.Fatalf("%d commands found, want at least 20", len(all))
	}

	for _, c := range all {
		words := strings.Fields(strings.NewReplacer("127.0.0.1:8700", engine, "/tmp/aws", dir+"/aws").Replace(c.line))

		switch {
		case words[0] == "cd": // the test runs there
		case words[0] == "export":
			name, value, _ := strings.Cut(words[1], "=")
			t.Setenv(name, value)
		case words[len(words)-1] == "&":
			args := words[1 : len(words)-1]
			if words[1] == "dev" {
				args = append(args, "--listen", engine, "--api-listen", "127.0.0.1:0", "--json")
			}

			running := program.Process{Bin: bins[words[0]], Args: args, Dir: dir, Name: words[1]}.Start(t)
			if words[1] == "dev" {
				running.Endpoint(t)
			}
		default:
			if words[0] == "go" {
				words = append(words[:1], words[3:]...) // without "run ."
			}
			c.run(t, bins[words[0]], words[1:])
		}
	}
}

func (c command) run(t *testing.T, bin string, args []string) {
	t.Helper()

	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()

	for {
		// Without the test's bound, so that the last output is whole.
		out, err := exec.CommandContext(t.Context(), bin, args...).CombinedOutput()

		var lines []string
		for line := range strings.Lines(string(out)) {
			lines = append(lines, plain(line)+"\n")
		}

		var exit *exec.ExitError
		switch printed := strings.Join(lines, ""); {
		case err != nil && !errors.As(err, &exit):
			t.Fatal(err)
		case c.pattern().MatchString(printed):
			return
		case !c.reads() || ctx.Err() != nil:
			t.Fatalf("%s\nprinted\n%s\nthe page says\n%s", c.line, out, strings.Join(c.output, "\n"))
		}

		select {
		case <-ctx.Done():
		case <-time.After(200 * time.Millisecond):
		}
	}
}
