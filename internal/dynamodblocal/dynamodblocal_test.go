package dynamodblocal

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestMain lets the test binary stand in for Java: it then listens on the port that its
// command line names.
func TestMain(m *testing.M) {
	if os.Getenv("DYNAMODBLOCAL_TEST_JAVA") == "" {
		os.Exit(m.Run())
	}

	listener, err := net.Listen("tcp", "127.0.0.1:"+os.Args[len(os.Args)-1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}

	// Accept until the process is killed, or long enough for any test.
	time.AfterFunc(time.Minute, func() { os.Exit(1) })

	for {
		conn, err := listener.Accept()
		if err != nil {
			os.Exit(1)
		}
		_ = conn.Close()
	}
}

// fetched returns a folder in which DynamoDB Local seems to be installed.
func fetched(t *testing.T) string {
	t.Helper()

	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, "fetched-3.1.0"), nil, 0o600); err != nil {
		t.Fatal(err)
	}

	return home
}

// path makes a folder with only the shell and the named script the search path.
func path(t *testing.T, name, script string) {
	t.Helper()

	dir := t.TempDir()
	if err := os.Symlink("/bin/sh", filepath.Join(dir, "sh")); err != nil {
		t.Fatal(err)
	}

	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
}

func TestStartReturnsWhenTheServerListens(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}

	path(t, "java", fmt.Sprintf("DYNAMODBLOCAL_TEST_JAVA=1 exec %q \"$@\"", self))

	s, err := Start(t.Context(), fetched(t))
	if err != nil {
		t.Fatal(err)
	}

	address := strings.TrimPrefix(s.URL, "http://")

	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()

	if err := s.Stop(); err != nil {
		t.Error(err)
	}

	if conn, err := net.Dial("tcp", address); err == nil {
		_ = conn.Close()

		t.Error("the server listens after Stop")
	}
}

func TestStartNamesTheLogOfAServerThatDoesNotListen(t *testing.T) {
	path(t, "java", "exit 1")

	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()

	home := fetched(t)
	if _, err := Start(ctx, home); err == nil || !strings.Contains(err.Error(), filepath.Join(home, "vendor.log")) {
		t.Errorf("%v, want an error with the name of the log", err)
	}
}

func TestStartNeedsJava(t *testing.T) {
	path(t, "none", "exit 1")

	if _, err := Start(t.Context(), t.TempDir()); err == nil || !strings.Contains(err.Error(), "fetch DynamoDB Local") {
		t.Errorf("%v, want the error of the fetching script", err)
	}
}
