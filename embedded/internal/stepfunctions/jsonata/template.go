package jsonata

import (
	"fmt"
	"slices"

	"ratchet/embedded/internal/stepfunctions/rawjson"
)

// Template is compiled JSON in which a text between {% and %} becomes the value of its
// expression.
type Template struct {
	// One of these: JSON without an expression, an expression, members or items.
	literal    []byte
	expression *Expression
	members    []templateMember
	items      []*Template
}

type templateMember struct {
	key   []byte // quoted
	name  string
	value *Template
}

// Fault is a fault that CompileTemplate finds, a *CompileError or a fault of the JSON, with its place in
// the template, like "/total" or "[2]/name".
type Fault struct {
	At  string
	Err error
}

// CompileTemplate compiles valid JSON. The template is nil if there are faults.
func CompileTemplate(text []byte, access Access) (*Template, []Fault) {
	c := &templateCompiler{access: access}

	t := c.compile(text, "")
	if len(c.faults) > 0 {
		return nil, c.faults
	}

	return t, nil
}

// templateCompiler collects the faults of a template.
type templateCompiler struct {
	access Access
	faults []Fault
}

func (c *templateCompiler) fault(at string, err error) {
	c.faults = append(c.faults, Fault{At: at, Err: err})
}

func (c *templateCompiler) compile(text []byte, at string) *Template {
	switch rawjson.KindOf(text) {
	case rawjson.String:
		return c.compileText(text, at)
	case rawjson.Array:
		return c.compileArray(text, at)
	case rawjson.Object:
		return c.compileObject(text, at)
	default:
		return &Template{literal: rawjson.AppendCompact(nil, text)}
	}
}

func (c *templateCompiler) compileText(text []byte, at string) *Template {
	s, _ := rawjson.Text(text)

	source, ok := Unwrap(s)
	if !ok {
		return &Template{literal: rawjson.AppendCompact(nil, text)}
	}

	e, err := Compile(source, c.access)
	if err != nil {
		c.fault(at, err)
	}

	// After a fault e is nil, but then CompileTemplate returns no template.
	return &Template{expression: e}
}

func (c *templateCompiler) compileArray(text []byte, at string) *Template {
	t := &Template{}
	for items, i := rawjson.Walk(text), 0; items.Next(); i++ {
		t.items = append(t.items, c.compile(items.Value, fmt.Sprintf("%s[%d]", at, i)))
	}

	// Without an expression, the whole array is one literal.
	if !slices.ContainsFunc(t.items, (*Template).dynamic) {
		return &Template{literal: rawjson.AppendCompact(nil, text)}
	}

	return t
}

func (c *templateCompiler) compileObject(text []byte, at string) *Template {
	t, seen, dynamic := &Template{}, map[string]bool{}, false
	for members := rawjson.Walk(text); members.Next(); {
		name, _ := rawjson.Text(members.Key)
		if seen[name] {
			c.fault(at, fmt.Errorf("the field '%s' is set twice", name))
		}

		seen[name] = true
		value := c.compile(members.Value, at+"/"+name)
		dynamic = dynamic || value.dynamic()
		t.members = append(t.members, templateMember{append([]byte(nil), members.Key...), name, value})
	}

	if !dynamic {
		return &Template{literal: rawjson.AppendCompact(nil, text)}
	}

	return t
}

// dynamic reports whether the template has an expression.
func (t *Template) dynamic() bool { return t.literal == nil }

// Single reports whether the template is one expression.
func (t *Template) Single() bool { return t.expression != nil }

// Literal returns the JSON of a template without expressions, nil for any other one.
func (t *Template) Literal() []byte { return t.literal }

// Variables returns the names of the variables that the template's expressions read.
func (t *Template) Variables() (names []string) {
	if t.expression != nil {
		return t.expression.Variables()
	}

	for i := range t.members {
		names = append(names, t.members[i].value.Variables()...)
	}

	for _, item := range t.items {
		names = append(names, item.Variables()...)
	}

	return names
}

// Evaluate returns the template with the values of its expressions. field is its place in the state.
// Evaluate fails with the *EvaluationError of the first expression that has no value. A value that is
// longer than a document may be can be incomplete.
func (t *Template) Evaluate(s *Scope, field string) ([]byte, error) {
	switch {
	case t.literal != nil:
		return t.literal, nil
	case t.expression != nil:
		return t.expression.Evaluate(s, field)
	default:
		return t.append(nil, s, field)
	}
}

// EvaluateTo is Evaluate for a field whose value must have one kind.
func (t *Template) EvaluateTo(kind rawjson.Kind, s *Scope, field string) ([]byte, error) {
	if t.expression != nil {
		return t.expression.EvaluateTo(kind, s, field)
	}

	return t.Evaluate(s, field)
}

func (t *Template) append(out []byte, s *Scope, field string) (_ []byte, err error) {
	switch {
	// No document may be so long, so the rest does not matter.
	case len(out) > maxValue:
		return out, nil
	case t.literal != nil:
		return append(out, t.literal...), nil
	case t.expression != nil:
		v, err := t.expression.Evaluate(s, field)
		return append(out, v...), err
	case t.items != nil:
		out = append(out, '[')
		for i, item := range t.items {
			if i > 0 {
				out = append(out, ',')
			}

			if out, err = item.append(out, s, fmt.Sprintf("%s[%d]", field, i)); err != nil {
				return nil, err
			}
		}

		return append(out, ']'), nil
	}

	out = append(out, '{')
	for i := range t.members {
		m := &t.members[i]
		if i > 0 {
			out = append(out, ',')
		}

		out = append(append(out, m.key...), ':')
		if out, err = m.value.append(out, s, field+"/"+m.name); err != nil {
			return nil, err
		}
	}

	return append(out, '}'), nil
}
