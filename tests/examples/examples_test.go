// Package examples starts each example by the command that its own comment names, as a newcomer does, and
// does what the comment says next. The programs are built once. Only ports and directories differ from
// the comment: they are free ones.
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

const root = "../.."

// elsewhere are the examples that this package does not start, and what does.
var elsewhere = map[string]struct{ file, text string }{
	"receiver": {"docs/tutorial.md", "$ RECEIVER_SECRET="},   // tests/tutorial runs each command of the page
	"own":      {"Makefile", "in $(USERS)"},                  // a module of its own: `make own`
	"olist":    {"cmd/cli/olist/olist_test.go", "func Test"}, // a package without a program
}

// workflows are the examples that are Ratchet with parts of their own: the commands of their comments, in
// order, and what each prints in the end. The first one serves until it is interrupted.
var workflows = map[string][]step{
	"bank": {
		{"dev", `(?ms)^Ratchet is running\..*Stop with Ctrl-C; no data is lost\.`},
		{"orders create o-1 --item mug:2:1250 --stock 10", `^Applied: order o-1 is PENDING `},
		{"orders watch o-1", `(?s)place +PENDING\n.*pay +PAYMENT_RECEIVED\n.*deliver +DELIVERED\n$`},
		{"curl -H 'Authorization: Bearer example' 127.0.0.1:8720/operations/o-1%2Fcharge", `^{"amount":2500,"currency":"EUR","status":"succeeded",`},
	},
	"courier": {
		{"dev", `(?ms)^Ratchet is running\..*Stop with Ctrl-C; no data is lost\.`},
		{"orders create o-1 --item mug:2:1250 --stock 10", `^Applied: order o-1 is PENDING `},
		{"ls .labels", `(?m)^\w+\.begin$`},
		{"pick-up o-1/2/shipping", `^$`},
		{"orders apply o-1 ship", `^Applied: order o-1 is SHIPPED `},
	},
	"screening": {
		{"dev", `(?ms)^Ratchet is running\..*Stop with Ctrl-C; no data is lost\.`},
		{"orders create o-1 --item mug:1:1250 --stock 100", `^Applied: order o-1 is PENDING `},
		{"orders create o-2 --item mug:60:1250", `^Applied: order o-2 is PENDING `},
		{"orders history o-2", `cancel +PENDING +CANCELLED`},
	},
	"ticket": {
		{"dev", `(?ms)^Ratchet is running\..*Stop with Ctrl-C; no data is lost\.`},
		{"orders create ticket-1 --metadata topic=invoice", `^Applied: order ticket-1 is OPEN `},
		{"orders apply ticket-1 resolve", `^Applied: order ticket-1 is RESOLVED `},
		{"orders history ticket-1", `close +RESOLVED +CLOSED`},
	},
}

type step struct{ command, prints string }

// others are the examples that are other programs.
var others = []string{"carrier", "lambda"}

// TestEveryExampleIsStarted: a new one has to be in one of the lists above.
func TestEveryExampleIsStarted(t *testing.T) {
	t.Parallel()

	dirs, err := os.ReadDir(filepath.Join(root, "examples"))
	if err != nil {
		t.Fatal(err)
	}

	for _, dir := range dirs {
		name := dir.Name()
		if where, is := elsewhere[name]; is {
			if text := read(t, where.file); !strings.Contains(text, where.text) {
				t.Errorf("%s: %s has no %q", name, where.file, where.text)
			}

			continue
		}

		if workflows[name] == nil && !slices.Contains(others, name) {
			t.Errorf("examples/%s is not started by any test", name)
		}
	}
}

func read(t *testing.T, file string) string {
	t.Helper()

	text, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}

	return string(text)
}

