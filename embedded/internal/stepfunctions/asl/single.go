package asl

import "slices"

// ParseSingle compiles a definition and returns one of its states, from any flow, in the form of
// ParseState: as the start of a machine in which the state has the name name. The machine is nil if the
// definition has no such state.
func ParseSingle(definition []byte, state, name string) (*Machine, Diagnostics) {
	m, found := (&parser{names: map[string]bool{}, tested: true}).parse(definition)
	if m == nil {
		return nil, found
	}

	i := slices.IndexFunc(m.States, func(s *State) bool { return s.Name == state })
	if i < 0 {
		return nil, found
	}

	return m.States[i].single(name), found
}

// single returns a machine that starts with a copy of the state. Every target of the state is a Succeed.
func (s *State) single(name string) *Machine {
	// A copy, because the definition's machine is immutable.
	start := *s
	start.Ordinal, start.Name = 0, name
	m := &Machine{Flow: &Flow{Start: &start}, States: []*State{&start}}

	end := func(to **State) {
		if *to != nil {
			*to = &State{Ordinal: len(m.States), Name: (*to).Name, Kind: Succeed}
			m.States = append(m.States, *to)
		}
	}

	end(&start.Next)
	end(&start.Default)

	// Clones, because end changes the targets in them.
	start.Catch, start.Choices = slices.Clone(s.Catch), slices.Clone(s.Choices)
	for i := range start.Catch {
		end(&start.Catch[i].Next)
	}

	for i := range start.Choices {
		end(&start.Choices[i].Next)
	}

	return m
}
