package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"ratchet/cmd/cli/internal/exit"
	"ratchet/server"
)

// The commands of scripts run in the process of the tests: most of what a short command costs is the start of its process.
// `exec ratchet` in a script starts a process, as `background` and the script of the version do. Each command has the environment, the
// directory and the files of its script. A process has one environment and one directory, so the commands run one at a time.
var inProcess sync.Mutex

// command runs `ratchet` with the arguments for a script, and returns its exit status. What it prints is the script's.
func command(ts *testscript.TestScript, args []string) int {
	inProcess.Lock()
	defer inProcess.Unlock()

	defer enter(ts, scriptEnvironment(ts))()

	stderr, err := os.CreateTemp(ts.Getenv("TMPDIR"), "stderr")
	ts.Check(err)
	defer stderr.Close()

	stdin, err := os.Open(values(ts).takeInput())
	ts.Check(err)
	defer stdin.Close()

	defer func(in, out *os.File, args []string) { os.Stdin, os.Stderr, os.Args = in, out, args }(os.Stdin, os.Stderr, os.Args)
	os.Stdin, os.Stderr, os.Args = stdin, stderr, append([]string{"ratchet"}, args...)

	var out text
	root := newRoot(server.Parts{})
	root.SetArgs(args)
	root.SetOut(&out)

	c, err := root.ExecuteContextC(context.Background())
	status := stated(c, err)

	said, err := os.ReadFile(stderr.Name())
	ts.Check(err)
	fmt.Fprint(ts.Stdout(), out.String())
	fmt.Fprintf(ts.Stderr(), "%s", said)
	ts.Check(os.Remove(stderr.Name()))

	return status
}

// enter gives the process the environment and the directory of a script; their PATH is the same. leave gives the process its own back.
func enter(ts *testscript.TestScript, script []string) (leave func()) {
	own := os.Environ()
	dir, err := os.Getwd()
	ts.Check(err)

	ts.Check(replaceEnvironment(own, script))
	ts.Check(os.Chdir(ts.MkAbs(".")))

	return func() {
		ts.Check(os.Chdir(dir))
		ts.Check(replaceEnvironment(script, own))
	}
}

// replaceEnvironment sets the variables of next, and takes away those of earlier that next does not have.
func replaceEnvironment(earlier, next []string) error {
	stay := map[string]bool{}
	for _, variable := range next {
		name, value, _ := strings.Cut(variable, "=")
		stay[name] = true

		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}

	for _, variable := range earlier {
		if name, _, _ := strings.Cut(variable, "="); !stay[name] {
			if err := os.Unsetenv(name); err != nil {
				return err
			}
		}
	}

	return nil
}

// ratchet args... runs a command, which must end with success.
func ratchet(ts *testscript.TestScript, neg bool, args []string) {
	if status := command(ts, args); (status == exit.OK) == neg {
		ts.Fatalf("exit status %d", status)
	}
}

// input FILE is the standard input of the next command.
func input(ts *testscript.TestScript, _ bool, args []string) { values(ts).input = ts.MkAbs(args[0]) }

// scriptValues are what the words of a script share.
type scriptValues struct {
	programs  map[string]*program
	variables []string        // names of the environment's variables
	had       map[string]bool // those that a command has had
	input     string          // the file of the next command's standard input
}

type scriptValuesKey struct{}

func values(ts *testscript.TestScript) *scriptValues {
	known, ok := ts.Value(scriptValuesKey{}).(*scriptValues)
	if !ok {
		ts.Fatalf("the script has no values")
	}

	return known
}

func (v *scriptValues) takeInput() string {
	name := v.input
	v.input = os.DevNull

	return name
}

// setenv sets a variable of the script's environment.
func setenv(ts *testscript.TestScript, name, value string) {
	ts.Setenv(name, value)

	v := values(ts)
	v.variables = append(v.variables, name)
}

// scriptEnvironment returns the environment of a script's programs. A variable that the script has made empty is in it.
func scriptEnvironment(ts *testscript.TestScript) (env []string) {
	v := values(ts)
	for _, name := range v.variables {
		if value := ts.Getenv(name); value != "" || v.had[name] {
			env = append(env, name+"="+value)
			v.had[name] = true
		}
	}

	return append(env, "PWD="+ts.MkAbs("."))
}

var envLine = regexp.MustCompile(`(?m)^env .*`)

// variablesOf returns the names of the variables that the scripts set.
func variablesOf(t *testing.T, files []string) (names []string) {
	t.Helper()

	for _, file := range files {
		for _, line := range envLine.FindAllString(readSource(t, file), -1) {
			for _, assignment := range strings.Fields(line)[1:] {
				name, _, _ := strings.Cut(assignment, "=")
				names = append(names, strings.TrimPrefix(name, "'"))
			}
		}
	}

	return names
}

// linkPrograms makes a directory in which the binary of the tests has the names, and puts it first in the PATH.
func linkPrograms(names map[string]func()) (remove func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}

	dir, err := os.MkdirTemp("", "programs")
	if err != nil {
		return nil, err
	}

	for name := range names {
		if err := os.Symlink(self, filepath.Join(dir, name)); err != nil {
			return nil, err
		}
	}

	return func() { _ = os.RemoveAll(dir) }, os.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
}
