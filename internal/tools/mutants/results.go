package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// results are the outcomes of a package's mutants in a file, one line of JSON each.
type results struct {
	file *os.File
	// source is the digest of each file, all the digest of the package with its tests.
	source map[string]string
	all    string
	known  map[string]line // by name of the mutant
}

// line is one outcome, with the digests that it depends on.
type line struct {
	Name    string  `json:"name"`
	Outcome outcome `json:"outcome"`
	Source  string  `json:"source"`
	All     string  `json:"all"`
}

// openResults reads the outcomes of earlier runs. A mutant that was killed stays killed while its
// file is the same. A survivor is tried again when the package or its tests have changed.
func openResults(o options, p *pkg) (*results, error) {
	r := &results{source: map[string]string{}, known: map[string]line{}}

	all := sha256.New()
	for _, name := range append(slices.Clone(p.Files), p.Tests...) {
		sum := sha256.Sum256(p.texts[name])
		r.source[name] = hex.EncodeToString(sum[:8])
		_, _ = fmt.Fprintln(all, name, r.source[name]) // a hash does not fail
	}
	r.all = hex.EncodeToString(all.Sum(nil)[:8])

	// One file a package: a slash cannot be in a name.
	path := filepath.Join(o.cache, strings.ReplaceAll(p.Path, "/", "_")+".jsonl")
	if err := os.MkdirAll(o.cache, 0o750); err != nil {
		return nil, err
	}

	if !o.fresh {
		if err := r.read(path); err != nil {
			return nil, err
		}
	}

	flags := os.O_CREATE | os.O_APPEND | os.O_WRONLY
	if o.fresh {
		flags |= os.O_TRUNC
	}

	var err error
	r.file, err = os.OpenFile(path, flags, 0o600)

	return r, err
}

// read reads the outcomes. The last line may have been cut off by an interruption.
func (r *results) read(path string) error {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}

	if err != nil {
		return err
	}

	for row := range bytes.Lines(text) {
		var l line
		// The last line may be cut off; its mutant is tried again. Of two lines of a mutant the
		// later one counts.
		if json.Unmarshal(row, &l) == nil {
			r.known[l.Name] = l
		}
	}

	return nil
}

// of returns the outcome of an earlier run if it still holds.
func (r *results) of(m mutant) (outcome, bool) {
	l, ok := r.known[m.Name]
	if !ok || l.Source != r.source[m.File] || l.Outcome == survived && l.All != r.all {
		return "", false
	}

	return l.Outcome, true
}

func (r *results) add(m mutant, o outcome) error {
	row, err := json.Marshal(line{Name: m.Name, Outcome: o, Source: r.source[m.File], All: r.all})
	if err != nil {
		return err
	}
	_, err = r.file.Write(append(row, '\n'))

	return err
}

func (r *results) Close() { _ = r.file.Close() }

// result is a mutant with its outcome.
type result struct {
	mutant

	Outcome outcome `json:"outcome"`
	Reason  string  `json:"reason,omitempty"`
}

// report has the outcomes of the mutants of a package.
type report struct {
	Package string   `json:"package"`
	Mutants []result `json:"mutants"`
}

// count counts the mutants with the outcome. Survivors that are explained do not count.
func (r report) count(o outcome, explained map[string]string) (n int) {
	for _, m := range r.Mutants {
		if m.Outcome == o && explained[r.key(m)] == "" {
			n++
		}
	}

	return n
}

// key names the mutant of the package in the file of explanations.
func (r report) key(m result) string {
	// The module's name is left out: `make module` changes it.
	return r.Package[strings.Index(r.Package, "/")+1:] + "/" + m.Name
}

// readExplained reads the survivors that make no difference: the name of a mutant, a tab
// and the reason on each line. Lines that begin with # are comments.
func readExplained(path string) (map[string]string, error) {
	explained := map[string]string{}

	// A package need not have explanations.
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return explained, nil
	}

	if err != nil {
		return nil, err
	}
	defer file.Close()

	scanner := bufio.NewScanner(file)
	for n := 1; scanner.Scan(); n++ {
		row := strings.TrimSpace(scanner.Text())
		if row == "" || strings.HasPrefix(row, "#") {
			continue
		}

		name, reason, ok := strings.Cut(row, "\t")
		if !ok {
			return nil, fmt.Errorf("%s:%d: want the name of a mutant, a tab, and the reason", path, n)
		}
		explained[name] = strings.TrimSpace(reason)
	}

	return explained, scanner.Err()
}

// printReports prints the survivors and a summary of each package.
func printReports(out io.Writer, asJSON bool, reports []report, explained map[string]string) error {
	if asJSON {
		// Reasons are looked up here, so that the cached results need none.
		for _, r := range reports {
			for i, m := range r.Mutants {
				r.Mutants[i].Reason = explained[r.key(m)]
			}
		}
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")

		return encoder.Encode(reports)
	}

	for _, r := range reports {
		known := 0
		for _, m := range r.Mutants {
			switch {
			case m.Outcome != survived:
			case explained[r.key(m)] != "":
				known++
			default:
				fmt.Fprintf(out, "%s/%s\n\t%s\n", r.Package, m.mutant, r.key(m))
			}
		}
		fmt.Fprintf(out, "%s: %d mutants: %d killed, %d timed out, %d survived, %d survivors explained, %d do not compile\n", r.Package, len(r.Mutants),
			r.count(killed, nil), r.count(timedOut, nil), r.count(survived, explained), known, r.count(invalid, nil))
	}

	return nil
}
