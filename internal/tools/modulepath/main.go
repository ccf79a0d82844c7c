// Command modulepath changes the path of this module: in go.mod, in every import and in every
// string literal that names one of its packages. Run it at the root of the module:
//
//	go run ./internal/tools/modulepath example.org/you/ratchet
//
// It may run again, with another path. Modules below the root that require this one, as
// examples/own and cmd/bench/peers/poller, then require it under its new path. Documents are not changed.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go run ./internal/tools/modulepath example.org/you/ratchet")
		os.Exit(2)
	}

	if err := run(".", os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "modulepath:", err)
		os.Exit(1)
	}
}

// modulePath matches a path that `go get` can resolve: its first element is a host name.
// https://go.dev/ref/mod#module-path
var modulePath = regexp.MustCompile(`^[a-z0-9-]+(\.[a-z0-9-]+)+(/[A-Za-z0-9._~-]+)*$`)

// run changes the path of the module in the directory dir.
func run(dir, path string) error {
	if !modulePath.MatchString(path) {
		return fmt.Errorf("%q is no module path: want a host name and a path, such as example.org/you/ratchet", path)
	}

	mod, err := readGoMod(filepath.Join(dir, "go.mod"))
	if err != nil {
		return fmt.Errorf("run it at the root of the module: %w", err)
	}

	old := mod.Module.Path

	return filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		// Folders with a dot are no part of the module.
		case d.IsDir() && strings.HasPrefix(d.Name(), ".") && name != dir:
			return filepath.SkipDir
		case d.Name() == "go.mod":
			// The go.mod of a module below the root, too: it requires this module.
			return editGoMod(name, old, path)
		case strings.HasSuffix(name, ".go"):
			return editSource(dir, name, old, path)
		}

		return nil
	})
}

// goMod is the part of `go mod edit -json` that is used here.
type goMod struct {
	Module  struct{ Path string }
	Require []struct{ Path, Version string }
	Replace []struct {
		Old, New struct{ Path, Version string }
	}
}

func readGoMod(name string) (mod goMod, err error) {
	out, err := exec.Command("go", "mod", "edit", "-json", name).Output() //nolint:noctx // ends by itself
	if err != nil {
		return goMod{}, err
	}

	return mod, json.Unmarshal(out, &mod)
}

// editGoMod changes the file's module path if it is the old one or below it, and its require and
// replace directives for the old one.
func editGoMod(name, old, path string) error {
	mod, err := readGoMod(name)
	if err != nil {
		return err
	}

	var edits []string
	// The slash keeps ratchet from matching ratchetlike.
	if below, ours := strings.CutPrefix(mod.Module.Path+"/", old+"/"); ours {
		edits = append(edits, "-module="+strings.TrimSuffix(path+"/"+below, "/"))
	}

	for _, r := range mod.Require {
		if r.Path == old {
			// The version stays: it is v0.0.0 beside a replace directive.
			edits = append(edits, "-droprequire="+old, "-require="+path+"@"+r.Version)
		}
	}

	for _, r := range mod.Replace {
		if r.Old.Path == old {
			edits = append(edits, "-dropreplace="+old, "-replace="+path+"="+r.New.Path)
		}
	}

	if len(edits) == 0 {
		return nil
	}

	args := append(append([]string{"mod", "edit"}, edits...), name)
	if out, err := exec.Command("go", args...).CombinedOutput(); err != nil { //nolint:noctx // as above
		return fmt.Errorf("%s: %w: %s", name, err, out)
	}

	return nil
}

// editSource rewrites the imports and the package names of one file.
func editSource(dir, name, old, path string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}

	changed := inSource(dir, text, old, path)
	// Untouched files keep their times, so builds stay cached.
	if bytes.Equal(text, changed) {
		return nil
	}

	return os.WriteFile(name, changed, 0o644)
}

// inSource replaces the string literals that name the module or one of its packages. The bare path
// of the module counts only in an import: elsewhere it may be an ordinary word, such as "ratchet".
// The function works on tokens, so formatting and comments stay as they are.
func inSource(dir string, text []byte, old, path string) []byte {
	var (
		s       scanner.Scanner
		out     bytes.Buffer
		written int
		imports bool
	)
	files := token.NewFileSet()
	file := files.AddFile("", files.Base(), len(text))
	s.Init(file, text, nil, 0)

	for {
		pos, tok, literal := s.Scan()
		switch tok {
		case token.EOF:
			out.Write(text[written:])
			return out.Bytes()
		case token.IMPORT:
			imports = true
		// Imports stand before every other declaration.
		case token.FUNC, token.TYPE, token.VAR, token.CONST:
			imports = false
		case token.STRING:
			value, err := strconv.Unquote(literal)
			// A raw string is no import path, and may hold a text with the word.
			if err != nil || literal[0] != '"' || !names(dir, value, old, imports) {
				continue
			}

			at := file.Offset(pos)
			out.Write(text[written:at])
			out.WriteString(strconv.Quote(path + strings.TrimPrefix(value, old)))
			written = at + len(literal)
		}
	}
}

// names reports whether the value names the module, one of its packages, or with "/..." the
// packages below one. imported says that the value stands in an import.
func names(dir, value, old string, imported bool) bool {
	if value == old {
		return imported
	}

	below, ok := strings.CutPrefix(value, old+"/")
	if !ok {
		return false
	}

	// A pattern with "..." at the root names all packages.
	if below = strings.TrimSuffix(below, "..."); below == "" {
		return true
	}
	// A path counts only if it is a folder with Go files; other texts with the prefix stay.
	found, err := filepath.Glob(filepath.Join(dir, below, "*.go"))

	return err == nil && len(found) > 0 && !strings.HasSuffix(value, "/")
}
