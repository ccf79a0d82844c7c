package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// prepare builds or installs a program that is compared, and says so on stderr: the first time may take minutes. The error
// has what the command prints.
func prepare(what string, command *exec.Cmd) error { return prepareTo(os.Stderr, what, command) }

func prepareTo(w io.Writer, what string, command *exec.Cmd) error {
	fmt.Fprintf(w, "bench: %s, which may take minutes the first time\n", what)

	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %s: %w: %s", what, strings.Join(command.Args, " "), err, out)
	}

	return nil
}
