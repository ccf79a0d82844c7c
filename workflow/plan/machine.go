package plan

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Machine is the part of a state machine that the plan needs.
type Machine struct {
	start  string
	states map[string]state
}

type state struct {
	Type, Resource, Next, Default    string
	End                              bool
	TimeoutSeconds, HeartbeatSeconds int64
	Choices                          []struct{ Next string }
	Catch                            []struct {
		ErrorEquals []string
		Next        string
	}
}

// Parse reads the states of a definition in Amazon States Language (JSON). It does not check
// the language; package workflow/check does.
func Parse(asl []byte) (*Machine, error) {
	var doc struct {
		StartAt string
		States  map[string]state
	}
	if err := json.Unmarshal(asl, &doc); err != nil {
		return nil, fmt.Errorf("read the state machine: %w", err)
	}

	m := &Machine{start: doc.StartAt, states: doc.States}
	for name, s := range doc.States {
		for _, next := range append(s.targets(), s.Default) {
			if _, known := doc.States[next]; next != "" && !known {
				return nil, fmt.Errorf("read the state machine: state %s leads to %s, which does not exist", name, next)
			}
		}
	}

	if _, known := doc.States[doc.StartAt]; !known {
		return nil, fmt.Errorf("read the state machine: StartAt %q is no state", doc.StartAt)
	}

	return m, nil
}

// targets returns the states that may follow, without the states after an error.
func (s state) targets() (all []string) {
	if s.Next != "" {
		all = append(all, s.Next)
	}

	if s.Default != "" {
		all = append(all, s.Default)
	}

	for _, c := range s.Choices {
		all = append(all, c.Next)
	}

	return all
}

// usual returns the next state if nothing fails, "" at the end.
func (s state) usual() string {
	switch {
	case s.Next != "":
		return s.Next
	case s.Default != "":
		return s.Default
	case len(s.Choices) > 0:
		return s.Choices[0].Next
	}

	return ""
}

// waits reports whether the state waits for a task token that no worker holds.
func (s state) waits() bool { return strings.HasSuffix(s.Resource, ".waitForTaskToken") }

// isActivity reports whether workers poll for the state's task.
func (s state) isActivity() bool {
	// In a template, a placeholder stands for the ARN.
	return s.Type == "Task" && (strings.Contains(s.Resource, ":activity:") || strings.HasPrefix(s.Resource, "${"))
}

// onTimeout returns the state that a Catch leads to when the state's time-out runs out, ""
// without one.
func (s state) onTimeout() string {
	for _, c := range s.Catch {
		// States.TaskFailed is not enough: it does not match States.Timeout.
		if slices.Contains(c.ErrorEquals, "States.Timeout") || slices.Contains(c.ErrorEquals, "States.ALL") {
			return c.Next
		}
	}

	return ""
}

// way returns the states of an execution without failures, in order.
func (m *Machine) way() ([]string, error) {
	var way []string
	for name := m.start; name != ""; name = m.states[name].usual() {
		// The way follows one successor of each state, so a repeated state would repeat without end.
		if slices.Contains(way, name) {
			return nil, fmt.Errorf("the way without failures comes back to state %s", name)
		}

		way = append(way, name)
	}

	return way, nil
}

// Waits returns the states of the way without failures that wait for a task token.
func (m *Machine) Waits() (all []string) {
	way, err := m.way()
	if err != nil {
		// New reports the error.
		return nil
	}

	for _, name := range way {
		if m.states[name].waits() {
			all = append(all, name)
		}
	}

	return all
}

// wayBack returns the shortest way from the state after a time-out of name back to name, without name
// itself. It is nil if there is none.
func (m *Machine) wayBack(name string) []string {
	first := m.states[name].onTimeout()
	if first == "" {
		return nil
	}

	// Breadth first, so that the first way found is a shortest one.
	ways := [][]string{{first}}
	seen := map[string]bool{first: true}

	for len(ways) > 0 {
		way := ways[0]
		ways = ways[1:]

		for _, next := range m.states[way[len(way)-1]].targets() {
			if next == name {
				return way
			}

			if !seen[next] {
				seen[next] = true
				ways = append(ways, append(slices.Clone(way), next))
			}
		}
	}

	return nil
}
