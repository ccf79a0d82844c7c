package store

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// noTables is a disk on which no table can be created.
type noTables struct {
	vfs.FS
	err   error
	tries atomic.Int64
}

func (n *noTables) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if filepath.Ext(name) == ".sst" {
		n.tries.Add(1)
		return nil, fmt.Errorf("create %s: %w", name, n.err)
	}

	return n.FS.Create(name, category)
}

// TestOpeningEndsOnADiskThatCannotBeWritten: a directory whose log was not written to tables yet, on a disk that is full or
// that fails. It is opened again when the disk works.
//
// An opening that was given up leaves goroutines, so it is tried in a process of its own, as the program ends then.
//
//raced:here
func TestOpeningEndsOnADiskThatCannotBeWritten(t *testing.T) {
	const child = "STORE_TEST_OPENS_IN_VAIN"
	if os.Getenv(child) != "" {
		openInVain(t)

		if t.Failed() {
			os.Exit(1)
		}

		os.Exit(0)
	}

	command := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	command.Env = append(os.Environ(), child+"=1")

	if output, err := command.CombinedOutput(); err != nil {
		t.Errorf("%v:\n%s", err, output)
	}
}

// lockedText is what was logged. An opening that was given up may still log.
type lockedText struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lockedText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()

	return l.text.Write(p)
}

func (l *lockedText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()

	return l.text.String()
}

func openInVain(t *testing.T) {
	t.Helper()

	for _, cause := range []error{syscall.ENOSPC, syscall.EIO} {
		mem := vfs.NewMem()

		running, err := Open(Config{Dir: "data", Disk: mem, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}

		b := running.NewBatch()
		b.Set([]byte("k"), []byte("v"))

		if err := b.Commit(); err != nil {
			t.Fatal(err)
		}

		// As the process leaves it that is killed.
		for _, dir := range []string{"killed", "again"} {
			if ok, err := vfs.Clone(mem, mem, "data", dir); !ok || err != nil {
				t.Fatal(ok, err)
			}
		}

		if err := running.Close(); err != nil {
			t.Fatal(err)
		}

		var lines lockedText
		disk := &noTables{FS: mem, err: cause}

		_, err = Open(Config{Dir: "killed", Disk: disk, Log: slog.New(slog.NewTextHandler(&lines, nil))})
		if !errors.Is(err, cause) || errors.Is(err, ErrFull) != errors.Is(cause, syscall.ENOSPC) {
			t.Errorf("%v: %v", cause, err)
		}

		if n := strings.Count(lines.String(), "\n"); n > 3 || disk.tries.Load() > 3 {
			t.Errorf("%d lines of log, %d tries:\n%s", n, disk.tries.Load(), lines.String())
		}

		d, err := Open(Config{Dir: "again", Disk: mem, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}

		if value, found, err := d.Get([]byte("k")); string(value) != "v" || !found || err != nil {
			t.Errorf("with a disk that works: %q, %t, %v", value, found, err)
		}

		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}
