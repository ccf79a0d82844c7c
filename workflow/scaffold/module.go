package scaffold

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// module is a module on disk.
type module struct {
	dir, path string
	// language is the version of its go directive, requirements its require directives.
	language     string
	requirements []string
	sums         []byte
}

// readModule reads the go.mod and go.sum of Ratchet's sources.
func readModule(dir string) (module, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return module{}, err
	}

	text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return module{}, fmt.Errorf("%w: module %s: must be the directory of Ratchet's sources: %w", ErrInvalid, dir, err)
	}

	if _, err := os.Stat(filepath.Join(dir, "workflow", "scaffold")); err != nil {
		return module{}, fmt.Errorf("%w: module %s: must be the directory of Ratchet's sources, and has no workflow/scaffold", ErrInvalid, dir)
	}

	m := module{dir: dir}
	if m.sums, err = os.ReadFile(filepath.Join(dir, "go.sum")); err != nil {
		return module{}, fmt.Errorf("%w: module %s: %w", ErrInvalid, dir, err)
	}

	required := false
	// go.mod is read line by line, so that no library is needed for a few directives.
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(strings.TrimSpace(line), " //")
		word, rest, _ := strings.Cut(line, " ")

		switch {
		case required && line == ")":
			required = false
		case required && line != "":
			m.requirements = append(m.requirements, line)
		case line == "require (":
			required = true
		case word == "require":
			m.requirements = append(m.requirements, rest)
		case word == "module":
			m.path = rest
		case word == "go":
			m.language = rest
		}
	}

	return m, nil
}

// requiredBy returns the go.mod of a module that requires this one by a replace directive that leads to
// place. It repeats the requirements of this module, so that it builds at once. `go mod tidy` drops the
// requirements that it does not need.
func (m module) requiredBy(name, place string) []byte {
	var text bytes.Buffer
	fmt.Fprintf(&text, "module %s\n\ngo %s\n\nrequire %s v0.0.0\n\nrequire (\n", name, m.language, m.path)

	for _, r := range m.requirements {
		fmt.Fprintf(&text, "\t%s // indirect\n", r)
	}
	fmt.Fprintf(&text, ")\n\nreplace %s => %s\n", m.path, place)

	return text.Bytes()
}

// FindModule returns the directory of Ratchet's sources: the nearest directory at or above start that
// holds them, else the nearest at or above the source file of the running program, else "". The source
// file counts only as an absolute path: a program that was built with -trimpath does not know it.
func FindModule(start, source string) string {
	if abs, err := filepath.Abs(start); err == nil {
		if dir := above(abs); dir != "" {
			return dir
		}
	}

	if filepath.IsAbs(source) {
		return above(filepath.Dir(source))
	}

	return ""
}

// above returns the nearest directory at or above dir that holds Ratchet's sources, "" if there
// is none.
func above(dir string) string {
	for {
		if _, err := os.Stat(filepath.Join(dir, "workflow", "scaffold", "module.go")); err == nil {
			return dir
		}

		// The root is its own parent.
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}
