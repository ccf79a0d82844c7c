package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// dynoxideVersion is the version of the crate dynoxide-rs, a DynamoDB in Rust on SQLite.
const dynoxideVersion = "3.2.0"

// dynoxideStart bounds its start.
const dynoxideStart = 30 * time.Second

// openRivalDynoxideFile starts Dynoxide with its data in a file.
func openRivalDynoxideFile(ctx context.Context, dir string) (*rival, error) {
	return openDynoxide(ctx, "Dynoxide with a file", "_dynoxide_file", "--db-path", filepath.Join(dir, "dynoxide.db"))
}

// openRivalDynoxideMemory starts Dynoxide with its data in memory.
func openRivalDynoxideMemory(ctx context.Context, _ string) (*rival, error) {
	return openDynoxide(ctx, "Dynoxide in memory", "_dynoxide_memory")
}

// installDynoxide builds Dynoxide below .cache, unless it is there, and returns the program. It needs
// cargo and crates.io, and takes some minutes.
func installDynoxide(ctx context.Context) (string, error) {
	home, err := filepath.Abs(".cache/dynoxide-" + dynoxideVersion)
	if err != nil {
		return "", err
	}

	program := filepath.Join(home, "bin", "dynoxide")
	// A folder per version, so that an existing program is the right one.
	if _, err := os.Stat(program); err == nil {
		return program, nil
	}

	fmt.Fprintln(os.Stderr, "bench: cargo builds Dynoxide below .cache, which takes some minutes")

	cmd := exec.CommandContext(ctx, "cargo", "install", "dynoxide-rs", "--version", dynoxideVersion, "--locked", "--quiet",
		"--no-default-features", "--features", "native-sqlite,http-server,cli", "--root", home)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr

	return program, cmd.Run()
}

// openDynoxide starts Dynoxide on a free loopback port and waits until it listens.
func openDynoxide(ctx context.Context, name, suffix string, args ...string) (*rival, error) {
	program, err := installDynoxide(ctx)
	if err != nil {
		return nil, fmt.Errorf("NO %s, cargo cannot build it: %w", name, err)
	}

	// A free port: the listener is closed again, and the server takes it a moment later.
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // no name is looked up
	if err != nil {
		return nil, err
	}

	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		return nil, err
	}

	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}

	cmd := exec.CommandContext(ctx, program, append([]string{"serve", "--port", port}, args...)...)
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("NO %s, it cannot be started: %w", name, err)
	}

	stop := func() error {
		err := cmd.Process.Kill()
		_ = cmd.Wait() // "signal: killed"

		return err
	}

	if err := listens(ctx, address); err != nil {
		return nil, errors.Join(fmt.Errorf("NO %s: %w", name, err), stop())
	}

	return newRival(name, suffix, "http://"+address, stop), nil
}

// listens waits until the address accepts connections.
func listens(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, dynoxideStart)
	defer cancel()

	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()

	// The server prints nothing when it is ready.
	for {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err == nil {
			return conn.Close()
		}

		select {
		case <-ctx.Done():
			return fmt.Errorf("it does not listen on %s: %w", address, err)
		case <-tick.C:
		}
	}
}
