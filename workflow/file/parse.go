package file

import (
	"errors"
	"time"

	"ratchet/workflow"
	"ratchet/workflow/internal/document"
)

// Parse reads a definition from YAML or JSON. Errors begin with the name of the file and the line, also
// the errors of [workflow.New], and of further checks that the caller has for a valid definition. A check
// names the part of the definition by a *[workflow.SpecError].
func Parse(name string, data []byte, checks ...func(*workflow.Definition) error) (*workflow.Definition, error) {
	root, err := document.Read(name, data)
	if err != nil {
		return nil, err
	}

	p := &parser{
		Decoder: document.Decoder{File: name},
		root:    root.Line,
		lines:   map[part]int{},
	}

	spec := p.spec(root)
	if err := p.Err(); err != nil {
		return nil, err
	}

	d, err := workflow.New(spec)
	for i := 0; err == nil && i < len(checks); i++ {
		err = checks[i](d)
	}

	if err != nil {
		return nil, &document.Error{File: name, Line: p.lineOf(err), Err: err}
	}

	return d, nil
}

// parser builds a spec and remembers the line of each part.
type parser struct {
	document.Decoder
	root  int // line of the document
	lines map[part]int
}

// part names a part of a spec in the terms of [workflow.SpecError].
type part struct {
	name  string
	index int
}

func (p *parser) mark(name string, index, line int) { p.lines[part{name, index}] = line }

// lineOf returns the line of the part in which the error is.
func (p *parser) lineOf(err error) int {
	var wrong *workflow.SpecError
	if errors.As(err, &wrong) {
		if line, known := p.lines[part{wrong.Part, wrong.Index}]; known {
			return line
		}
	}

	return p.root
}

func (p *parser) spec(n *document.Node) workflow.Spec {
	// New reports faults by part, and lineOf finds the line again.
	if n.Kind == document.Map {
		for _, m := range n.Members {
			p.mark(m.Name, 0, m.Line)
		}
	}

	return definitionObject().read(p, n)
}

func (p *parser) guard(n *document.Node) workflow.Guard {
	g := guardObject().read(p, n)

	// After an earlier fault the guard may be incomplete, and only the first error is kept.
	if p.Err() != nil {
		return g
	}

	// New checks guards too, but its error leads to the line of the transition only.
	g, err := g.Normalize()
	if err != nil {
		p.Fail(n.Line, "%w", err)
	}

	return g
}

// after reads the moment of a timed transition: a duration, or a map with an attribute.
func (p *parser) after(m document.Member) *workflow.After {
	var a workflow.After
	if m.Value.Kind == document.Map {
		a = afterObject().read(p, m.Value)
	} else {
		a.Delay = p.delay(m)
	}

	// New checks moments too, but its error leads to the line of the transition only.
	if p.Err() == nil {
		if err := a.Check(); err != nil {
			p.Fail(m.Line, "%w", err)
		}
	}

	return &a
}

func (p *parser) delay(m document.Member) time.Duration {
	text := p.Name(m.Value, m.Name)
	if p.Err() != nil {
		return 0
	}

	delay, err := workflow.ParseDelay(text)
	if err != nil {
		p.Fail(m.Line, "%s: %w", m.Name, err)
	}

	return delay
}

// constant reads the value of a guard: a scalar or a list of scalars. Numbers are
// int64, so that large ones stay exact.
func (p *parser) constant(n *document.Node) any {
	switch n.Kind {
	case document.String:
		return n.Text
	case document.Bool:
		return n.Text == "true"
	case document.Number:
		return p.Int(n, "value")
	case document.List:
		values := make([]any, len(n.Items))
		for i, item := range n.Items {
			// The recursion ends here: DynamoDB's IN takes no lists as operands.
			if item.Kind == document.List {
				p.Fail(item.Line, "value: a list of lists is not a value")
				return nil
			}

			values[i] = p.constant(item)
		}

		return values
	}

	p.Fail(n.Line, "value: want a string, a whole number, a truth value or a list, got %v", n.Kind)

	return nil
}
