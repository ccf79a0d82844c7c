// Package dynamodblocal runs DynamoDB Local, the vendor's own emulator, for tests and
// benchmarks that hold this project against it. It needs Java 17, and the first time
// Maven and a network.
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

// Start fetches DynamoDB Local into the folder home if it is not there, and starts it
// with its data in memory on a free loopback port. The caller stops it.
func Start(ctx context.Context, home string) (*Server, error) {
	home, err := filepath.Abs(home)
	if err != nil {
		return nil, err
	}

	script := exec.CommandContext(ctx, "sh", "-s", home) //nolint:gosec // a path of ours
	script.Stdin, script.Stdout, script.Stderr = strings.NewReader(fetch), os.Stderr, os.Stderr
	if err := script.Run(); err != nil {
		return nil, fmt.Errorf("fetch DynamoDB Local into %s: %w", home, err)
	}

	address, err := freeAddress()
	if err != nil {
		return nil, err
	}

	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	lib := filepath.Join(home, "lib")
	cmd := exec.Command("java", "-Xmx512m", "-Djava.library.path="+lib, "-Dsqlite4java.library.path="+lib, //nolint:gosec,noctx // paths of ours; Stop ends it
		"-cp", filepath.Join(lib, "*"), "software.amazon.dynamodb.services.local.main.ServerRunner",
		"-inMemory", "-disableTelemetry", "-port", port)

	log, err := os.Create(filepath.Join(home, "vendor.log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()

	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start DynamoDB Local: %w", err)
	}

	s := &Server{URL: "http://" + address, cmd: cmd}
	if err := s.ready(ctx, address); err != nil {
		return nil, errors.Join(fmt.Errorf("%w (see %s)", err, log.Name()), s.Stop())
	}

	return s, nil
}

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

// Stop ends the process.
func (s *Server) Stop() error {
	err := s.cmd.Process.Kill()
	_ = s.cmd.Wait() // it was killed, and says so
	return err
}
