package steps

import (
	"slices"

	"ratchet/workflow"
)

// addDetours adds a wait for each state beside the way from which the order can come back to it, or to an end. Where the
// program has a step before an event, the execution makes both.
func (m *happyPath) addDetours() (choices []machineChoice) {
	on := map[workflow.State]bool{}
	for _, move := range m.moves {
		on[move.From[0]] = true
	}

	for _, s := range m.definition.States() {
		if s.Terminal || on[s.State] || m.definition.Settled(s.State) {
			continue
		}

		if first := m.addDetourSteps(s.State); first != "" {
			choices = append(choices, machineChoice{"$.order.state", string(s.State), first})
			continue
		}

		back, ends := m.detour(s.State, on)
		if back == "" {
			continue
		}

		next := "Look"
		if ends {
			next = "Done"
		}

		name := "From" + stateNamed(string(s.State))
		m.addWait(name, back, next)
		choices = append(choices, machineChoice{"$.order.state", string(s.State), name})
	}

	return choices
}

// addDetourSteps adds the steps before an event that leaves a state beside the way, and the event. It returns the first
// state of the machine, "" if no step is before such an event.
func (m *happyPath) addDetourSteps(from workflow.State) (first string) {
	for _, s := range m.path.Steps {
		leaves := m.definition.Choices(from, s.Before)
		if len(leaves) == 0 || m.isOutside(leaves[0]) || m.isOnTheWay(s.Before) {
			continue
		}

		first, apply := stateNamed(m.before(s.Before)[0].Name), stateNamed(string(s.Before))
		if m.has(first) { // another state beside the way has the event, too
			return first
		}

		next := "Look"
		if !slices.ContainsFunc(m.definition.Targets(s.Before), func(to workflow.State) bool { return !m.isEnd(to) }) {
			next = "Done"
		}

		guarded := slices.ContainsFunc(leaves, func(t workflow.Transition) bool { return len(t.Guards) > 0 })
		m.addSteps(s.Before, apply)
		m.addApply(apply, s.Before, guarded, next)

		return first
	}

	return ""
}

func (m *happyPath) isEnd(state workflow.State) bool {
	return m.definition.Terminal(state) || m.definition.Settled(state)
}

func (m *happyPath) isOnTheWay(event workflow.Event) bool {
	return slices.ContainsFunc(m.moves, func(move workflow.Transition) bool { return move.Event == event })
}

// detour returns the nearest state of the way, or the nearest end, to which an order comes from the state.
func (m *happyPath) detour(from workflow.State, on map[workflow.State]bool) (back workflow.State, ends bool) {
	nearest := -1

	for _, s := range m.definition.States() {
		isEnd := s.Terminal || m.definition.Settled(s.State)
		if !on[s.State] && !isEnd {
			continue
		}

		way, err := m.way(from, s.State)
		// A state of the way before an end that is as near: the order may go on.
		if err == nil && (nearest < 0 || len(way) < nearest || len(way) == nearest && ends && !isEnd) {
			back, ends, nearest = s.State, isEnd, len(way)
		}
	}

	return back, ends
}
