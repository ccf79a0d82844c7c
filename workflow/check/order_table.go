package check

import (
	"slices"
	"strings"

	"ratchet/workflow"
)

// The positions of an order beside the indices of the definition's states.
const (
	noOrder = -1 // there is no order yet
	lost    = -2 // the data of the execution does not say where the order is
)

// orderTable answers questions about a definition by the index of its states, which
// keeps the nodes of the exploration small.
type orderTable struct {
	d      *workflow.Definition
	states []workflow.StateSpec
	index  map[workflow.State]int16
	fenced []workflow.Event // by tasks with a fence
}

func newOrderTable(d *workflow.Definition, fenced []workflow.Event) orderTable {
	t := orderTable{
		d:      d,
		states: d.States(),
		index:  map[workflow.State]int16{},
		fenced: fenced,
	}

	for i, s := range t.states {
		t.index[s.State] = int16(i)
	}

	return t
}

// name returns the state of a position: "" for noOrder and "?" for lost.
func (t orderTable) name(position int16) workflow.State {
	switch position {
	case noOrder:
		return ""
	case lost:
		return "?"
	}

	return t.states[position].State
}

// targets lists the positions that an event can lead to, guards aside.
func (t orderTable) targets(from int16, e workflow.Event) []int16 {
	if from < 0 {
		return nil
	}

	var to []int16
	for _, choice := range t.d.Choices(t.states[from].State, e) {
		if position := t.index[choice.To]; !slices.Contains(to, position) {
			to = append(to, position)
		}
	}

	return to
}

// mayRefuse reports whether an event can be refused in a state: no transition has it there, or the order's
// data decides whether one is allowed.
func (t orderTable) mayRefuse(from int16, e workflow.Event) bool {
	choices := t.d.Choices(t.states[from].State, e)

	return !slices.ContainsFunc(choices, func(c workflow.Transition) bool { return len(c.Guards) == 0 }) && !exhaustive(choices)
}

// exhaustive reports whether two of the transitions have one guard each, and these are opposites.
func exhaustive(choices []workflow.Transition) bool {
	opposite := map[workflow.Op]workflow.Op{"=": "<>", "<>": "=", "exists": "missing", "missing": "exists"}

	return slices.ContainsFunc(choices, func(a workflow.Transition) bool {
		return slices.ContainsFunc(choices, func(b workflow.Transition) bool {
			if len(a.Guards) != 1 || len(b.Guards) != 1 {
				return false
			}

			g, h := a.Guards[0], b.Guards[0]

			return h.Op == opposite[g.Op] && h.Attribute == g.Attribute && h.Value == g.Value && h.Other == g.Other && h.Request == g.Request
		})
	})
}

// by returns the event of a move as a view remembers it. same says that the move was made under the id that
// follows the view, given by the caller: a task with a fence that asks for the event by the view repeats it.
func (t orderTable) by(e workflow.Event, same bool) first {
	i := slices.Index(t.fenced, e)
	switch {
	case i < 0:
		return anything
	case same:
		return first(2*i + 1)
	}

	return first(2*i + 2)
}

// byAny returns what a view may remember of a move of which it is not known who chose its id. All tasks that
// carry the id of one view are answered alike, so each possibility is a way of its own.
func (t orderTable) byAny(e workflow.Event) []first {
	if by := t.by(e, true); by != anything {
		return []first{by, t.by(e, false)}
	}

	return []first{anything}
}

// reachable reports whether some events lead from one position to another.
func (t orderTable) reachable(from, to int16) bool {
	return t.d.Reachable(t.states[from].State, t.states[to].State)
}

// outsideMove is a change of the order that the execution did not make.
type outsideMove struct {
	to int16
	// how names the events for the path of a finding, "" when the order did not move.
	how string
	by  first // the first of the events
}

// timed lists the positions that time can lead to by an event, guards aside.
func (t orderTable) timed(from int16, e workflow.Event) []int16 {
	var to []int16
	for _, timer := range t.d.Timed(t.states[from].State) {
		if position := t.index[timer.To]; timer.Event == e && !slices.Contains(to, position) {
			to = append(to, position)
		}
	}

	return to
}

// timedEvents returns those of the events that time applies in some state.
func (t orderTable) timedEvents(events []string) []string {
	return slices.DeleteFunc(slices.Clone(events), func(e string) bool {
		return !slices.ContainsFunc(t.states, func(s workflow.StateSpec) bool { return len(t.timed(t.index[s.State], workflow.Event(e))) > 0 })
	})
}

// movesByTime returns for every state the positions to which time alone can bring an order.
func (t orderTable) movesByTime(events []workflow.Event) [][]outsideMove {
	assigned := func(e workflow.Event) []first { return []first{t.by(e, false)} }

	return t.outsideMoves("time", events, t.timed, assigned)
}

// allMoves returns for every state the positions to which other callers and time can bring an order. What time does
// alone is explained by it, because no caller is needed.
func (t orderTable) allMoves(events []workflow.Event, byTime [][]outsideMove) [][]outsideMove {
	all := t.outsideMoves("another caller", events, t.targets, t.byAny)
	for from, moves := range byTime {
		for _, timed := range moves {
			i := slices.IndexFunc(all[from], func(m outsideMove) bool { return m.to == timed.to && m.by == timed.by })
			// A caller may do in one step what takes time several.
			if strings.Count(timed.how, ",") <= strings.Count(all[from][i].how, ",") {
				all[from][i] = timed
			}
		}
	}

	return all
}

// outsideMoves returns for every state the positions to which the events can bring an order, by the shortest
// way that begins with each event that matters. The state itself is among them if the events can bring the
// order back. The text of a move begins with who. firsts lists what a view remembers of the first event.
func (t orderTable) outsideMoves(who string, events []workflow.Event, targets func(from int16, e workflow.Event) []int16,
	firsts func(e workflow.Event) []first,
) [][]outsideMove {
	type reached struct {
		to int16
		by first
	}

	all := make([][]outsideMove, len(t.states))
	for from := range all {
		queue := []outsideMove{{to: int16(from), how: who}}
		// The first state is not marked, so that a way back to it is found.
		seen := map[reached]bool{}
		for i := 0; i < len(queue); i++ {
			m := queue[i]
			joint := ", "
			if i == 0 {
				joint = " applies "
			}

			for _, e := range events {
				bys := []first{m.by}
				if i == 0 {
					bys = firsts(e)
				}

				for _, to := range targets(m.to, e) {
					for _, by := range bys {
						if r := (reached{to, by}); !seen[r] {
							seen[r] = true
							queue = append(queue, outsideMove{to, m.how + joint + string(e), by})
						}
					}
				}
			}
		}

		all[from] = queue[1:]
	}

	return all
}