// commandsOf returns the commands of the comment of an example's program, without `go run` and the name,
// and without the remarks at the ends of the lines.
func commandsOf(t *testing.T, name string) (commands []string) {
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

// build compiles the programs and returns their directory.
func build(t *testing.T) string {
	t.Helper()

	packages := []string{"ratchet/cmd/ratchet"}
	for name := range workflows {
		packages = append(packages, "ratchet/examples/"+name)
	}

	for _, name := range others {
		packages = append(packages, "ratchet/examples/"+name)
	}

	dir := t.TempDir()
	args := append([]string{"build", "-ldflags=-s -w", "-o", dir + "/"}, packages...)

	if out, err := exec.CommandContext(t.Context(), "go", args...).CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}

	return dir
}

func TestExamplesDoWhatTheirCommentsSay(t *testing.T) {
	if testing.Short() {
		t.Skip("builds programs")
	}

	for _, name := range []string{"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE", "RATCHET_ENDPOINT_URL", "BANK_URL", "BANK_TOKEN"} {
		t.Setenv(name, "")
	}
	bin := build(t)

	for name, steps := range workflows {
		t.Run(name, func(t *testing.T) {
			e := newExample(t, bin, name)

			var commands []string
			for _, s := range steps {
				commands = append(commands, s.command)
			}

			if have := commandsOf(t, name); !slices.Equal(have, commands) {
				t.Fatalf("the comment has the commands\n%s\nwant\n%s", strings.Join(have, "\n"), strings.Join(commands, "\n"))
			}

			dev := e.serve(t, name, steps[0].command)
			e.until(t, steps[0], func(context.Context) (string, error) {
				text, err := os.ReadFile(dev.Log())
				return string(text), err
			})

			for _, s := range steps[1:] {
				e.until(t, s, func(ctx context.Context) (string, error) { return e.run(ctx, s.command) })
			}

			dev.Interrupt(t)
		})
	}

	t.Run("carrier", func(t *testing.T) { carrierDeliversAnOrder(t, bin) })
	t.Run("lambda", func(t *testing.T) { lambdaAnswersItsRuntime(t, bin) })
}

// example is a directory of its own in which a newcomer types commands.
type example struct {
	bin, name, dir string
	bank           string   // where its bank listens
	env            []string // beside those of the test
}

func newExample(t *testing.T, bin, name string) *example {
	t.Helper()

	e := &example{bin: bin, name: name, dir: t.TempDir(), bank: program.FreeAddress(t)}
	e.env = []string{
		"RATCHET_LISTEN=127.0.0.1:0", "RATCHET_API_LISTEN=127.0.0.1:0", "RATCHET_ADMIN_LISTEN=127.0.0.1:0",
		"BANK_LISTEN=" + e.bank,
	}

	return e
}

// serve starts a program of the example in the background. The environment may be more than that of the
// example's other commands.
func (e *example) serve(t *testing.T, name, args string, env ...string) *program.Process {
	t.Helper()

	return program.Process{
		Bin:  filepath.Join(e.bin, name),
		Args: strings.Fields(args),
		Env:  slices.Concat(e.env, env),
		Work: e.dir,
		Dir:  e.dir,
		Name: name,
	}.Start(t)
}

// run does what a line of the comment says, and returns what it prints.
func (e *example) run(ctx context.Context, line string) (string, error) {
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
		command := exec.CommandContext(ctx, filepath.Join(e.bin, e.name), words...)
		command.Dir, command.Env = e.dir, append(os.Environ(), e.env...)
		out, err := command.CombinedOutput()

		return string(out), err
	}
}

// curl asks the bank of the example.
func (e *example) curl(ctx context.Context, url string) (string, error) {
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

// until repeats a command that fails or prints something else, as a person does who was too fast.
func (e *example) until(t *testing.T, s step, do func(context.Context) (string, error)) {
	t.Helper()

	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()

	want := regexp.MustCompile(s.prints)

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
			t.Fatalf("%s %s: printed\n%s\nwant %s", e.name, s.command, last, want)
		case <-again.C:
		}
	}
}
