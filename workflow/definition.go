package workflow

import (
	"fmt"
	"regexp"
	"slices"
)

// State is where an order stands, like "PAYMENT_RECEIVED".
type State string

// Event is what happens to an order, like "pay".
type Event string

// name is the closed alphabet of states and events: they go into expressions,
// diagrams and item paths, and must be safe in all of them.
var name = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// Spec describes a definition before it is checked.
type Spec struct {
	Name string
	// Version is stored with every order and rises with each change, from 1.
	Version int
	// Place is the event that creates an order in state Initial.
	Place   Event
	Initial State
	// States lists every state once, in the order in which people read them.
	States []StateSpec
	// Transitions lists every other move. An event may appear several times,
	// with other sources and another target.
	Transitions []Transition
}

// StateSpec is one state of a Spec.
type StateSpec struct {
	State State
	// Terminal marks a state that no event leaves.
	Terminal bool
	// Doc is one sentence for tables and diagrams.
	Doc string
}

// Transition leads from any of the sources to one target.
type Transition struct {
	Event Event
	From  []State
	To    State
}

// Pair is one move of an order.
type Pair struct{ From, To State }

// Group is the sources of an event that share a target: they fit into one
// condition, orderState IN (From...).
type Group struct {
	From []State
	To   State
}

// Definition is a checked Spec. It never changes.
type Definition struct {
	spec   Spec
	states map[State]int
	events map[Event]int
	order  []Event
	// next[s][e] is the target's index plus one; 0 means that s has no such event.
	next   [][]uint8
	groups map[Event][]Group
	// reach[s][t] tells whether some events lead from s to t (also in no step).
	reach [][]bool
}

// New checks spec and returns its definition. The error names the first fault:
// a bad name, a duplicate or unknown state, a duplicate (event, source), a state
// that nothing reaches, a dead end that is not terminal, a terminal state that an
// event leaves, or a disagreement with looplab/fsm.
func New(spec Spec) (*Definition, error) {
	d := &Definition{spec: spec, states: map[State]int{}, events: map[Event]int{}, groups: map[Event][]Group{}}
	for _, step := range []func() error{d.indexStates, d.indexEvents, d.fill, d.checkGraph, d.crossCheck} {
		if err := step(); err != nil {
			return nil, fmt.Errorf("workflow %q version %d: %w", spec.Name, spec.Version, err)
		}
	}
	return d, nil
}

func (d *Definition) indexStates() error {
	if d.spec.Version < 1 {
		return fmt.Errorf("the version is %d; versions count from 1", d.spec.Version)
	}
	if len(d.spec.States) > 255 {
		return fmt.Errorf("%d states; at most 255 are supported", len(d.spec.States))
	}
	for i, s := range d.spec.States {
		if !name.MatchString(string(s.State)) {
			return fmt.Errorf("state %q: names match %s", s.State, name)
		}
		if _, dup := d.states[s.State]; dup {
			return fmt.Errorf("state %s is listed twice", s.State)
		}
		d.states[s.State] = i
	}
	if _, ok := d.states[d.spec.Initial]; !ok {
		return fmt.Errorf("the initial state %q is not among the states", d.spec.Initial)
	}
	return nil
}

func (d *Definition) indexEvents() error {
	if !name.MatchString(string(d.spec.Place)) {
		return fmt.Errorf("place event %q: names match %s", d.spec.Place, name)
	}
	for _, t := range d.spec.Transitions {
		if !name.MatchString(string(t.Event)) {
			return fmt.Errorf("event %q: names match %s", t.Event, name)
		}
		if t.Event == d.spec.Place {
			return fmt.Errorf("event %s creates orders; no transition may use it", t.Event)
		}
		if _, known := d.events[t.Event]; !known {
			d.events[t.Event] = len(d.order)
			d.order = append(d.order, t.Event)
		}
	}
	return nil
}

