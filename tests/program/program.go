// Package program builds the command `ratchet` and runs it as processes that a test kills, stops and
// starts again.
package program

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
)

// Build compiles the command and returns the program's path.
func Build(t testing.TB) string {
	t.Helper()

	bin := filepath.Join(t.TempDir(), "ratchet")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-o", bin, "ratchet/cmd/ratchet").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}

	return bin
}

// given are the ports that FreeAddress has returned.
var given sync.Map

// FreeAddress returns a loopback address whose port was free a moment ago. The port is below those that systems give to
// clients: while a server restarts, no connection of another process gets its port, nor one of its own clients, which
// would be connected to itself.
func FreeAddress(t testing.TB) string {
	t.Helper()

	const lowest, clients = 10_000, 32_768

	for {
		address := fmt.Sprintf("127.0.0.1:%d", lowest+rand.IntN(clients-lowest))
		if _, known := given.LoadOrStore(address, true); known {
			continue
		}

		l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", address)
		if err == nil {
			_ = l.Close()
			return address
		}

		if t.Context().Err() != nil {
			t.Fatal(err)
		}
	}
}

// Process is a process of the program. Fill the first fields and call Start.
type Process struct {
	Bin  string
	Args []string
	// Env are variables in addition to the test's own, as NAME=VALUE.
	Env []string
	// Work is the directory in which it runs. Default: the test's directory.
	Work string
	// Dir gets the file Name.log with the output of the process. Processes of the same name append to it.
	Dir, Name string
	// Stdin is its standard input. Default: it has none.
	Stdin *os.File

	cmd   *exec.Cmd
	first chan string   // the first line of its standard output, closed after it
	read  chan struct{} // closed when its standard output has ended
}

// Log returns the path of the file with the output of the process.
func (p *Process) Log() string { return filepath.Join(p.Dir, p.Name+".log") }

// Start starts the process. The test kills it at its end, and shows the end of its log if it has failed.
func (p Process) Start(t testing.TB) *Process {
	t.Helper()

	log, err := os.OpenFile(p.Log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}

	p.cmd = exec.CommandContext(t.Context(), p.Bin, p.Args...)
	p.cmd.Env = append(os.Environ(), p.Env...)
	p.cmd.Dir = p.Work
	p.cmd.Stderr = log

	if p.Stdin != nil {
		p.cmd.Stdin = p.Stdin
	}

	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}

	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}

	p.first, p.read = make(chan string, 1), make(chan struct{})
	go p.readOutput(bufio.NewScanner(out), log)

	t.Cleanup(func() {
		if p.cmd.ProcessState == nil { // the test has not ended it
			_ = p.cmd.Process.Kill()
			_ = p.wait()
		}

		if t.Failed() {
			t.Logf("the end of the log of %s:\n%s", p.Name, End(p.Log()))
		}
	})

	return &p
}

// readOutput reads all that the process prints to its standard output.
func (p *Process) readOutput(lines *bufio.Scanner, log *os.File) {
	defer log.Close()
	defer close(p.read)

	first := p.first
	for lines.Scan() {
		fmt.Fprintln(log, lines.Text())

		if first != nil {
			first <- lines.Text()
			close(first)
			first = nil
		}
	}

	if first != nil {
		close(first)
	}
}

// FirstLine waits for the first line of the process's standard output. It ends the test if the process
// ends without one.
func (p *Process) FirstLine(t testing.TB) string {
	t.Helper()

	line, printed := p.Line(t)
	if !printed {
		t.Fatalf("%s printed nothing; its log: %s", p.Name, End(p.Log()))
	}

	return line
}

// Line waits for the first line of the process's standard output, or for its end without one.
func (p *Process) Line(t testing.TB) (line string, printed bool) {
	t.Helper()

	line, printed = <-p.first

	return line, printed
}

// Endpoint waits until `ratchet dev --json` prints the endpoint of its engine, and returns it.
func (p *Process) Endpoint(t testing.TB) string {
	t.Helper()

	var banner struct{ Endpoint string }
	if line := p.FirstLine(t); json.Unmarshal([]byte(line), &banner) != nil || banner.Endpoint == "" {
		t.Fatalf("ratchet dev did not come up: %q; its log: %s", line, End(p.Log()))
	}

	return banner.Endpoint
}

// Signal sends a signal to the process.
func (p *Process) Signal(signal os.Signal) error { return p.cmd.Process.Signal(signal) }

// Kill sends SIGKILL and waits until the process has ended.
func (p *Process) Kill(t testing.TB) {
	t.Helper()

	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = p.wait() // "signal: killed"
}

// Stop sends SIGTERM. The process must then finish its work in hand and exit with status 0.
func (p *Process) Stop(t testing.TB) {
	t.Helper()
	p.end(t, syscall.SIGTERM)
}

// Interrupt stops the process like Stop, as Ctrl-C does.
func (p *Process) Interrupt(t testing.TB) {
	t.Helper()
	p.end(t, os.Interrupt)
}

func (p *Process) end(t testing.TB, signal os.Signal) {
	t.Helper()

	if err := p.cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}

	if err := p.wait(); err != nil {
		t.Errorf("%s after %s: %v", p.Name, signal, err)
	}
}

// Terminate sends SIGTERM and returns the exit status.
func (p *Process) Terminate(t testing.TB) int {
	t.Helper()

	if err := p.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}

	return p.Wait(t)
}

// Wait waits until the process has ended by itself, and returns its exit status.
func (p *Process) Wait(t testing.TB) int {
	t.Helper()

	var exit *exec.ExitError
	if err := p.wait(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}

	return p.cmd.ProcessState.ExitCode()
}

func (p *Process) wait() error {
	<-p.read
	return p.cmd.Wait()
}

// Restart kills the process and starts another one under its name.
func (p *Process) Restart(t testing.TB) *Process {
	t.Helper()
	p.Kill(t)

	return p.Start(t)
}

// End returns the end of a file, at most 4,000 bytes.
func End(name string) string {
	text, _ := os.ReadFile(name)
	return string(text[max(0, len(text)-4000):])
}
