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
	"regexp"
	"strings"
	"time"
)

// pkg is a package whose mutants are tried.
type pkg struct {
	Path string // import path
	Dir  string
	// Files are the files in which mutants are planted, Tests the files of its tests.
	Files, Tests []string
	texts        map[string][]byte // of Files and Tests
	mutants      []mutant
}

// load finds the package and plants its mutants.
func load(ctx context.Context, path string) (*pkg, error) {
	// go list knows build tags and the files of this system.
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

// outcome says how the tests ended with a mutant.
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
	tests   []test
	woven   map[string]int // the number of each mutant that is woven, by its name
}

// newLab runs the tests without a mutant, which must pass, and builds the mutants.
func newLab(ctx context.Context, p *pkg, tests *regexp.Regexp, timeout time.Duration, wanted []mutant) (*lab, error) {
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return nil, err
	}
	l := &lab{pkg: p, dir: dir, timeout: timeout, woven: map[string]int{}}

	if err = l.measure(ctx, tests); err == nil {
		err = l.weave(ctx, wanted)
	}

	if err == nil && len(l.woven) > 0 {
		// The woven program must pass with number 0: weaving itself must not change how the tests
		// end.
		var output []byte
		if output, err = l.runTests(ctx, l.wovenTests(), 0, time.Hour, names(l.tests)); err != nil {
			err = fmt.Errorf("the tests fail without a mutant: %w: %s", err, output)
		}
	}

	if err != nil {
		l.close()
		return nil, err
	}

	return l, nil
}

func (l *lab) close() { _ = os.RemoveAll(l.dir) }

// try runs the tests that execute the mutant.
func (l *lab) try(ctx context.Context, m mutant) (outcome, error) {
	tests := l.testsOf(m)
	// No test executes the code, so none can notice the mutant.
	if len(tests) == 0 {
		return survived, nil
	}
	number, woven := l.woven[m.Name]
	program := l.wovenTests()

	if !woven {
		program = filepath.Join(l.dir, "tests")

		if compiles, err := l.buildAlone(ctx, m, program); err != nil || !compiles {
			return invalid, err
		}
	}

	// Most mutants die by a quick test; the second group runs only if the first noticed nothing.
	for _, group := range groups(tests) {
		// Generous: a slow machine must not look like a mutant that loops.
		limit := 5 * time.Second
		for _, t := range group {
			limit += 5 * t.took
		}

		if l.timeout > 0 {
			limit = l.timeout
		}

		output, err := l.runTests(ctx, program, number, limit, names(group))
		switch {
		case ctx.Err() != nil:
			return "", ctx.Err()
		case err == nil:
		// Both ways to notice a loop: Go's own limit of the tests, and the end of the process.
		case bytes.Contains(output, []byte("panic: test timed out after")) || errors.Is(err, context.DeadlineExceeded):
			return timedOut, nil
		default:
			return killed, nil
		}
	}

	return survived, nil
}

// buildAlone builds the tests with one mutant. It returns false if they do not compile.
func (l *lab) buildAlone(ctx context.Context, m mutant, program string) (compiles bool, err error) {
	overlay, err := l.writeOverlay("alone", map[string][]byte{m.File: m.apply(l.pkg.texts[m.File])})
	if err != nil {
		return false, err
	}

	output, err := l.build(ctx, overlay, program)
	switch {
	case ctx.Err() != nil:
		return false, ctx.Err()
	case err == nil:
		return true, nil
	// A mutant that does not compile is no failure of the run.
	case l.pkg.isCompileError(output):
		return false, nil
	}

	return false, fmt.Errorf("build %s: %w: %s", m, err, output)
}

// writeOverlay writes texts that the compiler takes for the files of the package with these names,
// and returns the path of the overlay. Overlays of different kinds have different files.
func (l *lab) writeOverlay(kind string, texts map[string][]byte) (overlay string, err error) {
	replaced := map[string]string{}
	for name, text := range texts {
		// The kind keeps the files of two overlays apart: both exist at the same time.
		file := filepath.Join(l.dir, kind+"_"+name)
		replaced[filepath.Join(l.pkg.Dir, name)] = file

		if err := os.WriteFile(file, text, 0o600); err != nil {
			return "", err
		}
	}

	text, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		return "", err
	}
	overlay = filepath.Join(l.dir, kind+".json")

	return overlay, os.WriteFile(overlay, text, 0o600)
}

// isCompileError reports whether the build failed because the package or its tests did not compile,
// and not for another reason, such as too little memory.
func (p *pkg) isCompileError(output []byte) bool {
	for row := range strings.Lines(string(output)) {
		row = strings.TrimSpace(row)
		if row == "# "+p.Path || strings.HasPrefix(row, "# "+p.Path+" [") || strings.HasPrefix(row, "# "+p.Path+"_test [") {
			return true
		}
	}

	return false
}

// build builds the tests as a program. It returns the compiler's output.
func (l *lab) build(ctx context.Context, overlay, program string, flags ...string) ([]byte, error) {
	// Without symbols and vet: the program is built for one short run.
	args := append([]string{"test", "-c", "-vet=off", "-ldflags=-s -w", "-o", program}, flags...)
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}

	return exec.CommandContext(ctx, "go", append(args, l.pkg.Path)...).CombinedOutput()
}

// runTests runs the named tests of a program with the mutant of the number, 0 for none. The
// process gets a while longer than its own time limit, for mutants that it cannot end by
// itself.
func (l *lab) runTests(ctx context.Context, program string, number int, limit time.Duration, names []string, flags ...string) ([]byte, error) {
	limited, cancel := context.WithTimeout(ctx, limit+10*time.Second)
	defer cancel()

	args := append([]string{"-test.short", "-test.failfast", "-test.timeout=" + limit.String(), "-test.run=^(" + strings.Join(names, "|") + ")$"}, flags...)

	cmd := exec.CommandContext(limited, program, args...)
	// Tests read their testdata by relative paths.
	cmd.Dir = l.pkg.Dir
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", chosenBy, number))
	// A mutant can leave a child process with the pipes open; the run must not wait for it.
	cmd.WaitDelay = time.Second

	output, err := cmd.CombinedOutput()
	// A killed process reports its signal, not the time limit.
	if err != nil && limited.Err() != nil {
		err = errors.Join(err, limited.Err())
	}

	return output, err
}
