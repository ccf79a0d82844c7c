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
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"ratchet/internal/templates"
	"ratchet/workflow"
	"ratchet/workflow/file"
)

//go:embed files/*/*.tmpl
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
	// With are the parts that the program uses, of [Features]. Without any it is a ticket, which has none of
	// them.
	With []string
	// Machine writes the state machine.
	Machine func(Plan) ([]byte, error)
}

// Features are the parts of Ratchet that a program can be begun with.
func Features() []string { return []string{"payments", "shipping", "stock"} }

// Plan is what the state machine of a program does.
type Plan struct {
	Definition *workflow.Definition
	// Outside are the events that other callers make.
	Outside []workflow.Event
	// Steps are the steps of the program, in their order.
	Steps []Step
}

// Step is a step of the program. It runs before an event; after its refusal another one is applied.
type Step struct {
	Name, Placeholder string
	Before, Refused   workflow.Event
}

var nameRule = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9-]{0,31}$`) })

// New writes the files and returns their names. If it fails, it may have written some of them.
func New(o Options) ([]string, error) {
	if !nameRule().MatchString(o.Name) {
		return nil, fmt.Errorf("%w: name %q: 1 to 32 of a-z 0-9 -, beginning with a letter", ErrInvalid, o.Name)
	}

	if err := o.checkFeatures(); err != nil {
		return nil, err
	}

	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, err
	}

	if err := checkEmpty(dir); err != nil {
		return nil, err
	}

	// Checked late, so that mistakes in the name, the parts and the directory are reported first.
	if o.Module == "" {
		return nil, fmt.Errorf("%w: module: the sources of Ratchet are neither above this directory nor where this program was built: name their directory (--module)", ErrInvalid)
	}

	mod, err := readModule(o.Module)
	if err != nil {
		return nil, err
	}

	// Such a module could not import Ratchet: its own path would hide it.
	if o.Name == mod.path || strings.HasPrefix(mod.path, o.Name+"/") {
		return nil, fmt.Errorf("%w: name %q: is the path of Ratchet's module", ErrInvalid, o.Name)
	}

	content, err := o.Render(mod.path)
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
func (o Options) Render(modulePath string) (map[string][]byte, error) {
	folder := "ticket"
	if len(o.With) > 0 {
		folder = "shop"
	}

	if err := o.checkFeatures(); err != nil {
		return nil, err
	}

	sources, err := fs.Glob(files, "files/"+folder+"/*.tmpl")
	if err != nil {
		return nil, err
	}

	has := func(feature string) bool { return slices.Contains(o.With, feature) }
	data := struct {
		Name, Ratchet             string
		Payments, Shipping, Stock bool
	}{o.Name, modulePath, has("payments"), has("shipping"), has("stock")}

	content := map[string][]byte{file.SchemaName: file.Schema()}
	for _, name := range sources {
		text, err := render(name, data)
		if err != nil {
			return nil, err
		}

		target := strings.TrimSuffix(path.Base(name), ".tmpl")
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

	definition, err := file.Parse("workflow.yaml", content["workflow.yaml"])
	if err != nil {
		return nil, err
	}

	content["statemachine.asl.json"], err = o.Machine(o.plan(definition))

	return content, err
}

// render fills a template of the files.
func render(name string, data any) (*bytes.Buffer, error) {
	source, err := files.ReadFile(name)
	if err != nil {
		return nil, err
	}

	t, err := templates.Parse(name, string(source), templates.Options{Strict: true})
	if err != nil {
		return nil, err
	}

	var text bytes.Buffer

	return &text, t.Execute(&text, data)
}

// checkFeatures fails if the program is to use what is no part.
func (o Options) checkFeatures() error {
	for _, feature := range o.With {
		if !slices.Contains(Features(), feature) {
			return fmt.Errorf("%w: with %q: one or several of %s", ErrInvalid, feature, strings.Join(Features(), ", "))
		}
	}

	return nil
}

// plan returns what the state machine does. The ticket is resolved by a person; where a program has no part that
// makes an event, a person makes it, too.
func (o Options) plan(d *workflow.Definition) Plan {
	if len(o.With) == 0 {
		return Plan{d, []workflow.Event{"resolve"}, []Step{{Name: "triage", Placeholder: "TriageArn", Before: "assign"}}}
	}

	p := Plan{Definition: d, Outside: []workflow.Event{"send", "receive"}}
	if slices.Contains(o.With, "stock") {
		p.Steps = append(p.Steps, Step{"reserve", "ReserveArn", "accept", "reject"})
	}

	if slices.Contains(o.With, "payments") {
		p.Steps = append(p.Steps, Step{"charge", "ChargeArn", "accept", "decline"})
	}

	return p
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
