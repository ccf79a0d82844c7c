// Package examples starts each example by the command that its own comment names, as a newcomer does, and
// follows the rest of the comment. The test's own binary is the example. Only ports and directories differ
// from the comment: they are free ones.
package examples

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"ratchet/tests/program"
)

// root is the module as seen by the tests of an example and the tests of this package.
const root = "../.."

// Step is a command of a comment, and a pattern of its final output.
type Step struct{ Command, Prints string }

// Main is the TestMain of an example: its test's binary is also the programs with these names.
func Main(m *testing.M, programs map[string]func()) { program.Main(m, programs) }

// Follow follows the comment of an example that is Ratchet with parts of its own. The steps are the
// commands of the comment, in order. The first one serves until it is interrupted.
func Follow(t *testing.T, name string, steps ...Step) {
	t.Helper()

	var commands []string
	for _, s := range steps {
		commands = append(commands, s.Command)
	}

	if have := Commands(t, name); !slices.Equal(have, commands) {
		t.Fatalf("the comment has the commands\n%s\nwant\n%s", strings.Join(have, "\n"), strings.Join(commands, "\n"))
	}

	e := New(t, name)
	dev := e.Serve(t, name, steps[0].Command)
	e.until(t, steps[0], func(context.Context) (string, error) {
		text, err := os.ReadFile(dev.Log())
		return string(text), err
	})

	for _, s := range steps[1:] {
		e.Do(t, s)
	}

	dev.Interrupt(t)
}

func read(t *testing.T, file string) string {
	t.Helper()

	text, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}

	return string(text)
}

// Commands returns the commands of the comment of an example's program, without `go run` and the name,
// and without the remarks at the ends of the lines.
func Commands(t *testing.T, name string) (commands []string) {
	t.Helper()

	comment, _, _ := strings.Cut(read(t, "examples/"+name+"/main.go"), "\npackage ")
	for line := range strings.Lines(comment) {
		command, is := strings.CutPrefix(strings.TrimRight(line, "\n"), "//\t")
		if !is {
			continue
		}

		command, _, _ = strings.Cut(command, "  #")
		for _, run := range []string{"go run ./examples/" + name + " ", "go run . "} {
			command = strings.TrimPrefix(command, run)
		}
		commands = append(commands, strings.TrimSpace(command))
	}

	return commands
}

// Example is a directory of its own in which a newcomer types commands.
type Example struct {
	name, bin, dir string
	bank           string   // where its bank listens
	env            []string // beside the test's own
}

// New returns a directory for the commands of the program with the name. Settings of the environment do not
// reach them.
func New(t *testing.T, name string) *Example {
	t.Helper()

	for _, name := range []string{"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE", "RATCHET_ENDPOINT_URL", "BANK_URL", "BANK_TOKEN"} {
		t.Setenv(name, "")
	}

	e := &Example{name: name, bin: program.Self(t, name), dir: t.TempDir(), bank: program.FreeAddress(t)}
	e.env = []string{
		"RATCHET_LISTEN=127.0.0.1:0", "RATCHET_API_LISTEN=127.0.0.1:0", "RATCHET_ADMIN_LISTEN=127.0.0.1:0",
		"BANK_LISTEN=" + e.bank,
	}

	return e
}

// Serve starts a program in the background. The environment may have more variables than the
// environment of the example's other commands.
func (e *Example) Serve(t *testing.T, name, args string, env ...string) *program.Process {
	t.Helper()

	return program.Process{
		Bin:  program.Self(t, name),
		Args: strings.Fields(args),
		Env:  slices.Concat(e.env, env),
		Work: e.dir,
		Dir:  e.dir,
		Name: name,
	}.Start(t)
}

// Do repeats a command that fails or prints something else, as a person does who was too fast.
func (e *Example) Do(t *testing.T, s Step) {
	t.Helper()
	e.until(t, s, func(ctx context.Context) (string, error) { return e.run(ctx, s.Command) })
}

// run carries out a line of the comment, and returns its output.
func (e *Example) run(ctx context.Context, line string) (string, error) {
	switch words := strings.Fields(line); words[0] {
	case "ls":
		entries, err := os.ReadDir(filepath.Join(e.dir, words[1]))

		var names string
		for _, entry := range entries {
			names += entry.Name() + "\n"
		}

		return names, err
	case "curl":
		return e.curl(ctx, words[len(words)-1])
	default:
		command := exec.CommandContext(ctx, e.bin, words...)
		command.Dir, command.Env = e.dir, append(os.Environ(), e.env...)
		out, err := command.CombinedOutput()

		return string(out), err
	}
}

// curl asks the bank of the example.
func (e *Example) curl(ctx context.Context, url string) (string, error) {
	_, path, _ := strings.Cut(url, "/")

	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+e.bank+"/"+path, nil)
	if err != nil {
		return "", err
	}
	request.Header.Set("Authorization", "Bearer example")

	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()

	text, err := io.ReadAll(response.Body)

	return string(text), err
}

// until calls do until its output matches the step.
func (e *Example) until(t *testing.T, s Step, do func(context.Context) (string, error)) {
	t.Helper()

	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()

	want := regexp.MustCompile(s.Prints)

	last := "nothing in time"
	for again := time.NewTicker(100 * time.Millisecond); ; {
		out, err := do(ctx)
		switch {
		case err == nil && want.MatchString(out):
			return
		case ctx.Err() == nil:
			last = fmt.Sprintf("%s\n%v", out, err)
		}

		select {
		case <-ctx.Done():
			t.Fatalf("%s %s: printed\n%s\nwant %s", e.name, s.Command, last, want)
		case <-again.C:
		}
	}
}
