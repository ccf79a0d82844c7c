package jsonpath

import (
	"fmt"
	"strings"

	"ratchet/embedded/internal/stepfunctions/rawjson"
)

// Template is a compiled payload template: JSON in which a member "name.$" holds an
// expression, and becomes the member "name" with the expression's value.
type Template struct {
	literal []byte // the whole template if it has no expression
	members []templateMember
	items   []*Template
	array   bool
}

type templateMember struct {
	key   []byte // quoted, without ".$"
	field string // as written, for error texts
	value *Template
	expr  *Expression
}

// FieldError reports the member of a template whose expression failed.
type FieldError struct {
	Field string
	Err   error
}

func (e *FieldError) Error() string { return fmt.Sprintf("field %q: %v", e.Field, e.Err) }
func (e *FieldError) Unwrap() error { return e.Err }

// CompileTemplate compiles a payload template, which must be valid JSON.
func CompileTemplate(text []byte) (*Template, error) {
	t, dynamic, err := compileTemplate(text)
	if err != nil {
		return nil, err
	}

	if !dynamic {
		return &Template{literal: rawjson.AppendCompact(nil, text)}, nil
	}

	return t, nil
}

// compileTemplate compiles a template; dynamic reports whether it has an expression.
func compileTemplate(text []byte) (t *Template, dynamic bool, err error) {
	kind := rawjson.KindOf(text)
	if kind != rawjson.Object && kind != rawjson.Array {
		return &Template{literal: rawjson.AppendCompact(nil, text)}, false, nil
	}

	t = &Template{array: kind == rawjson.Array}
	seen := map[string]bool{}
	for c := rawjson.Walk(text); c.Next(); {
		if t.array {
			item, d, err := compileTemplate(c.Value)
			if err != nil {
				return nil, false, err
			}

			t.items = append(t.items, item)
			dynamic = dynamic || d

			continue
		}

		m, d, err := compileMember(&c)
		if err != nil {
			return nil, false, err
		}

		// Names are compared after .$ is cut off: "a" and "a.$" would both set a.
		if seen[string(m.key)] {
			return nil, false, fmt.Errorf("the field %s is set twice", m.key)
		}

		seen[string(m.key)] = true
		t.members = append(t.members, m)
		dynamic = dynamic || d
	}

	if !dynamic {
		return &Template{literal: rawjson.AppendCompact(nil, text)}, false, nil
	}

	return t, true, nil
}

func compileMember(c *rawjson.Cursor) (m templateMember, dynamic bool, err error) {
	name, _ := rawjson.Text(c.Key)
	m.field = name
	if bare, ok := strings.CutSuffix(name, ".$"); ok {
		m.key = rawjson.AppendText(nil, bare)
		source, isText := rawjson.Text(c.Value)
		if !isText {
			const rule = "the value for the field '%s' must be a STRING that contains a JSONPath or an intrinsic function"

			return m, false, fmt.Errorf(rule, name)
		}

		if m.expr, err = CompileExpression(source); err != nil {
			// The service's own text, which does not say what is wrong, and then what is wrong and where.
			const rule = "The value for the field '%s' must be a valid JSONPath or a valid intrinsic function call: %w"

			return m, false, fmt.Errorf(rule, name, err) //nolint:staticcheck // AWS's own words
		}

		return m, true, nil
	}

	m.key = append([]byte(nil), c.Key...)
	m.value, dynamic, err = compileTemplate(c.Value)

	return m, dynamic, err
}

// Evaluate returns the template with the values of its expressions. If an
// expression fails, the error is a *FieldError with the expression's error. A value
// that is longer than a document may be can be incomplete.
func (t *Template) Evaluate(s *Scope) ([]byte, error) {
	if t.literal != nil {
		return t.literal, nil
	}

	m := s.meter()
	m.enter()
	defer m.leave()

	return t.append(nil, s)
}

func (t *Template) append(out []byte, s *Scope) (_ []byte, err error) {
	switch {
	// No document may be so long, so the rest does not matter.
	case len(out) > maxResult:
		return out, nil
	case t.literal != nil:
		return append(out, t.literal...), nil
	case t.array:
		out = append(out, '[')
		for i, item := range t.items {
			if i > 0 {
				out = append(out, ',')
			}

			if out, err = item.append(out, s); err != nil {
				return nil, err
			}
		}

		return append(out, ']'), nil
	}

	out = append(out, '{')
	for i := range t.members {
		if len(out) > maxResult {
			return out, nil
		}

		m := &t.members[i]
		if i > 0 {
			out = append(out, ',')
		}

		out = append(append(out, m.key...), ':')
		if m.expr == nil {
			if out, err = m.value.append(out, s); err != nil {
				return nil, err
			}

			continue
		}

		v, err := m.expr.Evaluate(s)
		if err != nil {
			return nil, &FieldError{Field: m.field, Err: err}
		}

		out = append(out, v...)
	}

	return append(out, '}'), nil
}
