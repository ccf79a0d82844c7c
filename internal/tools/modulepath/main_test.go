package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// tree writes files into a new directory.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()

	dir := t.TempDir()
	for name, text := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}

		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	return dir
}

func TestEveryImportGetsTheNewPath(t *testing.T) {
	t.Parallel()

	dir := tree(t, map[string]string{
		"go.mod":         "module ratchet\n\ngo 1.26\n",
		"a/a.go":         "package a\n\nconst Name = \"ratchet\"\n",
		"root.go":        "package ratchet\n",
		"b/b.go":         "package b\n\nimport (\n\tr \"ratchet\"\n\t\"ratchet/a\"\n)\n\nvar _, _, _, _, _ = a.Name, \"ratchet\", \"ratchet/a\", \"ratchet/a/\", \"ratchet/none\"\n",
		"b/c.go":         "package b\n\nvar all = \"ratchet/...\"\n",
		"own/go.mod":     "module own\n\ngo 1.26\n\nrequire ratchet v0.0.0\n\nreplace ratchet => ../\n",
		"below/go.mod":   "module ratchet/below\n\ngo 1.26\n",
		".hidden/x/x.go": "package x\n\nimport _ \"ratchet/a\"\n",
	})

	if err := run(dir, "example.org/you/ratchet"); err != nil {
		t.Fatal(err)
	}

	for name, want := range map[string]string{
		"go.mod":         "module example.org/you/ratchet\n\ngo 1.26\n",
		"a/a.go":         "package a\n\nconst Name = \"ratchet\"\n",
		"b/b.go":         "package b\n\nimport (\n\tr \"example.org/you/ratchet\"\n\t\"example.org/you/ratchet/a\"\n)\n\nvar _, _, _, _, _ = a.Name, \"ratchet\", \"example.org/you/ratchet/a\", \"ratchet/a/\", \"ratchet/none\"\n",
		"b/c.go":         "package b\n\nvar all = \"example.org/you/ratchet/...\"\n",
		"below/go.mod":   "module example.org/you/ratchet/below\n\ngo 1.26\n",
		".hidden/x/x.go": "package x\n\nimport _ \"ratchet/a\"\n",
	} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}

		if string(text) != want {
			t.Errorf("%s:\n%s\nwant\n%s", name, text, want)
		}
	}

	own, err := os.ReadFile(filepath.Join(dir, "own/go.mod"))
	if err != nil {
		t.Fatal(err)
	}

	for _, want := range []string{"require example.org/you/ratchet v0.0.0", "replace example.org/you/ratchet => ../"} {
		if !strings.Contains(string(own), want) {
			t.Errorf("own/go.mod lacks %q:\n%s", want, own)
		}
	}

	build := exec.CommandContext(t.Context(), "go", "vet", "./a")
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		t.Errorf("the renamed module does not build: %v\n%s", err, out)
	}
}

func TestAPathThatGoGetCannotResolveIsRefused(t *testing.T) {
	t.Parallel()

	for _, path := range []string{"", "ratchet", "you/ratchet", "https://example.org/ratchet", "example.org/you/", "example.org/a b"} {
		if err := run(t.TempDir(), path); err == nil || !strings.Contains(err.Error(), "is no module path") {
			t.Errorf("%q: %v", path, err)
		}
	}
}

func TestADirectoryWithoutAModuleIsRefused(t *testing.T) {
	t.Parallel()

	if err := run(t.TempDir(), "example.org/you/ratchet"); err == nil || !strings.Contains(err.Error(), "root of the module") {
		t.Errorf("%v", err)
	}
}
