//go:build conformance

package conformance

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

// vendor is a running DynamoDB Local.
type vendor struct {
	url string
	cmd *exec.Cmd
}

// startVendor fetches DynamoDB Local if need be and starts it, with its data in
// memory, on a free loopback port.
func startVendor(ctx context.Context) (*vendor, error) {
	home, err := filepath.Abs("../../.cache/dynamodb-local")
	if err != nil {
		return nil, err
	}
	fetch := exec.CommandContext(ctx, "./fetch.sh", home)
	fetch.Stdout, fetch.Stderr = os.Stderr, os.Stderr
	if err := fetch.Run(); err != nil {
		return nil, fmt.Errorf("fetch DynamoDB Local: %w", err)
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
	cmd := exec.Command("java", "-Xmx512m", "-Djava.library.path="+lib, "-Dsqlite4java.library.path="+lib,
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
	v := &vendor{url: "http://" + address, cmd: cmd}
	if err := v.ready(ctx, address); err != nil {
		return nil, errors.Join(fmt.Errorf("%w (see %s)", err, log.Name()), v.stop())
	}
	return v, nil
}

func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// ready waits until the port answers, or the process has died, or ctx ends.
func (v *vendor) ready(ctx context.Context, address string) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("DynamoDB Local (process %s) did not listen on %s: %w", strconv.Itoa(v.cmd.Process.Pid), address, err)
		case <-tick.C:
		}
	}
}

func (v *vendor) stop() error {
	err := v.cmd.Process.Kill()
	_ = v.cmd.Wait() // it was killed, and says so
	return err
}
