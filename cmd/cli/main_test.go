package cli

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"regexp"
	"runtime/debug"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

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

	testscript.Main(m, map[string]func(){
		"ratchet":  statedMain,
		"receiver": receiverMain,
		"carrier":  carrierMain,
	})
}

// statedMain is Main, and ends with notStated if the help of the command does not name its exit status.
func statedMain() {
	c, err := execute(server.Parts{})

	status := exit.Report(err)
	if !isStated(c, err) {
		fmt.Fprintf(os.Stderr, "the help of %s does not name the exit status %d: see statuses.txt\n", c.CommandPath(), status)

		status = notStated
	}

	os.Exit(status)
}

const notStated = 99

// TestScripts runs the commands as a user types them; each script in testdata/script shows what the
// commands promise.
func TestScripts(t *testing.T) {
	runScripts(t, testscript.Params{Dir: "testdata/script"}, nil)
}

// runScripts runs the scripts of p with settings in the environment.
func runScripts(t *testing.T, p testscript.Params, settings map[string]string) {
	t.Helper()

	testscript.Run(t, testscript.Params{
		Dir: p.Dir, Files: p.Files,
		Setup: func(e *testscript.Env) error {
			for name, value := range settings {
				e.Setenv(name, value)
			}

			e.Setenv("GORACE", "atexit_sleep_ms=10") // under the race detector each command would stay for a second
			// A command lives too briefly to need a collection; `ratchet dev` collects at the limit.
			e.Setenv("GOGC", "off")
			e.Setenv("GOMEMLIMIT", "128MiB")
			e.Values[programsKey] = map[string]*program{}

			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			// freeaddr NAME sets the variable to a loopback address with a free port.
			"freeaddr": func(ts *testscript.TestScript, _ bool, args []string) {
				listener, err := net.Listen("tcp", "127.0.0.1:0")
				ts.Check(err)
				ts.Setenv(args[0], listener.Addr().String())
				ts.Check(listener.Close())
			},
			// status N program args... runs the program and checks its exit status.
			"status": func(ts *testscript.TestScript, _ bool, args []string) {
				want, err := strconv.Atoi(args[0])
				ts.Check(err)

				err = ts.Exec(args[1], args[2:]...)
				got := 0
				var ended *exec.ExitError
				switch {
				case errors.As(err, &ended):
					got = ended.ExitCode()
				case err != nil:
					ts.Fatalf("%v: %v", args[1:], err)
				}

				if got != want {
					ts.Fatalf("%v: exit status %d, want %d", args[1:], got, want)
				}
			},
			// capture NAME PATTERN sets the variable to the first group of the match in the last output.
			"capture": func(ts *testscript.TestScript, _ bool, args []string) {
				match := regexp.MustCompile(args[1]).FindStringSubmatch(ts.ReadFile("stdout"))
				if match == nil {
					ts.Fatalf("%s does not match the output", args[1])
				}
				ts.Setenv(args[0], match[1])
			},
			"background": background,
			"tell":       tell,
			"expect":     expect,
			"repeat":     repeat,
			"interrupt":  interrupt,
		},
	})
}
