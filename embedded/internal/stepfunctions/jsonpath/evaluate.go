package jsonpath

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"ratchet/embedded/internal/stepfunctions/rawjson"
)

// Scope is the environment in which an expression is evaluated.
type Scope struct {
	// Input is the document behind $.
	Input []byte
	// Context returns the document behind $$. It is called only when an expression reads $$.
	Context func() []byte
	// Variable returns the value of a variable, the document behind $name. It is called only when an
	// expression reads a variable.
	Variable func(name string) ([]byte, bool)
	// Random is the source of States.MathRandom and States.UUID.
	Random *rand.Rand
	// Meter bounds the work. Nil means one of the scope's own.
	Meter *Meter
}

func (s *Scope) meter() *Meter {
	if s.Meter == nil {
		s.Meter = &Meter{}
	}

	return s.Meter
}

// variable returns the value of a variable, nil if it has none.
func (s *Scope) variable(name string) []byte {
	if s.Variable == nil {
		return nil
	}

	v, ok := s.Variable(name)
	if !ok {
		return nil
	}

	return v
}

// NotFoundError reports a path that matches nothing.
type NotFoundError struct {
	Path string
	// steps are the steps of the path up to the first step that matches
	// nothing. last reports that the path ends there.
	steps []rawjson.Step
	last  bool
	// variable is the name of a variable that has no value; the other fields are zero then.
	variable string
}

func (e *NotFoundError) Error() string { return fmt.Sprintf("path %s matches nothing", e.Path) }

// Reason says where the path stops to match, in the words of the service.
func (e *NotFoundError) Reason() string {
	if e.variable != "" {
		return fmt.Sprintf("The variable '$%s' has no value", e.variable)
	}

	var at strings.Builder
	at.WriteByte('$')

	for _, s := range e.steps {
		if s.IsIndex {
			fmt.Fprintf(&at, "[%d]", s.Index)
		} else {
			fmt.Fprintf(&at, "['%s']", s.Name)
		}
	}

	if e.last {
		return "No results for path: " + at.String()
	}

	return "Missing property in path " + at.String()
}

// Evaluate returns the value that the path matches, or fails with a *NotFoundError, or with another error if
// that is too much work. The result may share memory with the scope's documents.
func (p *Path) Evaluate(s *Scope) ([]byte, error) {
	m := s.meter()
	m.enter()
	defer m.leave()

	document := s.Input
	switch {
	case p.variable != "":
		if document = s.variable(p.variable); document == nil {
			return nil, &NotFoundError{Path: p.text, variable: p.variable}
		}
	case p.context:
		document = nil
		if s.Context != nil {
			document = s.Context()
		}
	}

	// The document has been read to get it.
	if !m.spend(len(document)) {
		return nil, m.err
	}

	if p.many {
		// Inside a filter $ is the input, even if the path leads into a variable or the context.
		return p.all(m, document, s.Input)
	}

	v, depth, ok := m.follow(document, p.plain)
	if ok && p.merged != nil {
		// Only an object has several members.
		if ok = rawjson.KindOf(v) == rawjson.Object; ok {
			v = m.pick(v, p.merged)
		}
	}

	switch {
	case m.err != nil:
		return nil, m.err
	case !ok:
		return nil, p.notFound(depth)
	}

	return v, nil
}

// notFound returns the error for a path whose first steps lead to a value, and the next one does not.
func (p *Path) notFound(first int) error {
	// The error names the shortest beginning of the path that matches nothing.
	depth := first + 1

	return &NotFoundError{
		Path:  p.text,
		steps: p.plain[:min(depth, len(p.plain))],
		last:  depth >= len(p.plain),
	}
}

// maxResult bounds the values that a path matches, the arguments of a function, and the text of a
// template, in bytes. It is much larger than the largest document, because a document may get only
// a small part of such a value.
const maxResult = 16 << 20

// search is one evaluation of a path that may match several places.
type search struct {
	*Meter

	root []byte // what $ means inside filters
}

