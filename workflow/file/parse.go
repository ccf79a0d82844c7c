package file

import (
	"errors"

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
	var s workflow.Spec

	required := []string{"name", "version", "place", "initial", "states", "transitions"}
	p.Fields(n, "the definition", required, func(m document.Member) bool {
		v := m.Value
		// New reports faults by part, and lineOf finds this line again.
		p.mark(m.Name, 0, m.Line)

		switch m.Name {
		case "name":
			s.Name = p.Name(v, m.Name)
		case "version":
			s.Version = int(p.Int(v, m.Name))
		case "place":
			s.Place = workflow.Event(p.Name(v, m.Name))
		case "initial":
			s.Initial = workflow.State(p.Name(v, m.Name))
		case "content":
			s.Content = p.content(m)
		case "states":
			s.States = p.states(m)
		case "transitions":
			s.Transitions = p.transitions(m)
		default:
			return false
		}

		return true
	})

	return s
}

// content reads the list of parts. An empty list is not nil: no part is allowed.
func (p *parser) content(m document.Member) []workflow.Part {
	if !p.Want(m.Value, document.List, m.Name) {
		return nil
	}

	// Not nil, because nil allows every part.
	parts := []workflow.Part{}
	for _, item := range m.Value.Items {
		parts = append(parts, workflow.Part(p.Name(item, m.Name)))
	}

	return parts
}

func (p *parser) states(m document.Member) []workflow.StateSpec {
	if !p.Want(m.Value, document.List, m.Name) {
		return nil
	}

	var states []workflow.StateSpec
	for i, item := range m.Value.Items {
		p.mark("state", i, item.Line)
		states = append(states, p.state(item))
	}

	return states
}

func (p *parser) state(n *document.Node) workflow.StateSpec {
	var s workflow.StateSpec
	p.Fields(n, "a state", []string{"state"}, func(m document.Member) bool {
		switch m.Name {
		case "state":
			s.State = workflow.State(p.Name(m.Value, m.Name))
		case "terminal":
			s.Terminal = p.Bool(m.Value, m.Name)
		case "doc":
			s.Doc = p.Name(m.Value, m.Name)
		default:
			return false
		}

		return true
	})

	return s
}

func (p *parser) transitions(m document.Member) []workflow.Transition {
	if !p.Want(m.Value, document.List, m.Name) {
		return nil
	}

	var transitions []workflow.Transition
	for i, item := range m.Value.Items {
		p.mark("transition", i, item.Line)
		transitions = append(transitions, p.transition(item))
	}

	return transitions
}

func (p *parser) transition(n *document.Node) workflow.Transition {
	var t workflow.Transition
	p.Fields(n, "a transition", []string{"event", "from", "to"}, func(m document.Member) bool {
		switch m.Name {
		case "event":
			t.Event = workflow.Event(p.Name(m.Value, m.Name))
		case "to":
			t.To = workflow.State(p.Name(m.Value, m.Name))
		case "from":
			if p.Want(m.Value, document.List, m.Name) {
				for _, item := range m.Value.Items {
					t.From = append(t.From, workflow.State(p.Name(item, m.Name)))
				}
			}
		case "guards":
			if p.Want(m.Value, document.List, m.Name) {
				for _, item := range m.Value.Items {
					t.Guards = append(t.Guards, p.guard(item))
				}
			}
		default:
			return false
		}

		return true
	})

	return t
}

func (p *parser) guard(n *document.Node) workflow.Guard {
	var g workflow.Guard
	p.Fields(n, "a guard", []string{"name", "attribute", "op"}, func(m document.Member) bool {
		switch m.Name {
		case "name":
			g.Name = p.Name(m.Value, m.Name)
		case "attribute":
			g.Attribute = p.Name(m.Value, m.Name)
		case "op":
			g.Op = workflow.Op(p.Name(m.Value, m.Name))
		case "other":
			g.Other = p.Name(m.Value, m.Name)
		case "request":
			g.Request = p.Name(m.Value, m.Name)
		case "value":
			g.Value = p.constant(m.Value)
		default:
			return false
		}

		return true
	})

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
