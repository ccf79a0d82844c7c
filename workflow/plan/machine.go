package plan

import (
	"fmt"
	"slices"
	"strings"

	"ratchet/workflow/internal/document"
)

// Machine is the part of a state machine that the plan needs.
type Machine struct {
	start  string
	states map[string]state
}

type state struct {
	kind, resource, next, fallback string
	timeout, heartbeat             int64 // in seconds; 0 also where only an execution knows them
	choices                        []string
	catch                          []catcher
}

type catcher struct {
	errors []string
	next   string
}

// Parse reads the states of a definition in Amazon States Language, as JSON or YAML. It does not check
// the language; package workflow/check does. The name of the file is used in errors only, which have the line.
func Parse(file string, asl []byte) (*Machine, error) {
	root, err := document.Read(file, asl)
	if err != nil {
		return nil, fmt.Errorf("read the state machine: %w", err)
	}

	r := reader{document.Decoder{File: file}}
	m := &Machine{start: r.name(root, "StartAt"), states: map[string]state{}}

	states := root.Get("States")
	if states == nil {
		return nil, fmt.Errorf("read the state machine: %s has no States: it is not Amazon States Language", file)
	}

	r.Want(states, document.Map, "States")

	for _, member := range states.Members {
		if r.Want(member.Value, document.Map, "state "+member.Name) {
			m.states[member.Name] = r.state(member.Value)
		}
	}

	if err := r.Err(); err != nil {
		return nil, fmt.Errorf("read the state machine: %w", err)
	}

	for name, s := range m.states {
		for _, next := range s.targets() {
			if _, known := m.states[next]; !known {
				return nil, fmt.Errorf("read the state machine: state %s leads to %s, which does not exist", name, next)
			}
		}
	}

	if _, known := m.states[m.start]; !known {
		return nil, fmt.Errorf("read the state machine: StartAt %q is no state", m.start)
	}

	return m, nil
}

type reader struct{ document.Decoder }

// name returns the text of a member, "" without it.
func (r *reader) name(n *document.Node, member string) string {
	v := n.Get(member)
	if v == nil {
		return ""
	}

	return r.String(v, member)
}

// seconds returns a whole number of seconds, 0 where it is computed by each execution.
func (r *reader) seconds(n *document.Node, member string) int64 {
	v := n.Get(member)
	if v == nil || v.Kind != document.Number {
		return 0
	}

	return r.Int(v, member)
}

// list returns the elements of a member.
func (r *reader) list(n *document.Node, member string) []*document.Node {
	v := n.Get(member)
	if v == nil || !r.Want(v, document.List, member) {
		return nil
	}

	return v.Items
}

func (r *reader) state(n *document.Node) state {
	s := state{
		kind:      r.name(n, "Type"),
		resource:  r.name(n, "Resource"),
		next:      r.name(n, "Next"),
		fallback:  r.name(n, "Default"),
		timeout:   r.seconds(n, "TimeoutSeconds"),
		heartbeat: r.seconds(n, "HeartbeatSeconds"),
	}

	for _, c := range r.list(n, "Choices") {
		if next := r.name(c, "Next"); next != "" {
			s.choices = append(s.choices, next)
		}
	}

	for _, c := range r.list(n, "Catch") {
		caught := catcher{next: r.name(c, "Next")}
		if errors := c.Get("ErrorEquals"); errors != nil {
			caught.errors = r.Strings(errors, "ErrorEquals")
		}
		s.catch = append(s.catch, caught)
	}

	return s
}

// targets returns the states that may follow, without the states after an error. The usual one comes first.
func (s state) targets() (all []string) {
	for _, next := range append([]string{s.next, s.fallback}, s.choices...) {
		if next != "" {
			all = append(all, next)
		}
	}

	return all
}

// waits reports whether the state waits for a task token that no worker holds.
func (s state) waits() bool { return strings.HasSuffix(s.resource, ".waitForTaskToken") }

// isActivity reports whether workers poll for the state's task.
func (s state) isActivity() bool {
	// In a template, a placeholder stands for the ARN.
	return s.kind == "Task" && (strings.Contains(s.resource, ":activity:") || strings.HasPrefix(s.resource, "${"))
}

// onTimeout returns the state that a Catch leads to when the state's time-out runs out, ""
// without one.
func (s state) onTimeout() string {
	for _, c := range s.catch {
		// States.TaskFailed is not enough: it does not match States.Timeout.
		if slices.Contains(c.errors, "States.Timeout") || slices.Contains(c.errors, "States.ALL") {
			return c.next
		}
	}

	return ""
}

// way returns the states of an execution without failures, in order. Of each state it takes the usual successor, or
// another one where that only leads back or to a failure: such a loop is passed once. Loops are the states at which the
// way leaves a loop.
func (m *Machine) way() (way, loops []string, err error) {
	w := &walk{m: m, seen: map[string]bool{}}
	if !w.from(m.start) {
		// A machine that always fails has a way, too: the one to its failure.
		w = &walk{m: m, seen: map[string]bool{}, failing: true}
		if !w.from(m.start) {
			return nil, nil, fmt.Errorf("the state machine has no end: from %s, every way comes back", m.start)
		}
	}

	for i, name := range w.way[:len(w.way)-1] {
		if usual := m.states[name].targets()[0]; usual != w.way[i+1] && m.leadsTo(usual, w.way[:i+1]) {
			loops = append(loops, name)
		}
	}

	return w.way, loops, nil
}

// leadsTo reports whether one of the states can follow the state from, or is it.
func (m *Machine) leadsTo(from string, states []string) bool {
	return m.shortest(from, func(name string) bool { return slices.Contains(states, name) }) != nil
}

// shortest returns a shortest way from a state to one that is an end of the search, both included, nil if there is none.
func (m *Machine) shortest(from string, isEnd func(name string) bool) []string {
	// Breadth first, so that the first way found is a shortest one.
	ways := [][]string{{from}}
	seen := map[string]bool{from: true}

	for len(ways) > 0 {
		way := ways[0]
		ways = ways[1:]

		last := way[len(way)-1]
		if isEnd(last) {
			return way
		}

		for _, next := range m.states[last].targets() {
			if !seen[next] {
				seen[next] = true
				ways = append(ways, append(slices.Clone(way), next))
			}
		}
	}

	return nil
}

// walk looks for an end, depth first.
type walk struct {
	m       *Machine
	seen    map[string]bool
	way     []string
	failing bool // a state of the type Fail is an end
}

// from reports whether an end can be reached from the state without a state that was seen, and adds the way to it. A
// state that was seen and is not on the way leads to an end only through a state that is on the way, which tries its
// other successors itself.
func (w *walk) from(name string) bool {
	if w.seen[name] {
		return false
	}

	s := w.m.states[name]
	if s.kind == "Fail" && !w.failing {
		return false
	}

	w.seen[name] = true
	w.way = append(w.way, name)

	targets := s.targets()
	if len(targets) == 0 || slices.ContainsFunc(targets, w.from) {
		return true
	}
	w.way = w.way[:len(w.way)-1]

	return false
}

// Waits returns the states of the way without failures that wait for a task token.
func (m *Machine) Waits() (all []string) {
	way, _, err := m.way()
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

	return m.shortest(first, func(at string) bool { return slices.Contains(m.states[at].targets(), name) })
}
