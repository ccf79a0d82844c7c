// Package scaffold writes the beginning of a workflow: a definition, a state machine that fits it, and a
// Go program with a step, a reaction and tests, in a module of its own.
//
// # Caveats
//
// The files are written once. From then on they are the user's. New overwrites no file.
package scaffold

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"go/format"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"text/template"
)

//go:embed files/*.tmpl
var files embed.FS

// ErrInvalid means that a name or a directory breaks a rule. The text names the rule.
var ErrInvalid = errors.New("workflow new")

// Options say what to write. All fields are required.
type Options struct {
	// Name is the name of the definition, the module and the program: 1 to
	// 32 of a-z 0-9 -, beginning with a letter.
	Name string
	// Dir is the directory. It must be missing or empty.
	Dir string
	// Module is the directory of this module's sources, to which a replace directive leads. [FindModule]
	// looks for it.
	Module string
}

var nameRule = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9-]{0,31}$`) })

// New writes the files and returns their names. If it fails, it may have written some of them.
func New(o Options) ([]string, error) {
	if !nameRule().MatchString(o.Name) {
		return nil, fmt.Errorf("%w: name %q: 1 to 32 of a-z 0-9 -, beginning with a letter", ErrInvalid, o.Name)
	}

	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, err
	}

	if err := checkEmpty(dir); err != nil {
		return nil, err
	}

	// Checked late, so that mistakes in the name and the directory are reported first.
	if o.Module == "" {
		return nil, fmt.Errorf("%w: module: the sources of Ratchet are neither above this directory nor where this program was built: name their directory", ErrInvalid)
	}

	mod, err := readModule(o.Module)
	if err != nil {
		return nil, err
	}

	// Such a module could not import Ratchet: its own path would hide it.
	if o.Name == mod.path || strings.HasPrefix(mod.path, o.Name+"/") {
		return nil, fmt.Errorf("%w: name %q: is the path of Ratchet's module", ErrInvalid, o.Name)
	}

	content, err := Render(o.Name, mod.path)
	if err != nil {
		return nil, err
	}

	content["go.mod"], content["go.sum"] = mod.requiredBy(o.Name, relative(dir, mod.dir)), mod.sums

	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // sources are readable for all
		return nil, err
	}

	// Sorted, so that a failure leaves the same files each time.
	names := slices.Sorted(maps.Keys(content))
	for _, name := range names {
		// O_EXCL: another process may write the same directory.
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644) //nolint:gosec // sources are readable for all
		if err != nil {
			return nil, err
		}

		_, err = f.Write(content[name])
		if err := errors.Join(err, f.Close()); err != nil {
			return nil, err
		}
	}

	return names, nil
}

// Render returns the files of the program by their names, without the files of its module. The program
// imports Ratchet under the module path.
func Render(name, modulePath string) (map[string][]byte, error) {
	templates, err := template.ParseFS(files, "files/*.tmpl")
	if err != nil {
		return nil, err
	}

	content := map[string][]byte{}
	for _, t := range templates.Templates() {
		var text bytes.Buffer
		if err := t.Execute(&text, struct{ Name, Ratchet string }{name, modulePath}); err != nil {
			return nil, err
		}

		target := strings.TrimSuffix(t.Name(), ".tmpl")
		content[target] = text.Bytes()

		// Formatted here, because the length of the name moves columns.
		if strings.HasSuffix(target, ".go") {
			source, err := format.Source(text.Bytes())
			if err != nil {
				return nil, fmt.Errorf("format %s: %w", target, err)
			}
			content[target] = source
		}
	}

	return content, nil
}

// checkEmpty fails if something is in the directory, which need not exist.
func checkEmpty(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err == nil && len(entries) > 0:
		return fmt.Errorf("%w: dir %s: is not empty (%s), and nothing is overwritten", ErrInvalid, dir, entries[0].Name())
	default:
		return err
	}
}

// relative returns the path from one directory to another as a replace directive wants it.
func relative(from, to string) string {
	path, err := filepath.Rel(from, to)
	// A replace directive takes a path that begins with ../ or a full path.
	if err != nil || !strings.HasPrefix(path, "..") {
		return to
	}

	return path
}
