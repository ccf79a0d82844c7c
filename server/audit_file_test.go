package server

import (
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