func (d *Definition) fill() error {
	d.next = make([][]uint8, len(d.spec.States))
	for i := range d.next {
		d.next[i] = make([]uint8, len(d.order))
	}
	for _, t := range d.spec.Transitions {
		to, ok := d.states[t.To]
		if !ok {
			return fmt.Errorf("event %s leads to %q, which is not among the states", t.Event, t.To)
		}
		if len(t.From) == 0 {
			return fmt.Errorf("event %s to %s has no source", t.Event, t.To)
		}
		for _, from := range t.From {
			s, ok := d.states[from]
			if !ok {
				return fmt.Errorf("event %s starts from %q, which is not among the states", t.Event, from)
			}
			cell := &d.next[s][d.events[t.Event]]
			if *cell != 0 {
				return fmt.Errorf("event %s from %s is defined twice", t.Event, from)
			}
			*cell = uint8(to + 1) //nolint:gosec // at most 255 states, checked in indexStates
		}
		d.addGroup(t)
	}
	return nil
}

func (d *Definition) addGroup(t Transition) {
	groups := d.groups[t.Event]
	for i := range groups {
		if groups[i].To == t.To {
			groups[i].From = append(slices.Clone(groups[i].From), t.From...)
			return
		}
	}
	d.groups[t.Event] = append(groups, Group{From: slices.Clone(t.From), To: t.To})
}

// checkGraph computes who reaches whom and refuses states that are unreachable,
// stuck, or wrongly called terminal.
func (d *Definition) checkGraph() error {
	n := len(d.spec.States)
	d.reach = make([][]bool, n)
	for s := range n {
		d.reach[s] = make([]bool, n)
		d.visit(s, d.reach[s])
	}
	initial := d.states[d.spec.Initial]
	for i, s := range d.spec.States {
		leaves := slices.ContainsFunc(d.next[i], func(c uint8) bool { return c != 0 })
		switch {
		case !d.reach[initial][i]:
			return fmt.Errorf("state %s cannot be reached from %s", s.State, d.spec.Initial)
		case s.Terminal && leaves:
			return fmt.Errorf("state %s is terminal, but an event leaves it", s.State)
		case !s.Terminal && !leaves:
			return fmt.Errorf("state %s is a dead end: no event leaves it and it is not terminal", s.State)
		}
	}
	return nil
}

func (d *Definition) visit(s int, seen []bool) {
	if seen[s] {
		return
	}
	seen[s] = true
	for _, c := range d.next[s] {
		if c != 0 {
			d.visit(int(c)-1, seen)
		}
	}
}

// Name is the definition's name; Version the number stored with each order.
func (d *Definition) Name() string { return d.spec.Name }

// Version is stored with each order that the definition created or moved.
func (d *Definition) Version() int { return d.spec.Version }

// Initial is the state of a new order.
func (d *Definition) Initial() State { return d.spec.Initial }

// Place is the event that creates an order.
func (d *Definition) Place() Event { return d.spec.Place }

// Next returns the state to which event leads from state, and whether there is one.
func (d *Definition) Next(from State, event Event) (State, bool) {
	s, ok := d.states[from]
	if !ok {
		return "", false
	}
	e, ok := d.events[event]
	if !ok || d.next[s][e] == 0 {
		return "", false
	}
	return d.spec.States[d.next[s][e]-1].State, true
}

// Groups returns the event's sources by target, nil for an unknown event. The
// result is shared and must not be changed.
func (d *Definition) Groups(event Event) []Group { return d.groups[event] }

// Sources returns every state that the event leaves, in the definition's order.
func (d *Definition) Sources(event Event) []State {
	var from []State
	for _, s := range d.spec.States {
		if _, ok := d.Next(s.State, event); ok {
			from = append(from, s.State)
		}
	}
	return from
}

// HasState reports whether the definition knows the state.
func (d *Definition) HasState(s State) bool { _, ok := d.states[s]; return ok }

// Terminal reports whether no event leaves the state.
func (d *Definition) Terminal(s State) bool {
	i, ok := d.states[s]
	return ok && d.spec.States[i].Terminal
}

// Reachable reports whether some events lead from one state to the other; a
// state reaches itself. Unknown states reach nothing.
func (d *Definition) Reachable(from, to State) bool {
	f, ok := d.states[from]
	t, ok2 := d.states[to]
	return ok && ok2 && d.reach[f][t]
}

// States returns the states in the definition's order.
func (d *Definition) States() []StateSpec { return slices.Clone(d.spec.States) }

// Events returns the events in the definition's order, without Place.
func (d *Definition) Events() []Event { return slices.Clone(d.order) }
