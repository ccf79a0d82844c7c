package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestAVersionIsATagOfACleanCommit: a version is refused before its tag is there, while a file differs, and while
// the changelog says that it is not released.
func TestAVersionIsATagOfACleanCommit(t *testing.T) {
	module := t.TempDir()
	run := func(args ...string) {
		t.Helper()

		args = append([]string{"-C", module, "-c", "user.name=t", "-c", "user.email=t@example.org"}, args...)
		if text, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v: %s", args, err, text)
		}
	}
	write := func(text string) {
		t.Helper()

		if err := os.WriteFile(filepath.Join(module, "CHANGELOG.md"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	refused := func(want string) {
		t.Helper()

		if _, err := versionOf(module, "v1.2.0"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}

	run("init", "-q")
	write("# Changelog\n\n## 1.2.0 - 2027-01-31\n\n- New.\n\n## 1.1.0 - 2026-01-31\n\n- Old.\n")
	run("add", "-A")
	run("commit", "-q", "-m", "one")

	refused("does not carry this tag")
	run("tag", "v1.2.0")

	if version, err := versionOf(module, "v1.2.0"); err != nil || version != "v1.2.0" {
		t.Fatalf("%q, %v", version, err)
	}

	if err := writeChanges(module, module, "v1.2.0"); err != nil {
		t.Fatal(err)
	}

	if text, err := os.ReadFile(filepath.Join(module, "CHANGES.md")); err != nil || string(text) != "- New.\n" {
		t.Errorf("%q, %v", text, err)
	}

	// A file that git does not track counts as well.
	refused("files differ from the commit")

	for changelog, want := range map[string]string{"## 1.2.0 (unreleased)\n\n- New.\n": "write the day", "## 1.1.0\n": "has no section"} {
		if _, err := sectionOf(changelog, "v1.2.0"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
