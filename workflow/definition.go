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

// Transition leads from any of the sources to one target, if its guards hold.
type Transition struct {
	Event Event
	From  []State
	To    State
	// Guards must all hold. Transitions of one event may share a source when their
	// guards exclude each other; [New] refuses them when it cannot show that.
	Guards []Guard
}

// Group is the sources of an event that share a target and guards: they fit into
// one condition, orderState IN (From...) AND the guards.
type Group struct {
	From   []State
	To     State
	Guards []Guard
}

// several marks a (state, event) whose target depends on guards.
const several = 255

// SpecError is a fault of a [Spec]. Part and Index say where it is, so that a reader
// of files can name the line.
type SpecError struct {
	// Part is "version", "states" (the list), "state", "initial", "place" or
	// "transition".
	Part string
	// Index is the position in Spec.States or Spec.Transitions when Part is "state" or
	// "transition", else 0.
	Index int
	Err   error
}

func (e *SpecError) Error() string { return e.Err.Error() }

// Unwrap returns the error without its place in the spec.
func (e *SpecError) Unwrap() error { return e.Err }

func specError(part string, index int, format string, args ...any) error {
	return &SpecError{Part: part, Index: index, Err: fmt.Errorf(format, args...)}
}

// Definition is a checked Spec. It never changes.
type Definition struct {
	spec   Spec
	states map[State]int
	events map[Event]int
	order  []Event
	// next[s][e] is the target's index plus one; 0 means that s has no such event,
	// several that guards choose between targets.
	next [][]uint8
	// choices holds the transitions of every legal (state, event), by index.
	choices map[[2]int][]Transition
	groups  map[Event][]Group
	// reach[s][t] tells whether some events lead from s to t (also in no step).
	reach [][]bool
}

// New checks spec and returns its definition. The error names the first fault:
// a bad name, a duplicate or unknown state, a duplicate (event, source) or one whose
// guards do not exclude each other, a guard that DynamoDB cannot express, a state
// that nothing reaches, a dead end that is not terminal, a terminal state that an
// event leaves, or a disagreement with looplab/fsm.
func New(spec Spec) (*Definition, error) {
	d := &Definition{spec: spec.clone(), states: map[State]int{}, events: map[Event]int{}, groups: map[Event][]Group{}, choices: map[[2]int][]Transition{}}
	for _, step := range []func() error{d.indexStates, d.indexEvents, d.checkGuards, d.fill, d.checkGraph, d.crossCheck} {
		if err := step(); err != nil {
			return nil, fmt.Errorf("workflow %q version %d: %w", spec.Name, spec.Version, err)
		}
	}

	return d, nil
}

// clone copies the lists, so that a definition does not change under its users.
func (s Spec) clone() Spec {
	s.States = slices.Clone(s.States)
	s.Transitions = slices.Clone(s.Transitions)
	for i := range s.Transitions {
		t := &s.Transitions[i]
		t.From = slices.Clone(t.From)
		t.Guards = slices.Clone(t.Guards)
	}

	return s
}

func (d *Definition) indexStates() error {
	if d.spec.Version < 1 {
		return specError("version", 0, "the version is %d; versions count from 1", d.spec.Version)
	}

	if len(d.spec.States) >= several {
		return specError("states", 0, "%d states; at most %d are supported", len(d.spec.States), several-1)
	}

	for i, s := range d.spec.States {
		if !name.MatchString(string(s.State)) {
			return specError("state", i, "state %q: names match %s", s.State, name)
		}

		if _, dup := d.states[s.State]; dup {
			return specError("state", i, "state %s is listed twice", s.State)
		}
		d.states[s.State] = i
	}

	if _, ok := d.states[d.spec.Initial]; !ok {
		return specError("initial", 0, "the initial state %q is not among the states", d.spec.Initial)
	}

	return nil
}

func (d *Definition) indexEvents() error {
	if !name.MatchString(string(d.spec.Place)) {
		return specError("place", 0, "place event %q: names match %s", d.spec.Place, name)
	}

	if d.spec.Place == Migrate {
		return specError("place", 0, "event %s is reserved for changes of version", Migrate)
	}

	for i, t := range d.spec.Transitions {
		if t.Event == Migrate {
			return specError("transition", i, "event %s is reserved for changes of version", Migrate)
		}

		if !name.MatchString(string(t.Event)) {
			return specError("transition", i, "event %q: names match %s", t.Event, name)
		}

		if t.Event == d.spec.Place {
			return specError("transition", i, "event %s creates orders; no transition may use it", t.Event)
		}

		if _, known := d.events[t.Event]; !known {
			d.events[t.Event] = len(d.order)
			d.order = append(d.order, t.Event)
		}
	}

	return nil
}

func (d *Definition) checkGuards() error {
	for i, t := range d.spec.Transitions {
		for j, g := range t.Guards {
			g, err := g.Normalize()
			if err != nil {
				return specError("transition", i, "event %s to %s: %w", t.Event, t.To, err)
			}
			t.Guards[j] = g
		}
	}

	return nil
}

