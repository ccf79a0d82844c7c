package file

import (
	"bytes"
	"fmt"
	"strconv"

	"go.yaml.in/yaml/v3"

	"ratchet/workflow"
)

// Format returns the definition as YAML. [Parse] reads it back to an equal definition.
func Format(d *workflow.Definition) string {
	spec := d.Spec()

	states := &yaml.Node{Kind: yaml.SequenceNode}
	for _, s := range spec.States {
		states.Content = append(states.Content, stateNode(s))
	}

	transitions := &yaml.Node{Kind: yaml.SequenceNode}
	for _, t := range spec.Transitions {
		transitions.Content = append(transitions.Content, transitionNode(t))
	}

	entries := []entry{
		{"name", stringNode(spec.Name)},
		{"version", scalarNode("!!int", strconv.Itoa(spec.Version))},
		{"place", stringNode(string(spec.Place))},
		{"initial", stringNode(string(spec.Initial))},
	}
	// Without a list every part is allowed, and an empty list allows none.
	if spec.Content != nil {
		entries = append(entries, entry{"content", listNode(spec.Content)})
	}

	root := mapNode(append(append(entries, entry{"states", states}, entry{"transitions", transitions}), shopEntries(spec)...)...)

	var b bytes.Buffer
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)

	// The tree has plain scalars only and the buffer takes every write, so neither call
	// fails.
	if err := encoder.Encode(root); err != nil {
		panic(fmt.Errorf("format definition %s: %w", spec.Name, err))
	}
	_ = encoder.Close()

	return b.String()
}

// shopEntries returns what the definition says about edits, ends and shipping.
func shopEntries(spec workflow.Spec) (entries []entry) {
	if len(spec.Editable) > 0 {
		entries = append(entries, entry{"editable", listNode(spec.Editable)})
	}

	if len(spec.Settled) > 0 {
		entries = append(entries, entry{"settled", listNode(spec.Settled)})
	}

	if shipping := shippingEntries(spec.Shipping); len(shipping) > 0 {
		entries = append(entries, entry{"shipping", mapNode(shipping...)})
	}

	return entries
}

func shippingEntries(s workflow.Shipping) (entries []entry) {
	event := func(name string, e workflow.Event) {
		if e != "" {
			entries = append(entries, entry{name, stringNode(string(e))})
		}
	}

	if len(s.Awaits) > 0 {
		entries = append(entries, entry{"awaits", listNode(s.Awaits)})
	}

	if len(s.Held) > 0 {
		entries = append(entries, entry{"held", listNode(s.Held)})
	}

	event("part", s.Part)
	event("left", s.Left)
	event("delivered", s.Delivered)

	if len(s.Returned) > 0 {
		entries = append(entries, entry{"returned", listNode(s.Returned)})
	}

	event("canceled", s.Canceled)
	event("stop", s.Stop)

	return entries
}

func stateNode(s workflow.StateSpec) *yaml.Node {
	entries := []entry{{"state", stringNode(string(s.State))}}

	if s.Terminal {
		entries = append(entries, entry{"terminal", scalarNode("!!bool", "true")})
	}

	if s.Doc != "" {
		entries = append(entries, entry{"doc", stringNode(s.Doc)})
	}

	return mapNode(entries...)
}

func transitionNode(t workflow.Transition) *yaml.Node {
	entries := []entry{
		{"event", stringNode(string(t.Event))},
		{"from", listNode(t.From)},
		{"to", stringNode(string(t.To))},
	}

	if len(t.Guards) > 0 {
		guards := &yaml.Node{Kind: yaml.SequenceNode}
		for _, g := range t.Guards {
			guards.Content = append(guards.Content, guardNode(g))
		}

		entries = append(entries, entry{"guards", guards})
	}

	if t.After != nil {
		entries = append(entries, entry{"after", afterNode(*t.After)})
	}

	if t.Restart {
		entries = append(entries, entry{"restart", scalarNode("!!bool", "true")})
	}

	return mapNode(entries...)
}

// afterNode returns a duration, or the attribute with the delay on one line.
func afterNode(a workflow.After) *yaml.Node {
	delay := stringNode(workflow.FormatDelay(a.Delay))
	if a.Attribute == "" {
		return delay
	}

	entries := []entry{{"attribute", stringNode(a.Attribute)}}
	if a.Delay != 0 {
		entries = append(entries, entry{"delay", delay})
	}

	n := mapNode(entries...)
	n.Style = yaml.FlowStyle

	return n
}

func guardNode(g workflow.Guard) *yaml.Node {
	entries := []entry{
		{"name", stringNode(g.Name)},
		{"attribute", stringNode(g.Attribute)},
		{"op", stringNode(string(g.Op))},
	}

	// Exactly one of the three operands is set, or none.
	if g.Other != "" {
		entries = append(entries, entry{"other", stringNode(g.Other)})
	}

	if g.Request != "" {
		entries = append(entries, entry{"request", stringNode(g.Request)})
	}

	if g.Value != nil {
		entries = append(entries, entry{"value", constantNode(g.Value)})
	}

	n := mapNode(entries...)
	// One guard on one line.
	n.Style = yaml.FlowStyle

	return n
}

// constantNode renders a guard's value, of one of the types that Normalize returns.
func constantNode(v any) *yaml.Node {
	switch v := v.(type) {
	case []any:
		list := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
		for _, item := range v {
			list.Content = append(list.Content, constantNode(item))
		}

		return list
	case int64:
		return scalarNode("!!int", strconv.FormatInt(v, 10))
	case bool:
		return scalarNode("!!bool", strconv.FormatBool(v))
	}

	return stringNode(fmt.Sprint(v))
}

// listNode returns a list of strings on one line.
func listNode[T ~string](list []T) *yaml.Node {
	n := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
	for _, s := range list {
		n.Content = append(n.Content, stringNode(string(s)))
	}

	return n
}

// entry is a key of a map with its value.
type entry struct {
	key   string
	value *yaml.Node
}

func mapNode(entries ...entry) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode}
	for _, e := range entries {
		n.Content = append(n.Content, stringNode(e.key), e.value)
	}

	return n
}

func scalarNode(tag, value string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: value}
}

// stringNode returns a string. SetString chooses a literal style for text of several
// lines; the tag makes the encoder quote what YAML would read as another type.
func stringNode(s string) *yaml.Node {
	n := &yaml.Node{}
	n.SetString(s)
	n.Tag = "!!str"

	return n
}
