package workflow

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// Parse reads a definition from YAML or JSON, as [Definition.Render] writes it in the
// format "yaml":
//
//	name: order
//	version: 1
//	place: place
//	initial: PENDING
//	states:
//	  - {state: PENDING, doc: "placed, not yet paid"}
//	  - {state: PAID, terminal: true}
//	transitions:
//	  - event: pay
//	    from: [PENDING]
//	    to: PAID
//	    guards:
//	      - {name: total-covered, attribute: captured, op: ">=", other: total}
//
// A guard's operand is value, other (an attribute) or request. The name is the
// file's, for messages. The spec is one that [New] accepts; every error, New's, too,
// names the file and the line.
func Parse(name string, data []byte) (Spec, error) {
	doc, err := readDocument(name, data)
	if err != nil {
		return Spec{}, err
	}

	p := &parser{reader: reader{file: name}, lines: map[fault]int{}, top: doc.line}
	spec := p.spec(doc)
	if p.err != nil {
		return Spec{}, p.err
	}

	if _, err := New(spec); err != nil {
		return Spec{}, &fileError{name, p.lineOf(err), err}
	}

	return spec, nil
}

// parser remembers where each part of the spec stands.
type parser struct {
	reader
	top   int
	lines map[fault]int // by part and index
}

func (p *parser) lineOf(err error) int {
	var f *fault
	if !errors.As(err, &f) {
		return p.top
	}

	if line, known := p.lines[fault{part: f.part, index: f.index}]; known {
		return line
	}

	return p.top
}

func (p *parser) mark(part string, index, line int) { p.lines[fault{part: part, index: index}] = line }

// fields calls fn for each member and refuses what fn does not know and what is
// required and not there.
func (p *parser) fields(n *node, what string, required []string, fn func(m member) bool) {
	if !p.want(n, isMap, what) {
		return
	}

	for _, m := range n.members {
		if !fn(m) {
			p.fail(m.line, "%s has no field %q", what, m.name)
		}
	}

	for _, r := range required {
		if n.get(r) == nil {
			p.fail(n.line, "%s lacks %s", what, r)
		}
	}
}

// word reads a name. YAML takes some names for truth values or numbers; here they
// are names.
func (p *parser) word(n *node, what string) string {
	if n.kind == isList || n.kind == isMap || n.kind == isNull {
		p.fail(n.line, "%s: want a name, got %v", what, n.kind)
	}
	return n.text
}

func (p *parser) spec(n *node) Spec {
	var s Spec
	p.fields(n, "the definition", []string{"name", "version", "place", "initial", "states", "transitions"}, func(m member) bool {
		v := m.value
		switch m.name {
		case "name":
			s.Name = p.word(v, m.name)
		case "version":
			s.Version = int(p.integer(v, m.name))
			p.mark("version", 0, m.line)
		case "place":
			s.Place = Event(p.word(v, m.name))
			p.mark("place", 0, m.line)
		case "initial":
			s.Initial = State(p.word(v, m.name))
			p.mark("initial", 0, m.line)
		case "states":
			p.mark("states", 0, m.line)

			if p.want(v, isList, m.name) {
				for i, item := range v.items {
					p.mark("state", i, item.line)
					s.States = append(s.States, p.state(item))
				}
			}
		case "transitions":
			if p.want(v, isList, m.name) {
				for i, item := range v.items {
					p.mark("transition", i, item.line)
					s.Transitions = append(s.Transitions, p.transition(item))
				}
			}
		default:
			return false
		}

		return true
	})

	return s
}

func (p *parser) state(n *node) StateSpec {
	var s StateSpec
	p.fields(n, "a state", []string{"state"}, func(m member) bool {
		switch m.name {
		case "state":
			s.State = State(p.word(m.value, m.name))
		case "terminal":
			s.Terminal = p.truth(m.value, m.name)
		case "doc":
			s.Doc = p.word(m.value, m.name)
		default:
			return false
		}

		return true
	})

	return s
}