func (d *Definition) fill() error {
	d.next = make([][]uint8, len(d.spec.States))
	for i := range d.next {
		d.next[i] = make([]uint8, len(d.order))
	}

	for i, t := range d.spec.Transitions {
		to, ok := d.states[t.To]
		if !ok {
			return specError("transition", i, "event %s leads to %q, which is not among the states", t.Event, t.To)
		}

		if len(t.From) == 0 {
			return specError("transition", i, "event %s to %s has no source", t.Event, t.To)
		}

		for _, from := range t.From {
			s, ok := d.states[from]
			if !ok {
				return specError("transition", i, "event %s starts from %q, which is not among the states", t.Event, from)
			}

			if err := d.put(i, s, d.events[t.Event], to); err != nil {
				return err
			}
		}
		d.addGroup(t)
	}

	return nil
}

// put enters one source of transition i into the tables.
func (d *Definition) put(i, s, e, to int) error {
	t := d.spec.Transitions[i]
	from := d.spec.States[s].State
	key := [2]int{s, e}
	for _, other := range d.choices[key] {
		switch {
		case len(t.Guards) == 0 || len(other.Guards) == 0:
			return specError("transition", i, "event %s from %s is defined twice", t.Event, from)
		case !exclusive(t.Guards, other.Guards):
			return specError("transition", i, "event %s from %s is ambiguous: it leads to %s and to %s, and the guards may hold at the same time", t.Event, from, other.To, t.To)
		}
	}
	d.choices[key] = append(d.choices[key], Transition{Event: t.Event, From: []State{from}, To: t.To, Guards: t.Guards})

	cell := &d.next[s][e]
	switch {
	case *cell == 0:
		*cell = uint8(to + 1)
	case int(*cell) != to+1:
		*cell = several
	}

	return nil
}

func (d *Definition) addGroup(t Transition) {
	groups := d.groups[t.Event]
	for i := range groups {
		if groups[i].To == t.To && sameGuards(groups[i].Guards, t.Guards) {
			groups[i].From = append(slices.Clone(groups[i].From), t.From...)
			return
		}
	}
	d.groups[t.Event] = append(groups, Group{From: slices.Clone(t.From), To: t.To, Guards: t.Guards})
}

func sameGuards(a, b []Guard) bool {
	return slices.EqualFunc(a, b, func(g, h Guard) bool { return g.Name == h.Name && g.String() == h.String() })
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
			return specError("state", i, "state %s cannot be reached from %s", s.State, d.spec.Initial)
		case s.Terminal && leaves:
			return specError("state", i, "state %s is terminal, but an event leaves it", s.State)
		case !s.Terminal && !leaves:
			return specError("state", i, "state %s is a dead end: no event leaves it and it is not terminal", s.State)
		}
	}

	return nil
}

func (d *Definition) visit(s int, seen []bool) {
	if seen[s] {
		return
	}

	seen[s] = true
	for e := range d.next[s] {
		for _, to := range d.targets(s, e) {
			d.visit(to, seen)
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

// Next returns the state to which event leads from state, guards aside, and whether
// there is exactly one. Where guards choose between several it says no: ask
// [Definition.Choices] or [Definition.Decide].
func (d *Definition) Next(from State, event Event) (State, bool) {
	s, ok := d.states[from]
	if !ok {
		return "", false
	}

	e, ok := d.events[event]
	if !ok || d.next[s][e] == 0 || d.next[s][e] == several {
		return "", false
	}

	return d.spec.States[d.next[s][e]-1].State, true
}

// Choices returns the transitions of event from state: none, one, or several whose
// guards exclude each other. The result is shared and must not be changed.
func (d *Definition) Choices(from State, event Event) []Transition {
	s, ok := d.states[from]
	e, ok2 := d.events[event]
	if !ok || !ok2 {
		return nil
	}

	return d.choices[[2]int{s, e}]
}

// Groups returns the event's sources by target, nil for an unknown event. The
// result is shared and must not be changed.
func (d *Definition) Groups(event Event) []Group { return d.groups[event] }

// Sources returns every state that the event leaves, in the definition's order.
func (d *Definition) Sources(event Event) []State {
	var from []State
	for _, s := range d.spec.States {
		if len(d.Choices(s.State, event)) > 0 {
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

// Spec returns a copy of what the definition was made from.
func (d *Definition) Spec() Spec { return d.spec.clone() }

// targets lists the states to which the event, by its column, may lead from the
// state, by its row: one, or several that guards tell apart.
func (d *Definition) targets(s, e int) []int {
	switch c := d.next[s][e]; c {
	case 0:
		return nil
	default:
		return []int{int(c) - 1}
	case several:
		var to []int
		for _, t := range d.choices[[2]int{s, e}] {
			if i := d.states[t.To]; !slices.Contains(to, i) {
				to = append(to, i)
			}
		}

		return to
	}
}
