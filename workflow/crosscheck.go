package workflow

import (
	"context"
	"errors"
	"fmt"

	"github.com/looplab/fsm"
)

// question is a question to looplab/fsm: one cell of the table.
type question struct {
	event string
	from  State
	to    State // "" if the table refuses
}

// questions lists every (state, event) pair, legal or not. The library knows no
// guards and lets the last of several transitions win. So each transition of a
// guarded pair is a question with an event name of its own.
func (d *Definition) questions() []question {
	var all []question
	for _, s := range d.spec.States {
		for _, e := range d.events {
			choices := d.Choices(s.State, e)
			if len(choices) == 0 {
				all = append(all, question{event: string(e), from: s.State})
			}

			for i, t := range choices {
				all = append(all, question{event: alternative(e, i, len(choices)), from: s.State, to: t.To})
			}
		}
	}

	return all
}

// alternative names the i-th of n transitions that share event and source. It cannot
// collide with an event, whose name has no slash.
func alternative(e Event, i, n int) string {
	if n == 1 {
		return string(e)
	}
	return fmt.Sprintf("%s/%d", e, i)
}

// machine returns a looplab machine of the definition in a state. It has no callbacks,
// so that none of the defects around callbacks (deadlocks, half-done transitions) can occur.
func (d *Definition) machine(at State) *fsm.FSM {
	var events fsm.Events
	seen := map[[2]string]int{}
	for _, t := range d.spec.Transitions {
		for _, from := range t.From {
			pair := [2]string{string(t.Event), string(from)}
			event := alternative(t.Event, seen[pair], len(d.Choices(from, t.Event)))
			seen[pair]++

			events = append(events, fsm.EventDesc{Name: event, Src: []string{string(from)}, Dst: string(t.To)})
		}
	}

	return fsm.NewFSM(string(at), events, nil)
}

// crossCheck asks looplab/fsm about every (state, event) pair and compares its answers
// with the table.
func (d *Definition) crossCheck() error {
	var m *fsm.FSM
	for i, q := range d.questions() {
		// A machine moves when it accepts an event, so the next
		// question from this state needs another machine.
		if i == 0 || State(m.Current()) != q.from {
			m = d.machine(q.from)
		}

		to, err := fire(m, q.event)
		switch {
		case err != nil:
			return fmt.Errorf("event %s from %s: looplab/fsm: %w", q.event, q.from, err)
		case to != q.to && to == "":
			return fmt.Errorf("event %s from %s: looplab/fsm refuses what the table allows", q.event, q.from)
		case to != q.to:
			return fmt.Errorf("event %s from %s: looplab/fsm goes to %s, the table to %q", q.event, q.from, to, q.to)
		}
	}

	return nil
}

// fire returns the state that the machine goes to, or "" if it refuses the event.
func fire(m *fsm.FSM, event string) (State, error) {
	// A canceled context would leave the machine in transition forever
	// (https://github.com/looplab/fsm/issues/115).
	err := m.Event(context.Background(), event)

	var (
		stays   fsm.NoTransitionError
		invalid fsm.InvalidEventError
		unknown fsm.UnknownEventError
	)

	switch {
	// The library reports a transition from a state to itself as an error, although the
	// machine accepts it.
	case err == nil, errors.As(err, &stays) && stays.Err == nil:
		return State(m.Current()), nil
	case errors.As(err, &invalid), errors.As(err, &unknown):
		return "", nil
	}

	return "", err
}
