package jsonpath

import (
	"fmt"
	"strconv"
	"strings"

	"ratchet/embedded/internal/stepfunctions/rawjson"
)

// Path is a compiled path.
type Path struct {
	text    string
	context bool // starts with $$
	many    bool // may match more than one place
	steps   []step
	way     []rawjson.Step // the steps of a plain path; nil otherwise
}

type stepKind byte

const (
	stepMembers stepKind = iota // one or more names
	stepIndexes                 // one or more indexes
	stepSlice
	stepAll
	stepDescend // this value and everything under it
	stepFilter
)

type step struct {
	kind           stepKind
	names          []string
	indexes        []int
	from, to, by   int
	hasFrom, hasTo bool
	filter         condition
}

// Compile reads a path. The error says what is wrong and where.
func Compile(text string) (*Path, error) {
	p := &parser{s: text}

	path, err := p.path()
	if err != nil {
		return nil, err
	}

	if p.i != len(text) {
		return nil, p.errorf("unexpected %q", text[p.i])
	}

	return path, nil
}

// String returns the path as it was written.
func (p *Path) String() string { return p.text }

// IsContext reports whether the path reads the context object ($$).
func (p *Path) IsContext() bool { return p.context }

// IsRoot reports whether the path is "$".
func (p *Path) IsRoot() bool { return !p.context && len(p.steps) == 0 }

type parser struct {
	s string
	i int
}

func (p *parser) errorf(format string, args ...any) error {
	return fmt.Errorf("%s at position %d of %q", fmt.Sprintf(format, args...), p.i+1, p.s)
}

func (p *parser) peek() byte {
	if p.i < len(p.s) {
		return p.s[p.i]
	}
	return 0
}

func (p *parser) take(word string) bool {
	if strings.HasPrefix(p.s[p.i:], word) {
		p.i += len(word)
		return true
	}

	return false
}

func (p *parser) space() {
	for p.peek() == ' ' || p.peek() == '\t' || p.peek() == '\n' {
		p.i++
	}
}

// path reads a path that starts with $ or $$ and ends where no step follows.
func (p *parser) path() (*Path, error) {
	from := p.i
	path := &Path{}

	if !p.take("$") {
		return nil, p.errorf("a path must start with $")
	}

	path.context = p.take("$")
	var err error
	if path.steps, err = p.steps(); err != nil {
		return nil, err
	}

	path.text = p.s[from:p.i]
	plain := make([]rawjson.Step, 0, len(path.steps))
	for _, s := range path.steps {
		switch {
		case s.kind == stepMembers && len(s.names) == 1:
			plain = append(plain, rawjson.Step{Name: s.names[0]})
		case s.kind == stepIndexes && len(s.indexes) == 1:
			plain = append(plain, rawjson.Step{Index: s.indexes[0], IsIndex: true})
		default:
			path.many = true
		}
	}

	if !path.many {
		path.way = plain
	}

	return path, nil
}

// maxDescents bounds what a path can cost: each .. multiplies the places it visits.
const maxDescents = 3

// steps reads as many steps as follow.
func (p *parser) steps() ([]step, error) {
	var steps []step
	descents := 0
	for {
		switch {
		case p.take(".."):
			if descents++; descents > maxDescents {
				return nil, p.errorf("a path may descend with .. %d times at most", maxDescents)
			}
			steps = append(steps, step{kind: stepDescend})

			if p.peek() == '[' {
				continue
			}

			s, err := p.dotted()
			if err != nil {
				return nil, err
			}
			steps = append(steps, s)
		case p.take("."):
			s, err := p.dotted()
			if err != nil {
				return nil, err
			}
			steps = append(steps, s)
		case p.take("["):
			s, err := p.bracket()
			if err != nil {
				return nil, err
			}
			steps = append(steps, s)
		default:
			return steps, nil
		}
	}
}

// dotted reads what may follow a dot: a name or *.
func (p *parser) dotted() (step, error) {
	if p.take("*") {
		return step{kind: stepAll}, nil
	}

	from := p.i
	for p.i < len(p.s) && !strings.ContainsRune(".[]()'\", \t\n*?@$=!<>&|{}", rune(p.s[p.i])) {
		p.i++
	}

	if p.i == from {
		return step{}, p.errorf("a name is missing")
	}

	if p.peek() == '(' {
		return step{}, p.errorf("path functions like %s() are not supported", p.s[from:p.i])
	}

	return step{kind: stepMembers, names: []string{p.s[from:p.i]}}, nil
}

// bracket reads what stands between [ and ], which has been opened.
func (p *parser) bracket() (s step, err error) {
	p.space()

	switch c := p.peek(); {
	case c == '*':
		p.i++
		s.kind = stepAll
	case c == '?':
		p.i++
		s.kind = stepFilter
		if s.filter, err = p.filter(); err != nil {
			return s, err
		}
	case c == '\'' || c == '"':
		s.kind = stepMembers
		for {
			name, err := p.quoted()
			if err != nil {
				return s, err
			}
			s.names = append(s.names, name)
			p.space()

			if !p.take(",") {
				break
			}
			p.space()
		}
	default:
		if s, err = p.numbers(); err != nil {
			return s, err
		}
	}
	p.space()

	if !p.take("]") {
		return s, p.errorf("] is missing")
	}

	return s, nil
}

// numbers reads an index, a union of indexes or a slice.
func (p *parser) numbers() (s step, err error) {
	s = step{kind: stepIndexes, by: 1}
	var n int
	n, found := p.number()
	if p.space(); p.take(":") {
		s.kind, s.from, s.hasFrom = stepSlice, n, found
		p.space()

		s.to, s.hasTo = p.number()
		if p.space(); p.take(":") {
			p.space()

			if by, ok := p.number(); ok {
				s.by = by
			}
		}

		if s.by < 1 {
			return s, p.errorf("a slice's step must be positive")
		}

		return s, nil
	}

	if !found {
		return s, p.errorf("an index, a quoted name, * or ?( ) is missing")
	}

	for s.indexes = []int{n}; p.take(","); {
		p.space()

		if n, found = p.number(); !found {
			return s, p.errorf("an index is missing")
		}
		s.indexes = append(s.indexes, n)
		p.space()
	}

	return s, nil
}

func (p *parser) number() (int, bool) {
	from := p.i
	if p.peek() == '-' {
		p.i++
	}

	for p.peek() >= '0' && p.peek() <= '9' {
		p.i++
	}

	n, err := strconv.Atoi(p.s[from:p.i])
	if err != nil {
		p.i = from
	}

	return n, err == nil
}

// quoted reads a string in single or double quotes; a backslash takes the next
// character as it is.
func (p *parser) quoted() (string, error) {
	quote := p.peek()
	if quote != '\'' && quote != '"' {
		return "", p.errorf("a quoted name is missing")
	}

	var out strings.Builder
	for p.i++; p.i < len(p.s); p.i++ {
		switch c := p.s[p.i]; {
		case c == quote:
			p.i++
			return out.String(), nil
		case c == '\\' && p.i+1 < len(p.s):
			p.i++
			out.WriteByte(p.s[p.i])
		default:
			out.WriteByte(c)
		}
	}

	return "", p.errorf("a closing %c is missing", quote)
}
