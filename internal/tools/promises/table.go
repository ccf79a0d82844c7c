package main

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// promise is one row of the table.
type promise struct {
	id string
	// tests are the names of test functions by the package that has them.
	pkg    string
	tests  []string
	broken change
}

// change replaces a text that is in the file exactly once.
type change struct{ file, from, to string }

func (c change) String() string { return fmt.Sprintf("%s: %s -> %s", c.file, c.from, c.to) }

// A break is written as `once/do.go`: `from` → `to`. An empty second text removes the first.
var (
	breakRule = regexp.MustCompile("^`([^`]+)`: `([^`]+)` → (?:`([^`]*)`|nothing)$")
	testsRule = regexp.MustCompile("^`([^`]+)`: (`Test\\w+`(?:, `Test\\w+`)*)$")
	idRule    = regexp.MustCompile(`^[A-Z]+[0-9]+[a-z]?$`)
)

const heading = "## Promises\n"

// parse reads the table with the columns id, promise, test, break.
func parse(document string) (all []promise, err error) {
	_, section, found := strings.Cut(document, heading)
	if !found {
		return nil, fmt.Errorf("no section %q", strings.TrimSpace(heading))
	}
	section, _, _ = strings.Cut(section, "\n## ")

	seen := map[string]bool{}
	for line := range strings.Lines(section) {
		// Text between the tables, and their heads.
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "|---") || strings.HasPrefix(line, "| id |") {
			continue
		}

		p, err := parseRow(line)
		if err != nil {
			return nil, fmt.Errorf("row %s: %w", strings.TrimSpace(line), err)
		}

		if seen[p.id] {
			return nil, fmt.Errorf("promise %s has two rows", p.id)
		}
		seen[p.id] = true
		all = append(all, p)
	}

	if len(all) == 0 {
		return nil, errors.New("the table of promises has no rows")
	}

	return all, nil
}

func parseRow(line string) (promise, error) {
	// A | inside of a cell is written \|.
	const bar = "\x00"

	cells := strings.Split(strings.Trim(strings.ReplaceAll(strings.TrimSpace(line), `\|`, bar), "|"), "|")
	if len(cells) != 4 {
		return promise{}, fmt.Errorf("%d cells, want id, promise, test, break", len(cells))
	}

	for i := range cells {
		cells[i] = strings.TrimSpace(strings.ReplaceAll(cells[i], bar, "|"))
	}

	p := promise{id: cells[0]}
	if !idRule.MatchString(p.id) {
		return promise{}, errors.New("the id has capital letters, digits, and one small letter at most")
	}

	tests := testsRule.FindStringSubmatch(cells[2])
	if tests == nil {
		return promise{}, errors.New("the test is written as `package`: `TestA`, `TestB`")
	}

	p.pkg = tests[1]
	for t := range strings.SplitSeq(tests[2], ", ") {
		p.tests = append(p.tests, strings.Trim(t, "`"))
	}

	parts := breakRule.FindStringSubmatch(cells[3])
	if parts == nil {
		return promise{}, errors.New("the break is written as `file.go`: `from` → `to`, or → nothing")
	}
	p.broken = change{file: parts[1], from: parts[2], to: parts[3]}

	return p, nil
}
