package workflow

import "slices"

// several marks a cell of Definition.next whose target depends on guards.
const several = 255

// Definition is a checked [Spec]. It never changes, and any number of goroutines may use
// it at the same time.
type Definition struct {
	spec    Spec
	states  map[State]int // row of each state
	columns map[Event]int // column of each event
	events  []Event
	// next holds for each row and column the row of the target plus one; 0 if the
	// event does not leave the state, several if guards choose between targets.
	next [][]uint8
	// choices holds the transitions of each row and column.
	choices map[[2]int][]Transition
	groups  map[Event][]Group
	timed   [][]Transition // of each row, those that time makes
	// reach says for each pair of rows whether events lead from the first
	// to the second. Every state reaches itself.
	reach [][]bool
}

// Group is the sources of an event that share a target and guards. They fit into
// one condition: orderState IN (From...) AND the guards.
type Group struct {
	From   []State
	To     State
	Guards []Guard
}

// Name returns the name of the definition.
func (d *Definition) Name() string { return d.spec.Name }

// Version returns the number that is stored with each order that the definition created
// or moved.
func (d *Definition) Version() int { return d.spec.Version }

// Initial returns the state of a new order.
func (d *Definition) Initial() State { return d.spec.Initial }

// Place returns the event that creates an order.
func (d *Definition) Place() Event { return d.spec.Place }

// States returns the states in the order of the spec.
func (d *Definition) States() []StateSpec { return slices.Clone(d.spec.States) }

// Events returns the events in the order of the spec, without Place.
func (d *Definition) Events() []Event { return slices.Clone(d.events) }

// Spec returns a copy of the spec, with normalized guards.
func (d *Definition) Spec() Spec { return d.spec.clone() }

// Next returns the state to which an event leads from a state, guards aside, if there is exactly one. If
// guards choose between several targets, Next returns false: use [Definition.Choices] or
// [Definition.Decide]. Next allocates nothing.
func (d *Definition) Next(from State, event Event) (State, bool) {
	row, ok := d.states[from]
	if !ok {
		return "", false
	}

	column, ok := d.columns[event]
	if !ok {
		return "", false
	}

	next := d.next[row][column]
	// Without the data of the order, guards cannot be decided.
	if next == 0 || next == several {
		return "", false
	}

	return d.spec.States[next-1].State, true
}

// Choices returns the transitions of an event from a state: none, one, or several whose
// guards exclude each other. The result is shared and must not be changed.
func (d *Definition) Choices(from State, event Event) []Transition {
	row, ok := d.states[from]
	if !ok {
		return nil
	}

	column, ok := d.columns[event]
	if !ok {
		return nil
	}

	return d.choices[[2]int{row, column}]
}

// Groups returns the sources of an event by target and guards, nil for an unknown event.
// The result is shared and must not be changed.
func (d *Definition) Groups(event Event) []Group { return d.groups[event] }

// Sources returns every state that an event leaves, in the order of the spec.
func (d *Definition) Sources(event Event) []State {
	var from []State
	for _, s := range d.spec.States {
		if len(d.Choices(s.State, event)) > 0 {
			from = append(from, s.State)
		}
	}

	return from
}

// HasState reports whether the definition has the state.
func (d *Definition) HasState(s State) bool {
	_, ok := d.states[s]
	return ok
}

// Terminal reports whether no event leaves the state.
func (d *Definition) Terminal(s State) bool {
	row, ok := d.states[s]
	return ok && d.spec.States[row].Terminal
}

// Reachable reports whether some events lead from one state to the other. A state reaches
// itself. An unknown state reaches nothing.
func (d *Definition) Reachable(from, to State) bool {
	f, ok := d.states[from]
	if !ok {
		return false
	}

	t, ok := d.states[to]

	return ok && d.reach[f][t]
}
