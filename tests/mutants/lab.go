package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// pkg is a package whose mutants are tried.
type pkg struct {
	Path string // import path
	Dir  string
	// Files are the files that mutants are planted in, Tests those of its tests.
	Files, Tests []string
	texts        map[string][]byte // of Files and Tests
	mutants      []mutant
}

// load finds the package and plants its mutants.
func load(ctx context.Context, path string) (*pkg, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-json=ImportPath,Dir,GoFiles,TestGoFiles,XTestGoFiles", path).Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return nil, fmt.Errorf("%w: %s", err, exit.Stderr)
	} else if err != nil {
		return nil, err
	}

	var listed struct {
		ImportPath, Dir                    string
		GoFiles, TestGoFiles, XTestGoFiles []string
	}
	if err := json.Unmarshal(out, &listed); err != nil {
		return nil, fmt.Errorf("%s: not one package: %w", path, err)
	}

	p := &pkg{Path: listed.ImportPath, Dir: listed.Dir, Files: listed.GoFiles, texts: map[string][]byte{}}
	p.Tests = append(listed.TestGoFiles, listed.XTestGoFiles...)

	for _, name := range append(append([]string{}, p.Files...), p.Tests...) {
		if p.texts[name], err = os.ReadFile(filepath.Join(p.Dir, name)); err != nil {
			return nil, err
		}
	}

	for _, name := range p.Files {
		found, err := plant(name, p.texts[name])
		if err != nil {
			return nil, err
		}
		p.mutants = append(p.mutants, found...)
	}

	return p, nil
}

// outcome says what the tests made of a mutant.
type outcome string

const (
	killed   outcome = "killed"    // a test failed
	timedOut outcome = "timed out" // the tests did not end: noticed, too
	invalid  outcome = "invalid"   // it does not compile
	survived outcome = "survived"
)

// lab builds and runs the tests of one package.
type lab struct {
	pkg     *pkg
	dir     string // temporary
	timeout time.Duration
}

// newLab runs the tests without a mutant. They must pass.
func newLab(ctx context.Context, p *pkg, timeout time.Duration) (*lab, error) {
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return nil, err
	}
	l := &lab{pkg: p, dir: dir, timeout: time.Hour}

	if text, err := l.build(ctx, ""); err != nil {
		l.close()
		return nil, fmt.Errorf("build the tests: %w: %s", err, text)
	}

	began := time.Now()

	if text, err := l.test(ctx); err != nil {
		l.close()
		return nil, fmt.Errorf("the tests fail without a mutant: %w: %s", err, text)
	}

	if l.timeout = timeout; timeout == 0 {
		l.timeout = 5*time.Since(began) + 10*time.Second
	}

	return l, nil
}

func (l *lab) close() { _ = os.RemoveAll(l.dir) }

// try runs the tests against the mutant.
func (l *lab) try(ctx context.Context, m mutant) (outcome, error) {
	file, overlay := filepath.Join(l.dir, "mutant.go"), filepath.Join(l.dir, "overlay.json")
	if err := os.WriteFile(file, m.apply(l.pkg.texts[m.File]), 0o600); err != nil {
		return "", err
	}

	text, err := json.Marshal(map[string]map[string]string{"Replace": {filepath.Join(l.pkg.Dir, m.File): file}})
	if err != nil {
		return "", err
	}

	if err := os.WriteFile(overlay, text, 0o600); err != nil {
		return "", err
	}

	output, err := l.build(ctx, overlay)
	if ctx.Err() != nil {
		return "", ctx.Err()
	}

	if err != nil {
		if !l.pkg.isCompileError(output) {
			return "", fmt.Errorf("build %s: %w: %s", m, err, output)
		}

		return invalid, nil
	}

	output, err = l.test(ctx)
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err == nil:
		return survived, nil
	case bytes.Contains(output, []byte("panic: test timed out after")) || errors.Is(err, context.DeadlineExceeded):
		return timedOut, nil
	}

	return killed, nil
}

// isCompileError reports whether the build failed because the package, or its tests with
// it, did not compile, and not for want of memory, say.
func (p *pkg) isCompileError(output []byte) bool {
	for row := range strings.Lines(string(output)) {
		row = strings.TrimSpace(row)
		if row == "# "+p.Path || strings.HasPrefix(row, "# "+p.Path+" [") || strings.HasPrefix(row, "# "+p.Path+"_test [") {
			return true
		}
	}

	return false
}

// build builds the tests. It returns what the compiler prints.
func (l *lab) build(ctx context.Context, overlay string) ([]byte, error) {
	args := []string{"test", "-c", "-vet=off", "-ldflags=-s -w", "-o", filepath.Join(l.dir, "tests")}
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}

	return exec.CommandContext(ctx, "go", append(args, l.pkg.Path)...).CombinedOutput()
}

// test runs what was built. The process gets a while longer than its own time limit, for
// mutants that it cannot end by itself.
func (l *lab) test(ctx context.Context) ([]byte, error) {
	limited, cancel := context.WithTimeout(ctx, l.timeout+10*time.Second)
	defer cancel()

	cmd := exec.CommandContext(limited, filepath.Join(l.dir, "tests"), "-test.short", "-test.failfast", "-test.timeout="+l.timeout.String())
	cmd.Dir = l.pkg.Dir
	cmd.WaitDelay = time.Second

	output, err := cmd.CombinedOutput()
	if err != nil && limited.Err() != nil {
		err = errors.Join(err, limited.Err())
	}

	return output, err
}
