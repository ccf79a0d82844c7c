package asl

import (
	"cmp"
	"strings"

	"ratchet/embedded/internal/stepfunctions/rawjson"
)

// compileFlow compiles StartAt and States of o. It declares all states before it compiles
// the first, so that transitions find their targets.
func (p *parser) compileFlow(o *object, depth int) *Flow {
	if depth > maxFlows {
		p.fault(codeDepth, o.at, "flows nest more than %d deep", maxFlows)
		return nil
	}

	start, hasStart := o.field("StartAt")

	raw, hasStates := o.field("States")

	var missing []string
	if !hasStates {
		missing = append(missing, "States")
	}

	if !hasStart {
		missing = append(missing, "StartAt")
	}

	if missing != nil {
		p.fault(codeSchema, cmp.Or(o.at, "/"), "These fields are required: [%s]", strings.Join(missing, ", "))
	}

	if !hasStates {
		return nil
	}

	if rawjson.KindOf(raw) != rawjson.Object || rawjson.Len(raw) == 0 {
		p.fault(codeSchema, o.at+"/States", "the field 'States' must be an object with at least one state")
		return nil
	}

	b := &builder{
		parser:   p,
		at:       o.at + "/States",
		states:   map[string]*State{},
		assigned: map[string]string{},
		scoped:   map[string]bool{},
		depth:    depth,
	}
	outer := p.flow

	p.flow = b
	for c := rawjson.Walk(raw); c.Next(); {
		b.declare(&c)
	}

	for _, d := range b.declared {
		b.compile(d)
	}

	b.checkScopes()

	// The flow around this one checks its scopes with the variables of this one.
	if p.flow = outer; outer != nil {
		outer.inner = append(outer.inner, b.scopes())
	}

	name, isName := rawjson.Text(start)
	if hasStart && !isName {
		p.fault(codeSchema, o.at+"/StartAt", "the value for the field 'StartAt' must be a STRING")
	}

	s := b.states[name]
	if s == nil {
		if isName {
			p.fault(codeTransition, o.at+"/StartAt", "Missing 'StartAt' target: %s", name)
		}

		return nil
	}

	b.checkReachable(s)

	return &Flow{Start: s}
}

// builder compiles the states of one flow.
type builder struct {
	*parser
	at       string
	depth    int
	declared []declared
	states   map[string]*State
	targets  map[*State][]*State
	open     bool                // a transition to an unknown state adds a Succeed
	assigned map[string]string   // variables that the flow assigns, with their places
	scoped   map[string]bool     // assigned variables, without variables that only a Catch assigns
	inner    []map[string]string // the variables that the flows inside this one assign
}

// declared is a state that is not compiled yet.
type declared struct {
	state *State
	raw   []byte
	at    string
}

// declare registers the state under the cursor. Names are unique in the whole machine.
func (b *builder) declare(c *rawjson.Cursor) {
	name, _ := rawjson.Text(c.Key)
	at := b.at + "/" + name
	switch n := len([]rune(name)); {
	case n == 0:
		b.fault(codeStateName, at, "a state's name has 1 to %d characters", maxName)
	case n > maxName:
		// Source: https://github.com/ChristopheBougere/asl-validator/issues/69 (an answer of CreateStateMachine)
		b.fault(codeStateName, at, "Invalid State name: State '%s' exceeds the %d-character limit allowed by the service", name, maxName)
	}

	if b.names[name] {
		b.fault(codeDuplicate, at, "State name '%s' is used more than once", name)
		// The first state of a flow with the name stays. One in another flow does not stand for it: else the transitions
		// of this flow would have no target.
		if b.states[name] != nil {
			return
		}
	}

	b.names[name] = true
	s := &State{Ordinal: len(b.parser.states), Name: name, Iterated: b.maps > 0}
	b.parser.states = append(b.parser.states, s)
	b.states[name] = s
	b.declared = append(b.declared, declared{state: s, raw: c.Value, at: at})
}

// target returns the state of this flow that a field names, and records the transition.
func (b *builder) target(from *State, o *object, field string) *State {
	name := o.text(field)
	if name == "" {
		b.fault(codeSchema, o.at, "the field '%s' is required", field)
		return nil
	}

	to := b.states[name]
	// A test runs one state only: a Succeed takes the place of every target.
	if to == nil && b.open {
		to = &State{Ordinal: len(b.parser.states), Name: name, Kind: Succeed}
		b.parser.states, b.states[name] = append(b.parser.states, to), to
	}

	if to == nil {
		b.fault(codeTransition, o.at+"/"+field, "Missing '%s' target: %s", field, name)
		return nil
	}

	if b.targets == nil {
		b.targets = map[*State][]*State{}
	}

	b.targets[from] = append(b.targets[from], to)

	return to
}

// checkReachable reports states that no path from start reaches, and a flow in which no
// path ends.
func (b *builder) checkReachable(start *State) {
	reached := map[*State]bool{start: true}
	todo := []*State{start}
	ends := false
	for len(todo) > 0 {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		// A Choice has no Next either, but it never ends its flow.
		ends = ends || s.Next == nil && s.Kind != Choice

		for _, to := range b.targets[s] {
			if !reached[to] {
				reached[to] = true
				todo = append(todo, to)
			}
		}
	}

	for _, d := range b.declared {
		if !reached[d.state] {
			b.fault(codeTransition, d.at, "State \"%s\" is not reachable.", d.state.Name)
		}
	}

	if !ends {
		b.fault(codeNoEnd, b.at, "No terminal state: no path leads to an End, Succeed or Fail")
	}
}
