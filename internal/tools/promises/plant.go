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

// limit bounds the tests of one promise. Tests that hang because of the break count as failed.
const limit = time.Minute

// apply returns the text of the file with the change.
func (c change) apply(text string) (string, error) {
	if n := strings.Count(text, c.from); n != 1 {
		return "", fmt.Errorf("%s has %q %d times, want once", c.file, c.from, n)
	}

	return strings.Replace(text, c.from, c.to, 1), nil
}

// try plants the break into the module in root and runs the tests. It reports whether they still pass.
func (p promise) try(ctx context.Context, root string) (held bool, err error) {
	text, err := os.ReadFile(filepath.Join(root, p.broken.file))
	if err != nil {
		return false, err
	}

	broken, err := p.broken.apply(string(text))
	if err != nil {
		return false, err
	}

	dir, err := os.MkdirTemp("", "promise-")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(dir)

	overlay, err := writeOverlay(dir, root, p.broken.file, broken)
	if err != nil {
		return false, err
	}

	cmd := exec.CommandContext(ctx, "go", "test", "-count=1", "-timeout", limit.String(), "-overlay", overlay, "-ldflags=-s -w",
		"-run", "^("+strings.Join(p.tests, "|")+")$", "./"+p.pkg)
	cmd.Dir = root
	output, err := cmd.CombinedOutput()

	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return false, ctx.Err()
	case err == nil && bytes.Contains(output, []byte("no tests to run")):
		return false, fmt.Errorf("%s has no test %s", p.pkg, strings.Join(p.tests, ", "))
	case err == nil:
		return true, nil
	// The tests have run and failed, or have run into their limit.
	case errors.As(err, &exit) && (bytes.Contains(output, []byte("--- FAIL")) || bytes.Contains(output, []byte("panic: "))):
		return false, nil
	}

	return false, fmt.Errorf("the break cannot be tried: %w\n%s", err, output)
}

// writeOverlay writes the changed file, and the file that tells `go test` about it.
func writeOverlay(dir, root, file, text string) (overlay string, err error) {
	changed := filepath.Join(dir, filepath.Base(file))
	if err := os.WriteFile(changed, []byte(text), 0o600); err != nil {
		return "", err
	}

	original, err := filepath.Abs(filepath.Join(root, file))
	if err != nil {
		return "", err
	}

	list, err := json.Marshal(map[string]map[string]string{"Replace": {original: changed}})
	if err != nil {
		return "", err
	}
	overlay = filepath.Join(dir, "overlay.json")

	return overlay, os.WriteFile(overlay, list, 0o600)
}
