package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// test is a top-level test of the package: the blocks that it executes, and how long it takes.
type test struct {
	name   string
	took   time.Duration
	blocks map[block]bool // of the package, and whether the test executes it
}

// block is a part of a file that is executed as a whole.
type block struct {
	file       string
	begin, end place
}

// place is a line and a column of a file, in bytes, from 1.
type place struct{ line, column int }

func (p place) isBefore(q place) bool {
	return p.line < q.line || p.line == q.line && p.column < q.column
}

func (b block) contains(file string, at place) bool {
	return b.file == file && !at.isBefore(b.begin) && at.isBefore(b.end)
}

// measure runs each test that is wanted by itself, without a mutant. They must pass.
func (l *lab) measure(ctx context.Context, wanted *regexp.Regexp) error {
	// With coverage, which shows the blocks that each test executes.
	if output, err := l.build(ctx, "", l.plainTests(), "-cover"); err != nil {
		return fmt.Errorf("build the tests: %w: %s", err, output)
	}

	list := exec.CommandContext(ctx, l.plainTests(), "-test.list", ".")
	list.Dir = l.pkg.Dir

	all, err := list.Output()
	if err != nil {
		return fmt.Errorf("list the tests: %w", err)
	}

	for name := range strings.Lines(string(all)) {
		name = strings.TrimSpace(name)
		// Examples and fuzz targets with their seeds run, too.
		if strings.HasPrefix(name, "Benchmark") || !wanted.MatchString(name) {
			continue
		}
		profile := filepath.Join(l.dir, "profile")
		began := time.Now()

		// Each test runs alone. A test that depends on an earlier test fails here, with its name.
		if output, err := l.runTests(ctx, l.plainTests(), 0, time.Hour, []string{name}, "-test.coverprofile="+profile); err != nil {
			return fmt.Errorf("%s fails without a mutant: %w: %s", name, err, output)
		}

		text, err := os.ReadFile(profile)
		if err != nil {
			return err
		}
		l.tests = append(l.tests, test{name: name, took: time.Since(began), blocks: blocksOf(string(text))})
	}
	slices.SortStableFunc(l.tests, func(a, b test) int { return int(a.took - b.took) })

	return nil
}

func (l *lab) plainTests() string { return filepath.Join(l.dir, "plain") }

var profileRule = regexp.MustCompile(`(?m)^(.+):(\d+)\.(\d+),(\d+)\.(\d+) \d+ (\d+)$`)

// blocksOf returns the blocks of a cover profile, and whether they were executed.
func blocksOf(profile string) map[block]bool {
	blocks := map[block]bool{}
	for _, row := range profileRule.FindAllStringSubmatch(profile, -1) {
		number := func(i int) int {
			n, _ := strconv.Atoi(row[i]) // the rule admits digits only
			return n
		}
		blocks[block{path.Base(row[1]), place{number(2), number(3)}, place{number(4), number(5)}}] = row[6] != "0"
	}

	return blocks
}

// testsOf returns the tests that execute the code of a mutant, the quickest first. Code outside of
// functions is executed by all tests. A place without a block of its own, such as the condition of
// a case, may be executed by each test that executes its function.
func (l *lab) testsOf(m mutant) []test {
	// A package's variables are set before any test.
	if m.scopeEnd == 0 {
		return l.tests
	}
	at := l.placeAt(m, m.begin)
	begin, end := l.placeAt(m, m.scopeBegin), l.placeAt(m, m.scopeEnd)

	var inBlock, inFunction []test
	known := false
	for _, t := range l.tests {
		function := false
		for b, executed := range t.blocks {
			switch {
			case b.contains(m.File, at):
				known = true

				if executed {
					inBlock = append(inBlock, t)
				}
			case executed && b.file == m.File && !b.begin.isBefore(begin) && b.begin.isBefore(end):
				function = true
			}
		}

		if function {
			inFunction = append(inFunction, t)
		}
	}

	// The block of the mutant is in the profile, so its tests are known exactly.
	if known {
		return inBlock
	}

	return inFunction
}

func (l *lab) placeAt(m mutant, offset int) place {
	text := l.pkg.texts[m.File][:offset]
	return place{1 + countLines(text), offset - bytes.LastIndexByte(text, '\n')}
}

func names(tests []test) (all []string) {
	for _, t := range tests {
		all = append(all, t.name)
	}

	return all
}

// groups splits tests in two, so that the quick ones can end a run before the others begin.
func groups(tests []test) [][]test {
	var sum, quick time.Duration
	for _, t := range tests {
		sum += t.took
	}

	for i, t := range tests {
		// The first fifth of the time.
		if quick += t.took; quick > sum/5 && i > 0 {
			return [][]test{tests[:i], tests[i:]}
		}
	}

	return [][]test{tests}
}
