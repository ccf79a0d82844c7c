package check

import (
	"slices"

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
}

func newOrderTable(d *workflow.Definition) orderTable {
	t := orderTable{
		d:      d,
		states: d.States(),
		index:  map[workflow.State]int16{},
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

// reachable reports whether some events lead from one position to another.
func (t orderTable) reachable(from, to int16) bool {
	return t.d.Reachable(t.states[from].State, t.states[to].State)
}

// outsideMove is a change of the order that the execution did not make.
type outsideMove struct {
	to int16
	// how names the events for the path of a finding, "" when the order did not move.
	how string
}

// outsideMoves returns for every state the positions to which the events can bring an
// order, by the shortest way. The state itself is among them if the events can bring
// the order back. The text of a move begins with who.
func (t orderTable) outsideMoves(who string, events []workflow.Event) [][]outsideMove {
	all := make([][]outsideMove, len(t.states))
	for from := range all {
		queue := []outsideMove{{int16(from), who}}
		// The first state is not marked, so that a way back to it is found.
		seen := map[int16]bool{}
		for i := 0; i < len(queue); i++ {
			// The ways from the first state are known already.
			if i > 0 && queue[i].to == queue[0].to {
				continue
			}

			joint := ", "
			if i == 0 {
				joint = " applies "
			}

			for _, e := range events {
				for _, to := range t.targets(queue[i].to, e) {
					if !seen[to] {
						seen[to] = true
						queue = append(queue, outsideMove{to, queue[i].how + joint + string(e)})
					}
				}
			}
		}

		all[from] = queue[1:]
	}

	return all
}
