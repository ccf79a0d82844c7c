package cli

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/exit"
	"ratchet/server"
)

func TestMain(m *testing.M) {
	// Tests open an engine for each of a thousand commands, and little of it stays: a fourth of the time went into collections.
	// The commands of scripts have their limits from runScripts.
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetGCPercent(-1)
		debug.SetMemoryLimit(512 << 20)
	}

	os.Exit(withPrograms(m, map[string]func(){
		"ratchet":  func() { os.Exit(stated(execute(server.Parts{}))) },
		"receiver": receiverMain,
		"carrier":  carrierMain,
	}))
}

// withPrograms runs the tests, or the program under whose name this process was started. Links with these names are in the PATH.
func withPrograms(m *testing.M, programs map[string]func()) (status int) {
	if run, is := programs[filepath.Base(os.Args[0])]; is {
		os.Args[0] = filepath.Base(os.Args[0])
		run()

		return exit.OK
	}

	remove, err := linkPrograms(programs)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return exit.Failure
	}
	defer remove()

	return m.Run()
}

// stated reports the error of a command and returns its exit status, or notStated if the help of the command does not name it.
func stated(c *cobra.Command, err error) int {
	status := exit.Report(err)
	if !isStated(c, err) {
		fmt.Fprintf(os.Stderr, "the help of %s does not name the exit status %d: see statuses.txt\n", c.CommandPath(), status)

		return notStated
	}

	return status
}

const notStated = 99

// TestScripts runs the commands as a user types them; each script in testdata/script shows what the
// commands promise.
func TestScripts(t *testing.T) {
	runScripts(t, []string{"*"}, nil)
}

// runScripts runs the scripts whose names match one of the patterns, with settings in the environment.
func runScripts(t *testing.T, patterns []string, settings map[string]string) {
	t.Helper()

	// Absolute, because a command of another script changes the directory meanwhile.
	dir, err := filepath.Abs("testdata/script")
	if err != nil {
		t.Fatal(err)
	}

	var files []string
	for _, pattern := range patterns {
		found, err := filepath.Glob(filepath.Join(dir, pattern+".txtar"))
		if err != nil || len(found) == 0 {
			t.Fatalf("no script %s: %v", pattern, err)
		}
		files = append(files, found...)
	}

	variables := variablesOf(t, files)

	testscript.Run(t, testscript.Params{
		Files: files,
		Setup: func(e *testscript.Env) error {
			for name, value := range settings {
				e.Setenv(name, value)
			}

			e.Setenv("GORACE", "atexit_sleep_ms=10") // under the race detector each command would stay for a second
			// A command lives too briefly to need a collection; `ratchet dev` collects at the limit.
			e.Setenv("GOGC", "off")
			e.Setenv("GOMEMLIMIT", "128MiB")

			all := &scriptValues{programs: map[string]*program{}, variables: slices.Clone(variables), had: map[string]bool{}, input: os.DevNull}
			for _, variable := range e.Vars {
				name, _, _ := strings.Cut(variable, "=")
				all.variables = append(all.variables, name)
			}
			e.Values[scriptValuesKey{}] = all

			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			// freeaddr NAME sets the variable to a loopback address with a free port.
			"freeaddr": func(ts *testscript.TestScript, _ bool, args []string) {
				listener, err := net.Listen("tcp", "127.0.0.1:0")
				ts.Check(err)
				setenv(ts, args[0], listener.Addr().String())
				ts.Check(listener.Close())
			},
			"ratchet": ratchet,
			"input":   input,
			// status N program args... runs the program and checks its exit status; a command of ratchet runs in this process,
			// unless it is `status N exec ratchet args...`.
			"status": func(ts *testscript.TestScript, _ bool, args []string) {
				want, err := strconv.Atoi(args[0])
				ts.Check(err)

				if got := statusOf(ts, args[1:]); got != want {
					ts.Fatalf("%v: exit status %d, want %d", args[1:], got, want)
				}
			},
			// capture NAME PATTERN sets the variable to the first group of the match in the last output.
			"capture": func(ts *testscript.TestScript, _ bool, args []string) {
				match := regexp.MustCompile(args[1]).FindStringSubmatch(ts.ReadFile("stdout"))
				if match == nil {
					ts.Fatalf("%s does not match the output", args[1])
				}
				setenv(ts, args[0], match[1])
			},
			"background": background,
			"tell":       tell,
			"expect":     expect,
			"repeat":     repeat,
			"interrupt":  interrupt,
		},
	})
}

// statusOf runs a program, or a command of ratchet, and returns its exit status.
func statusOf(ts *testscript.TestScript, line []string) int {
	if line[0] == "ratchet" {
		return command(ts, line[1:])
	}

	if line[0] == "exec" {
		line = line[1:]
	}

	err := ts.Exec(line[0], line[1:]...)

	var ended *exec.ExitError
	switch {
	case err == nil:
		return exit.OK
	case !errors.As(err, &ended):
		ts.Fatalf("%v: %v", line, err)
	}

	return ended.ExitCode()
}
