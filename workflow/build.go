package workflow

import (
	"fmt"
	"slices"
)

// New checks a spec and returns its definition. The error names the first fault: an unknown part of the
// content, a bad name, a duplicate or unknown state, two transitions of one event from one source whose
// guards do not exclude each other, a guard that DynamoDB cannot express, a timed transition without a moment or with a guard that needs
// a value of the request, a restart of no timer, an event that leaves more states
// to one target than a condition can compare (100), a state that cannot be reached,
// a dead end that is not terminal, a terminal state that an event leaves, an unknown state or event in what
// the spec says about edits, ends and shipping, or a disagreement with looplab/fsm. Every fault but the last kind is a [*SpecError].
func New(spec Spec) (*Definition, error) {
	d := &Definition{
		spec:    spec.clone(),
		states:  map[State]int{},
		columns: map[Event]int{},
		groups:  map[Event][]Group{},
		choices: map[[2]int][]Transition{},
	}

	// The order matters: the later steps rely on the indices and on normalized guards.
	steps := []func() error{
		d.checkContent,
		d.indexStates,
		d.indexEvents,
		d.checkGuards,
		d.fillTables,
		d.checkTimers,
		d.checkSources,
		d.checkGraph,
		d.checkShop,
		d.crossCheck,
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, fmt.Errorf("workflow %q version %d: %w", spec.Name, spec.Version, err)
		}
	}

	return d, nil
}

