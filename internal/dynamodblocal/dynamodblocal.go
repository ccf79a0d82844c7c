// Package dynamodblocal runs DynamoDB Local, Amazon's own emulator, for tests and benchmarks that
// compare this project with it. It needs Java 17, and for the first download Maven and a
// network.
package dynamodblocal

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

//go:embed fetch.sh
var fetch string

// Server is a running DynamoDB Local.
type Server struct {
	// URL is its endpoint.
	URL string
	cmd *exec.Cmd
}

// Fetch downloads DynamoDB Local into the folder home, unless it is there already, and returns the folder with its
// libraries.
func Fetch(ctx context.Context, home string) (lib string, err error) {
	if home, err = filepath.Abs(home); err != nil {
		return "", err
	}

	// The script is embedded, so it needs no path to this repository.
	script := exec.CommandContext(ctx, "sh", "-s", home) //nolint:gosec // a path of ours
	script.Stdin, script.Stdout, script.Stderr = strings.NewReader(fetch), os.Stderr, os.Stderr
	EndTogether(script)

	if err := script.Run(); err != nil {
		return "", fmt.Errorf("fetch DynamoDB Local into %s: %w", home, err)
	}

	return filepath.Join(home, "lib"), nil
}

// EndTogether makes what a command starts end with it, if its context ends.
func EndTogether(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

// Start downloads DynamoDB Local into the folder home, unless it is there already, and starts it
// with its data in memory on a free loopback port. It returns when the port answers. If ctx
// ends before, the error names the server's log. The caller must call Stop.
func Start(ctx context.Context, home string) (*Server, error) {
	lib, err := Fetch(ctx, home)
	if err != nil {
		return nil, err
	}

	address, err := freeAddress()
	if err != nil {
		return nil, err
	}

	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}

	// Not CommandContext: ctx bounds the start, and the server outlives it.
	cmd := exec.Command("java", "-Xmx512m", "-Djava.library.path="+lib, "-Dsqlite4java.library.path="+lib, //nolint:gosec,noctx // paths of ours; Stop ends it
		"-cp", filepath.Join(lib, "*"), "software.amazon.dynamodb.services.local.main.ServerRunner",
		"-inMemory", "-disableTelemetry", "-port", port)

	log, err := os.Create(filepath.Join(home, "vendor.log"))
	if err != nil {
		return nil, err
	}
	// The process has the file open by itself.
	defer log.Close()

	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start DynamoDB Local: %w", err)
	}

	s := &Server{URL: "http://" + address, cmd: cmd}
	// The caller gets no Server to stop, so the process is killed here.
	if err := s.ready(ctx, address); err != nil {
		return nil, errors.Join(fmt.Errorf("%w (see %s)", err, log.Name()), s.Stop())
	}

	return s, nil
}

// freeAddress returns a loopback address that was free a moment ago. Another process may take it
// before the server listens; Start then fails.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // no name is looked up
	if err != nil {
		return "", err
	}

	return l.Addr().String(), l.Close()
}

// ready waits until the port answers or ctx ends.
func (s *Server) ready(ctx context.Context, address string) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()

	for {
		// A connection that is accepted shows that the server listens; no call is needed.
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err == nil {
			return conn.Close()
		}

		select {
		case <-ctx.Done():
			return fmt.Errorf("DynamoDB Local (process %d) did not listen on %s: %w", s.cmd.Process.Pid, address, err)
		case <-tick.C:
		}
	}
}

// Stop kills the process. Its data is lost.
func (s *Server) Stop() error {
	err := s.cmd.Process.Kill()
	_ = s.cmd.Wait() // "signal: killed"

	return err
}