// all returns an array of the values that the path matches in a document.
func (p *Path) all(m *Meter, document, root []byte) ([]byte, error) {
	r := &search{m, root}

	out := []byte{'['}
	r.match(document, p.steps, func(v []byte) {
		if len(out) > 1 {
			out = append(out, ',')
		}

		// The error ends the search.
		if out = append(out, v...); len(out) > maxResult && m.err == nil {
			m.err = errMatched
		}
	})

	if m.make(len(out)); m.err != nil {
		return nil, fmt.Errorf("the path %s: %w", p.text, m.err)
	}

	return append(out, ']'), nil
}

// follow returns the one place to which plain steps lead, and how many of them lead somewhere.
func (m *Meter) follow(v []byte, steps []rawjson.Step) (_ []byte, depth int, ok bool) {
	for i, step := range steps {
		if !m.spend(len(v)) {
			return nil, i, false
		}

		if step.IsIndex {
			v, ok = rawjson.Element(v, step.Index)
		} else {
			v, ok = rawjson.Member(v, step.Name)
		}

		if !ok {
			return nil, i, false
		}
	}

	// An empty text is a document that does not exist, as $$ without a context.
	return v, len(steps), len(v) > 0
}

// match calls found for every place under v to which the steps lead, as long as the search may read.
func (r *search) match(v []byte, steps []step, found func([]byte)) {
	if !r.spend(len(v)) {
		return
	}

	if len(steps) == 0 {
		found(v)
		return
	}

	s, rest := &steps[0], steps[1:]

	switch s.kind {
	case stepMembers:
		// Several names at the end of a path make an object, as in Jayway JsonPath 2.
		if len(s.names) > 1 && len(rest) == 0 {
			if rawjson.KindOf(v) == rawjson.Object {
				found(r.pick(v, s.names))
			}

			return
		}

		for _, name := range s.names {
			// Asked before the read: thousands of names would read on after the end of the time.
			if !r.spend(len(v)) {
				return
			}

			if m, ok := rawjson.Member(v, name); ok {
				r.match(m, rest, found)
			}
		}
	case stepIndexes:
		for _, index := range s.indexes {
			if !r.spend(len(v)) {
				return
			}

			if e, ok := rawjson.Element(v, index); ok {
				r.match(e, rest, found)
			}
		}
	case stepSlice:
		s.slice(v, func(e []byte) { r.match(e, rest, found) })
	case stepAll:
		for c := rawjson.Walk(rawjson.Distinct(v)); r.err == nil && c.Next(); {
			r.match(c.Value, rest, found)
		}
	case stepDescend:
		// The place itself first: descent includes it.
		r.match(v, rest, found)

		for c := rawjson.Walk(rawjson.Distinct(v)); r.err == nil && c.Next(); {
			r.match(c.Value, steps, found)
		}
	case stepFilter:
		// A filter tests the elements of an array, and an object itself.
		if rawjson.KindOf(v) == rawjson.Object {
			if s.filter.holds(v, r) {
				r.match(v, rest, found)
			}

			return
		}

		for c := rawjson.Walk(v); r.err == nil && c.Next(); {
			if s.filter.holds(c.Value, r) {
				r.match(c.Value, rest, found)
			}
		}
	}
}

// pick returns an object with those of the members that the object v has.
func (m *Meter) pick(v []byte, names []string) []byte {
	out := []byte{'{'}
	// A name that stands twice is one member.
	seen := make(map[string]bool, len(names))

	for _, name := range names {
		value, ok := rawjson.Member(v, name)
		if !m.spend(len(v)) {
			return nil
		}

		if !ok || seen[name] {
			continue
		}

		seen[name] = true

		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(rawjson.AppendText(out, name), ':'), value...)
	}

	return append(out, '}')
}

// slice calls found for the elements of [from:to].
func (s *step) slice(v []byte, found func([]byte)) {
	if rawjson.KindOf(v) != rawjson.Array {
		return
	}

	n := rawjson.Len(v)

	from, to := 0, n
	if s.hasFrom {
		from = s.from
	}

	if s.hasTo {
		to = s.to
	}

	if from < 0 {
		from = max(from+n, 0)
	}

	if to < 0 {
		to += n
	}

	i := 0
	for c := rawjson.Walk(v); c.Next(); i++ {
		if i >= from && i < to {
			found(c.Value)
		}
	}
}
