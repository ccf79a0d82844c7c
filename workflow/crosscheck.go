package workflow

import (
	"context"
	"errors"
	"fmt"

	"github.com/looplab/fsm"
)

// question is one row of the table as looplab/fsm is asked about it. The library
// knows no guards and lets the last of several transitions win, so a row with several
// asks about each under a name of its own.
type question struct {
	name string
	from State
	to   State // "" when the table refuses
}

// questions lists every (state, event) pair, legal or not.
func (d *Definition) questions() []question {
	var all []question
	for _, s := range d.spec.States {
		for _, e := range d.order {
			choices := d.Choices(s.State, e)
			if len(choices) == 0 {
				all = append(all, question{string(e), s.State, ""})
			}

			for i, t := range choices {
				all = append(all, question{alternative(e, i, len(choices)), s.State, t.To})
			}
		}
	}

	return all
}

// alternative names the i-th of n transitions that share event and source. Names of
// events have no slash.
func alternative(e Event, i, n int) string {
	if n == 1 {
		return string(e)
	}
	return fmt.Sprintf("%s/%d", e, i)
}

// machine returns a fresh looplab machine of the definition, standing at state.
// It has no callbacks, so none of the defects that callbacks bring (deadlocks,
// half-done transitions) can occur.
func (d *Definition) machine(at State) *fsm.FSM {
	var events fsm.Events
	seen := map[[2]string]int{}
	for _, t := range d.spec.Transitions {
		for _, from := range t.From {
			key := [2]string{string(t.Event), string(from)}
			name := alternative(t.Event, seen[key], len(d.Choices(from, t.Event)))
			seen[key]++
			events = append(events, fsm.EventDesc{Name: name, Src: []string{string(from)}, Dst: string(t.To)})
		}
	}

	return fsm.NewFSM(string(at), events, nil)
}

// crossCheck asks looplab/fsm about every (state, event) pair and compares its
// answer with the table. A machine that has moved is thrown away. The context is Background on purpose: a cancelled one
// leaves a machine in transition for ever (looplab/fsm issue 115).
func (d *Definition) crossCheck() error {
	var m *fsm.FSM
	for i, q := range d.questions() {
		if i == 0 || State(m.Current()) != q.from {
			m = d.machine(q.from)
		}
		err := m.Event(context.Background(), q.name)

		var stays fsm.NoTransitionError
		var refused fsm.InvalidEventError
		var unknown fsm.UnknownEventError
		switch {
		case err == nil || (errors.As(err, &stays) && stays.Err == nil):
			if q.to == "" || State(m.Current()) != q.to {
				return fmt.Errorf("event %s from %s: looplab/fsm goes to %s, the table to %q", q.name, q.from, m.Current(), q.to)
			}
		case errors.As(err, &refused) || (errors.As(err, &unknown) && q.to == ""):
			if q.to != "" {
				return fmt.Errorf("event %s from %s: looplab/fsm refuses what the table allows", q.name, q.from)
			}
		default:
			return fmt.Errorf("event %s from %s: looplab/fsm: %w", q.name, q.from, err)
		}
	}

	return nil
}
