package tutorial

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// shell is a bash that reads commands. Its variables and jobs live from one command to the next.
type shell struct {
	in    io.Writer
	lines chan string // of its output; closed at its end
}

// openShell starts a bash in dir, with only Go and the tools of the system in its path. It and its
// jobs are killed when the test ends.
func openShell(t *testing.T, dir string, settings ...string) *shell {
	t.Helper()

	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		return slices.ContainsFunc([]string{"AWS_", "RATCHET_", "OTEL_", "PATH=", "PWD="}, func(p string) bool { return strings.HasPrefix(v, p) })
	})

	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	path := []string{filepath.Join(strings.TrimSpace(string(goroot)), "bin"), "/usr/local/bin", "/usr/bin", "/bin"}

	cmd := exec.Command("bash", "--noprofile", "--norc")
	cmd.Dir = dir
	cmd.Env = append(append(env, settings...), "PATH="+strings.Join(path, ":"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // its jobs are in its group

	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}

	out, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = to, to

	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	to.Close()

	s := &shell{in: in, lines: make(chan string)}
	done := make(chan struct{})

	go func() {
		defer close(s.lines)

		for r := bufio.NewReader(out); ; {
			line, err := r.ReadString('\n')
			if line != "" {
				select {
				case s.lines <- line:
				case <-done:
				}
			}

			if err != nil {
				return
			}
		}
	}()

	t.Cleanup(func() {
		close(done)
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait() // "signal: killed"
		out.Close()
	})

	return s
}

// mark ends the output of a command. It cannot be in the output itself.
const mark = "\x01end\x01"

// run runs a line and returns its standard output and standard error, until it ends or
// has begun in the background. The next line sees its exit status.
func (s *shell) run(line string, most time.Duration) (string, error) {
	// No command may read what comes after it.
	if _, err := fmt.Fprintf(s.in, "{ %s\n} </dev/null\n{ status=$?; printf '\\001end\\001\\n'; (exit $status); }\n", line); err != nil {
		return "", err
	}

	var output strings.Builder

	for limit := time.After(most); ; {
		select {
		case text, open := <-s.lines:
			before, _, ended := strings.Cut(text, mark)
			output.WriteString(before)

			switch {
			case !open:
				return output.String(), io.ErrUnexpectedEOF
			case ended:
				return output.String(), nil
			}
		case <-limit:
			return output.String(), fmt.Errorf("it has not ended within %s", most)
		}
	}
}
