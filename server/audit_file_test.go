package server

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestTheAuditFileIsRotated: by a program that moves it, and by its own size. No line is lost.
func TestTheAuditFileIsRotated(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")

	w, err := openAuditFile(path, 40)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })

	write := func(line string) {
		t.Helper()

		if _, err := w.Write([]byte(line + "\n")); err != nil {
			t.Fatal(err)
		}
	}
	has := func(path, want string) {
		t.Helper()

		if text, err := os.ReadFile(path); err != nil || string(text) != want {
			t.Errorf("%s: %q, %v, want %q", filepath.Base(path), text, err, want)
		}
	}

	write("one")

	if err := os.Rename(path, path+".moved"); err != nil {
		t.Fatal(err)
	}

	w.look = time.Time{} // a second has passed

	write("two")
	has(path+".moved", "one\n")
	has(path, "two\n")

	long := strings.Repeat("x", 37)
	write(long)
	write("three")
	has(path+oldAudit, long+"\n")
	has(path, "three\n")
}

// TestTwoProcessesRotateOneAuditFile: the second one does not rename the file that the first one has just begun over the
// one that was full.
//
//raced:here
func TestTwoProcessesRotateOneAuditFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")

	var writers [2]*auditWriter
	for i := range writers {
		w, err := openAuditFile(path, 100)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = w.Close() })
		writers[i] = w
	}

	var lines []string
	for i := range 14 { // 70 and 70 bytes: the file is full once
		line := fmt.Sprintf("line %04d\n", i)
		lines = append(lines, line)

		writers[i%2].look = time.Time{}
		if _, err := writers[i%2].Write([]byte(line)); err != nil {
			t.Fatal(err)
		}
	}

	before, err := os.ReadFile(path + oldAudit)
	if err != nil {
		t.Fatal(err)
	}

	now, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}

	if got := string(before) + string(now); got != strings.Join(lines, "") {
		t.Errorf("the two files have %q", got)
	}
}

// TestAnAuditFileThatCannotBeRotatedIsWritten: no line is lost.
func TestAnAuditFileThatCannotBeRotatedIsWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")

	w, err := openAuditFile(path, 10)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })

	// A directory with a file in it is in the way of the rename.
	if err := os.MkdirAll(filepath.Join(path+oldAudit, "in the way"), 0o700); err != nil {
		t.Fatal(err)
	}

	for range 3 {
		if _, err := w.Write([]byte("a line\n")); err != nil {
			t.Fatal(err)
		}
	}

	if text, err := os.ReadFile(path); err != nil || string(text) != strings.Repeat("a line\n", 3) {
		t.Errorf("%q, %v", text, err)
	}
}
