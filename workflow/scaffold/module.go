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

// FindModule returns the directory of Ratchet's sources: the nearest directory
// above start that holds them. Otherwise it is built, the directory in which the
// program was built, or "" if that does not hold them.
func FindModule(start, built string) string {
	holds := func(dir string) bool {
		_, err := os.Stat(filepath.Join(dir, "workflow", "scaffold", "module.go"))
		return err == nil
	}

	for dir, err := filepath.Abs(start); err == nil; dir = filepath.Dir(dir) {
		if holds(dir) {
			return dir
		}

		// The root is its own parent.
		if dir == filepath.Dir(dir) {
			break
		}
	}

	// A program that was built with -trimpath knows no full path.
	if filepath.IsAbs(built) && holds(built) {
		return built
	}

	return ""
}
