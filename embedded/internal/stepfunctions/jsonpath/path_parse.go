package jsonpath

import (
	"strings"

	"ratchet/embedded/internal/stepfunctions/rawjson"
)

// path reads a path that starts with $, $$ or $name, up to its last step. With an error, the path has the steps before
// the fault.
func (p *parser) path() (*Path, error) {
	from := p.i
	path := &Path{}

	if !p.take("$") {
		return path, p.errorf("a path must start with $")
	}

	if path.variable = p.variable(); path.variable == "" {
		// A second $ is no beginning of a name, so this is the context object.
		path.context = p.take("$")
	}

	var err error
	if path.steps, err = p.steps(); err != nil {
		return path, err
	}

	path.text = p.s[from:p.i]
	// A path that leads to one place only is followed without a search.
	plain := make([]rawjson.Step, 0, len(path.steps))
	for i, s := range path.steps {
		switch {
		case s.kind == stepMembers && i == len(path.steps)-1 && len(s.names) > 1:
			path.merged = s.names
		case s.kind == stepMembers && len(s.names) == 1:
			plain = append(plain, rawjson.Step{Name: s.names[0]})
		case s.kind == stepIndexes && len(s.indexes) == 1:
			plain = append(plain, rawjson.Step{Index: s.indexes[0], IsIndex: true})
		default:
			path.many = true
		}
	}

	if !path.many {
		path.plain = plain
	}

	return path, nil
}

// maxDescents bounds the cost of a path: each .. multiplies the places that the path visits.
const maxDescents = 3

// steps reads all steps that follow. With an error, it returns those before the fault.
func (p *parser) steps() ([]step, error) {
	var steps []step
	descents := 0
	for {
		switch {
		case p.take(".."):
			if descents++; descents > maxDescents {
				return steps, p.errorf("a path may descend with .. %d times at most", maxDescents)
			}

			steps = append(steps, step{kind: stepDescend})

			// The loop reads the bracket as the next step.
			if p.peek() == '[' {
				continue
			}

			s, err := p.dotted()
			if err != nil {
				return steps, err
			}

			steps = append(steps, s)
		case p.take("."):
			// A dot before a bracket means nothing, as in Jayway JsonPath 2: $.['a'] is $['a'].
			if p.peek() == '[' {
				continue
			}

			s, err := p.dotted()
			if err != nil {
				return steps, err
			}

			steps = append(steps, s)
		case p.take("["):
			s, err := p.bracket()
			if err != nil {
				return steps, err
			}

			steps = append(steps, s)
		default:
			return steps, nil
		}
	}
}

// dotted reads a name or * after a dot.
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

// bracket reads the rest of a step in brackets, after the [.
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
		// Several names are a union, as in ['a','b'].
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
	s = step{kind: stepIndexes}
	var n int
	// Before a colon the number may be missing: [:2] begins at the start.
	n, found := p.number()
	if p.space(); p.take(":") {
		s.kind, s.from, s.hasFrom = stepSlice, n, found
		p.space()

		s.to, s.hasTo = p.number()
		// A third number is read and ignored, as in Jayway JsonPath 2.
		if p.space(); p.take(":") {
			p.space()
			p.number()
		}

		if !s.hasFrom && !s.hasTo {
			return s, p.errorf("a slice needs a beginning or an end")
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