func (d *Definition) indexStates() error {
	if d.spec.Version < 1 {
		return specError("version", 0, "the version is %d; versions count from 1", d.spec.Version)
	}

	// A cell of next has 8 bits: 0 is no target, several is its
	// highest value, and the rest are rows plus one.
	if len(d.spec.States) >= several {
		return specError("states", 0, "%d states; at most %d are supported", len(d.spec.States), several-1)
	}

	for i, s := range d.spec.States {
		if !name().MatchString(string(s.State)) {
			return specError("state", i, "state %q: names match %s", s.State, name())
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
	place := d.spec.Place
	switch {
	case !name().MatchString(string(place)):
		return specError("place", 0, "place event %q: names match %s", place, name())
	case place.IsReserved():
		return specError("place", 0, "event %s is reserved: %s", place, reservedFor(place))
	}

	for i, t := range d.spec.Transitions {
		switch {
		case t.Event.IsReserved():
			return specError("transition", i, "event %s is reserved: %s", t.Event, reservedFor(t.Event))
		case !name().MatchString(string(t.Event)):
			return specError("transition", i, "event %q: names match %s", t.Event, name())
		case t.Event == place:
			return specError("transition", i, "event %s creates orders; no transition may use it", t.Event)
		}

		// An event may have several transitions. Its column is the place where it first appears.
		if _, known := d.columns[t.Event]; !known {
			d.columns[t.Event] = len(d.events)
			d.events = append(d.events, t.Event)
		}
	}

	return nil
}

// reservedFor says for what a reserved event is.
func reservedFor(e Event) string {
	if e == Imported {
		return "it is the one of orders that come from elsewhere"
	}

	return "it is the one of changes of version"
}

func (d *Definition) checkGuards() error {
	for i, t := range d.spec.Transitions {
		for j, g := range t.Guards {
			normal, err := g.Normalize()
			if err != nil {
				return specError("transition", i, "event %s to %s: %w", t.Event, t.To, err)
			}

			// t is a copy, but shares its guards with the spec, which New has cloned.
			t.Guards[j] = normal
		}
	}

	return nil
}

// checkSources checks that one condition can compare the sources of an event that share a target.
func (d *Definition) checkSources() error {
	for i, t := range d.spec.Transitions {
		for _, g := range d.groups[t.Event] {
			if len(g.From) > maxIn {
				return specError("transition", i, "event %s leads from %d states to %s; at most %d can be compared in one write", t.Event, len(g.From), g.To, maxIn)
			}
		}
	}

	return nil
}

// fillTables fills next, choices and groups.
func (d *Definition) fillTables() error {
	d.next = make([][]uint8, len(d.spec.States))
	d.timed = make([][]Transition, len(d.spec.States))
	for i := range d.next {
		d.next[i] = make([]uint8, len(d.events))
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
			row, ok := d.states[from]
			if !ok {
				return specError("transition", i, "event %s starts from %q, which is not among the states", t.Event, from)
			}

			if err := d.addSource(i, row, to); err != nil {
				return err
			}
		}

		d.addGroup(t)
	}

	return nil
}

// addSource enters transition i from one of its sources into next and choices.
func (d *Definition) addSource(i, row, to int) error {
	t := d.spec.Transitions[i]
	from := d.spec.States[row].State
	cell := [2]int{row, d.columns[t.Event]}

	// Two transitions may share a cell only if at most one of them can apply to an order.
	for _, other := range d.choices[cell] {
		switch {
		case len(t.Guards) == 0 || len(other.Guards) == 0:
			return specError("transition", i, "event %s from %s is defined twice", t.Event, from)
		case !exclusive(t.Guards, other.Guards):
			return specError("transition", i,
				"event %s from %s is ambiguous: it leads to %s and to %s, and the guards may hold at the same time",
				t.Event, from, other.To, t.To)
		}
	}

	choice := Transition{
		Event:   t.Event,
		From:    []State{from},
		To:      t.To,
		Guards:  t.Guards,
		After:   t.After,
		Restart: t.Restart,
	}

	d.choices[cell] = append(d.choices[cell], choice)
	if t.After != nil {
		d.timed[row] = append(d.timed[row], choice)
	}

	// choices has every target. next has one only if all transitions of the cell agree about it.
	switch next := &d.next[row][cell[1]]; int(*next) {
	case 0:
		*next = uint8(to + 1)
	case to + 1:
	default:
		*next = several
	}

	return nil
}

// addGroup adds a transition's sources to the group with its target and guards.
func (d *Definition) addGroup(t Transition) {
	// Transitions with the same target and guards become one condition of the write.
	groups := d.groups[t.Event]
	for i := range groups {
		if groups[i].To == t.To && equalGuards(groups[i].Guards, t.Guards) {
			groups[i].From = append(groups[i].From, t.From...)
			return
		}
	}

	d.groups[t.Event] = append(groups, Group{
		From:   slices.Clone(t.From),
		To:     t.To,
		Guards: t.Guards,
	})
}

func equalGuards(a, b []Guard) bool {
	return slices.EqualFunc(a, b, func(g, h Guard) bool { return g.Name == h.Name && g.String() == h.String() })
}

// checkGraph computes which state can reach which, and refuses a state that cannot be
// reached, a dead end, and a terminal state that an event leaves.
func (d *Definition) checkGraph() error {
	n := len(d.spec.States)
	d.reach = make([][]bool, n)
	for row := range n {
		d.reach[row] = make([]bool, n)
		// From every state, and not only from the initial one: Reachable answers for any pair.
		d.markReachable(row, d.reach[row])
	}

	initial := d.states[d.spec.Initial]
	for i, s := range d.spec.States {
		left := slices.ContainsFunc(d.next[i], func(cell uint8) bool { return cell != 0 })

		switch {
		case !d.reach[initial][i]:
			return specError("state", i, "state %s cannot be reached from %s", s.State, d.spec.Initial)
		case s.Terminal && left:
			return specError("state", i, "state %s is terminal, but an event leaves it", s.State)
		case !s.Terminal && !left:
			return specError("state", i, "state %s is a dead end: no event leaves it and it is not terminal", s.State)
		}
	}

	return nil
}

// markReachable marks the state of a row and every state that it leads to.
func (d *Definition) markReachable(row int, seen []bool) {
	if seen[row] {
		return
	}

	seen[row] = true
	for column := range d.events {
		// The targets come from choices, because next does not have them for a cell of several.
		for _, t := range d.choices[[2]int{row, column}] {
			d.markReachable(d.states[t.To], seen)
		}
	}
}