func (p *parser) transition(n *node) Transition {
	var t Transition
	p.fields(n, "a transition", []string{"event", "from", "to"}, func(m member) bool {
		switch m.name {
		case "event":
			t.Event = Event(p.word(m.value, m.name))
		case "to":
			t.To = State(p.word(m.value, m.name))
		case "from":
			if p.want(m.value, isList, m.name) {
				for _, item := range m.value.items {
					t.From = append(t.From, State(p.word(item, m.name)))
				}
			}
		case "guards":
			if p.want(m.value, isList, m.name) {
				for _, item := range m.value.items {
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

// guard reads one guard. It is checked here, too, so that the error names its own
// line and not the transition's.
func (p *parser) guard(n *node) Guard {
	var g Guard
	p.fields(n, "a guard", []string{"name", "attribute", "op"}, func(m member) bool {
		switch m.name {
		case "name":
			g.Name = p.word(m.value, m.name)
		case "attribute":
			g.Attribute = p.word(m.value, m.name)
		case "op":
			g.Op = Op(p.word(m.value, m.name))
		case "other":
			g.Other = p.word(m.value, m.name)
		case "request":
			g.Request = p.word(m.value, m.name)
		case "value":
			g.Value = p.value(m.value)
		default:
			return false
		}

		return true
	})

	if p.err != nil {
		return g
	}

	g, err := g.checked()
	if err != nil {
		p.fail(n.line, "%w", err)
	}

	return g
}

// value reads a constant, or a list of them. Numbers are exact.
func (p *parser) value(n *node) any {
	switch n.kind {
	case isString:
		return n.text
	case isBool:
		return n.text == "true"
	case isNumber:
		return p.integer(n, "value")
	case isList:
		values := make([]any, len(n.items))
		for i, item := range n.items {
			if item.kind == isList {
				p.fail(item.line, "value: a list of lists is not a value")
				return nil
			}
			values[i] = p.value(item)
		}

		return values
	}
	p.fail(n.line, "value: want a string, a whole number, a truth value or a list, got %v", n.kind)

	return nil
}

// yaml writes the definition as [Parse] reads it.
func (d *Definition) yaml() string {
	top := mapping()
	top.put("name", text(d.spec.Name))
	top.put("version", scalar("!!int", strconv.Itoa(d.spec.Version)))
	top.put("place", text(string(d.spec.Place)))
	top.put("initial", text(string(d.spec.Initial)))

	states, transitions := &yaml.Node{Kind: yaml.SequenceNode}, &yaml.Node{Kind: yaml.SequenceNode}
	for _, s := range d.spec.States {
		m := mapping()
		m.put("state", text(string(s.State)))

		if s.Terminal {
			m.put("terminal", scalar("!!bool", "true"))
		}

		if s.Doc != "" {
			m.put("doc", text(s.Doc))
		}
		states.Content = append(states.Content, &m.Node)
	}

	for _, t := range d.spec.Transitions {
		m := mapping()
		m.put("event", text(string(t.Event)))

		from := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
		for _, s := range t.From {
			from.Content = append(from.Content, text(string(s)))
		}
		m.put("from", from)
		m.put("to", text(string(t.To)))

		if len(t.Guards) > 0 {
			guards := &yaml.Node{Kind: yaml.SequenceNode}
			for _, g := range t.Guards {
				guards.Content = append(guards.Content, g.yaml())
			}
			m.put("guards", guards)
		}
		transitions.Content = append(transitions.Content, &m.Node)
	}
	top.put("states", states)
	top.put("transitions", transitions)
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)

	if err := e.Encode(&top.Node); err != nil {
		panic(fmt.Errorf("write definition %s: %w", d.spec.Name, err)) // the tree is made of plain scalars
	}
	_ = e.Close() // into memory

	return b.String()
}

func (g Guard) yaml() *yaml.Node {
	m := mapping()
	m.Style = yaml.FlowStyle
	m.put("name", text(g.Name))
	m.put("attribute", text(g.Attribute))
	m.put("op", text(string(g.Op)))

	if g.Other != "" {
		m.put("other", text(g.Other))
	}

	if g.Request != "" {
		m.put("request", text(g.Request))
	}

	if g.Value != nil {
		m.put("value", constantNode(g.Value))
	}

	return &m.Node
}

func constantNode(v any) *yaml.Node {
	switch v := v.(type) {
	case []any:
		list := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
		for _, item := range v {
			list.Content = append(list.Content, constantNode(item))
		}

		return list
	case int64:
		return scalar("!!int", strconv.FormatInt(v, 10))
	case bool:
		return scalar("!!bool", strconv.FormatBool(v))
	}

	return text(fmt.Sprint(v))
}

// yamlMap is a map under construction.
type yamlMap struct{ yaml.Node }

func mapping() *yamlMap { return &yamlMap{yaml.Node{Kind: yaml.MappingNode}} }

func (m *yamlMap) put(key string, value *yaml.Node) {
	m.Content = append(m.Content, text(key), value)
}

func scalar(tag, value string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: value}
}

// text is a string; SetString quotes what would be read as something else.
func text(s string) *yaml.Node {
	n := &yaml.Node{}
	n.SetString(s)
	n.Tag = "!!str"
	return n
}
