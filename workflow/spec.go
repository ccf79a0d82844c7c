package workflow

import (
	"fmt"
	"regexp"
	"slices"
	"sync"
)

// State is a state of an order, like "PAYMENT_RECEIVED".
type State string

// Event names a kind of move of an order, like "pay".
type Event string

// name matches the names of states, events and guards. They become parts of expressions,
// diagrams and item paths and must be safe in all of them.
var name = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`) })

// Spec describes a definition. [New] checks it.
type Spec struct {
	Name string
	// Version is stored with every order. It counts from 1 and rises with each change.
	Version int
	// Place is the event that creates an order in state Initial.
	Place   Event
	Initial State
	// Content lists the parts that an aggregate has. Nil: all of them, as an order of a shop
	// has. Empty: none.
	Content []Part
	// States lists every state once, in the order of diagrams and tables.
	States []StateSpec
	// Transitions lists every other move. An event may appear several times,
	// with other sources and another target.
	Transitions []Transition
	// Editable lists the states in which an order's content may be edited: its lines, addresses and notes.
	// Nil: none.
	Editable []State
	// Settled lists the states whose orders need no execution any more: they have ended well, and only a
	// return, a complaint or the end of a term moves them on. `orders watch` ends in them. A terminal state
	// need not be listed.
	Settled []State
	// Shipping says how parcels and the reports of a carrier move orders.
	Shipping Shipping
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
	// Guards must all hold. Transitions of one event may share a source if their guards exclude each
	// other. [New] refuses them if it cannot show that they do.
	Guards []Guard
	// After says when time makes the transition. Nil: only requests do. A timed transition may also be
	// requested before, like any other.
	After *After
	// Restart starts the timers of the state again if the event keeps the state. Without it, only the timer of
	// the transition itself starts again.
	Restart bool
}

// clone copies the lists, so that a definition does not change with its spec.
func (s Spec) clone() Spec {
	s.Content = slices.Clone(s.Content)
	s.States = slices.Clone(s.States)
	s.Transitions = slices.Clone(s.Transitions)
	s.Editable, s.Settled, s.Shipping = slices.Clone(s.Editable), slices.Clone(s.Settled), s.Shipping.clone()

	// The elements are copies now, but still share their lists with the original.
	for i := range s.Transitions {
		t := &s.Transitions[i]
		t.From = slices.Clone(t.From)
		t.Guards = slices.Clone(t.Guards)

		if t.After != nil {
			after := *t.After
			t.After = &after
		}
	}

	return s
}

// SpecError is a fault of a [Spec]. Part and Index say where it is, so that a reader
// of files can name the line.
type SpecError struct {
	// Part is "version", "content", "states" (the list), "state", "initial", "place",
	// "transition", "editable", "settled" or "shipping".
	Part string
	// Index is the position in Spec.States or Spec.Transitions if Part is "state" or
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
