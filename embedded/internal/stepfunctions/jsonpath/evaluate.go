package jsonpath

import (
	"fmt"
	"math/rand/v2"

	"ratchet/embedded/internal/stepfunctions/rawjson"
)

// Scope is what an expression can read.
type Scope struct {
	// Input is the document behind $.
	Input []byte
	// Context returns the document behind $$. It is called only when an expression reads it.
	Context func() []byte
	// Random is the source of States.MathRandom and States.UUID.
	Random *rand.Rand
}

// NotFoundError reports a path that matches nothing.
type NotFoundError struct{ Path string }

func (e *NotFoundError) Error() string { return fmt.Sprintf("path %s matches nothing", e.Path) }

// Evaluate returns what the path matches, or fails with a *NotFoundError. The result may
// share memory with the scope's documents.
func (p *Path) Evaluate(s *Scope) ([]byte, error) {
	document := s.Input
	if p.context {
		document = nil
		if s.Context != nil {
			document = s.Context()
		}
	}

	if v, ok := p.in(document, s.Input); ok {
		return v, nil
	}

	return nil, &NotFoundError{Path: p.text}
}

// in evaluates the path in a document. root is the document that $ means inside filters.
func (p *Path) in(document, root []byte) ([]byte, bool) {
	if !p.many {
		return follow(document, p.plain)
	}

	out := []byte{'['}
	match(document, root, p.steps, func(v []byte) {
		if len(out) > 1 {
			out = append(out, ',')
		}

		out = append(out, v...)
	})

	return append(out, ']'), true
}

// follow returns the one place to which plain steps lead.
func follow(v []byte, steps []rawjson.Step) (_ []byte, ok bool) {
	for _, step := range steps {
		if step.IsIndex {
			v, ok = rawjson.Element(v, step.Index)
		} else {
			v, ok = rawjson.Member(v, step.Name)
		}

		if !ok {
			return nil, false
		}
	}

	return v, len(v) > 0
}

// match calls found for every place under v to which the steps lead.
func match(v, root []byte, steps []step, found func([]byte)) {
	if len(steps) == 0 {
		found(v)
		return
	}

	s, rest := &steps[0], steps[1:]
	switch s.kind {
	case stepMembers:
		for _, name := range s.names {
			if m, ok := rawjson.Member(v, name); ok {
				match(m, root, rest, found)
			}
		}
	case stepIndexes:
		for _, index := range s.indexes {
			if e, ok := rawjson.Element(v, index); ok {
				match(e, root, rest, found)
			}
		}
	case stepSlice:
		s.slice(v, func(e []byte) { match(e, root, rest, found) })
	case stepAll:
		for c := rawjson.Walk(v); c.Next(); {
			match(c.Value, root, rest, found)
		}
	case stepDescend:
		match(v, root, rest, found)

		for c := rawjson.Walk(v); c.Next(); {
			match(c.Value, root, steps, found)
		}
	case stepFilter:
		// A filter tests the elements of an array, and an object itself.
		if rawjson.KindOf(v) == rawjson.Object {
			if s.filter.holds(v, root) {
				match(v, root, rest, found)
			}

			return
		}

		for c := rawjson.Walk(v); c.Next(); {
			if s.filter.holds(c.Value, root) {
				match(c.Value, root, rest, found)
			}
		}
	}
}

// slice calls found for the elements of [from:to:by].
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
		if i >= from && i < to && (i-from)%s.by == 0 {
			found(c.Value)
		}
	}
}
