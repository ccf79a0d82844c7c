package workflow

import (
	"context"
	"errors"
	"fmt"

	"github.com/looplab/fsm"
)

// machine returns a fresh looplab machine of the definition, standing at state.
// It has no callbacks, so none of the defects that callbacks bring (deadlocks,
// half-done transitions) can occur.
func (d *Definition) machine(at State) *fsm.FSM {
	events := make(fsm.Events, 0, len(d.spec.Transitions))
	for _, t := range d.spec.Transitions {
		from := make([]string, len(t.From))
		for i, s := range t.From {
			from[i] = string(s)
		}
		events = append(events, fsm.EventDesc{Name: string(t.Event), Src: from, Dst: string(t.To)})
	}
	return fsm.NewFSM(string(at), events, nil)
}

// crossCheck asks looplab/fsm about every (state, event) pair and compares its
// answer with the table. The context is Background on purpose: a cancelled one
// leaves a machine in transition for ever (looplab/fsm issue 115).
func (d *Definition) crossCheck() error {
	for _, s := range d.spec.States {
		for _, e := range d.order {
			want, legal := d.Next(s.State, e)
			m := d.machine(s.State)
			err := m.Event(context.Background(), string(e))
			var stays fsm.NoTransitionError
			var refused fsm.InvalidEventError
			switch {
			case err == nil || (errors.As(err, &stays) && stays.Err == nil):
				if !legal || State(m.Current()) != want {
					return fmt.Errorf("event %s from %s: looplab/fsm goes to %s, the table to %q", e, s.State, m.Current(), want)
				}
			case errors.As(err, &refused):
				if legal {
					return fmt.Errorf("event %s from %s: looplab/fsm refuses what the table allows", e, s.State)
				}
			default:
				return fmt.Errorf("event %s from %s: looplab/fsm: %w", e, s.State, err)
			}
		}
	}
	return nil
}
