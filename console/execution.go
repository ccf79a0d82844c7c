package console

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"ratchet/workflow/diagram"
)

const (
	// mostEvents is how many events of an execution's history are read, the newest ones.
	mostEvents = "100"
	// mostExecutions is how many executions are remembered.
	mostExecutions = 1000
	running        = "RUNNING"
)

// execution is the answer of GET /v1/executions/{execution}, as far as a picture shows it.
type execution struct {
	Execution struct {
		Name, Status, Error string
		StartedAt           moment
	}
	Events []historyEvent // the newest first
	Next   string

	unread string // why there is no newer answer, "" if it was not asked for in vain
}

type historyEvent struct {
	Type, State, Error string
	At                 moment
}

// entered is one stay of an execution in a state.
type entered struct {
	state    string
	at       moment
	left     bool
	attempts int
	err      string // of the newest attempt that has failed
}

// way returns the states that the execution has entered, the oldest first.
func (x *execution) way() (way []entered) {
	for _, e := range slices.Backward(x.Events) {
		if strings.HasSuffix(e.Type, "StateEntered") {
			way = append(way, entered{state: e.State, at: e.At})
			continue
		}

		if len(way) == 0 {
			continue
		}
		last := &way[len(way)-1]

		switch {
		case strings.HasSuffix(e.Type, "StateExited"):
			last.left = last.left || e.State == last.state
		case strings.HasSuffix(e.Type, "Scheduled"):
			last.attempts++
		case e.Error != "":
			last.err = e.Error
		}
	}

	return way
}

// now returns where the execution is, or where it has ended, nil if it has entered no state.
func (x *execution) now() *entered {
	if x == nil {
		return nil
	}

	way := x.way()
	if len(way) == 0 {
		return nil
	}

	return &way[len(way)-1]
}

// words tell about the stay in a state.
func (s entered) words() string {
	text := "entered " + s.at.short()
	if s.attempts > 1 {
		text += fmt.Sprintf(", %d attempts", s.attempts)
	}

	if s.err != "" {
		text += ", error " + s.err
	}

	return text
}

// paint numbers the states that an execution has entered, and colors its way.
func (x *execution) paint(m machine, p diagram.Paint) {
	if x == nil {
		return
	}
	before := machineID("")

	for i, s := range x.way() {
		id := machineID(m.fullName(s.state))
		p.Edges[diagram.EdgeID(before, "", id)] = "taken"
		p.Numbers[id] = number(p.Numbers[id], i)
		p.Docs[id] = s.words()
		p.Nodes[id] = "been"

		if s.attempts > 1 {
			p.Nodes[id] += " retried"
		}
		before = id
	}

	switch last := x.now(); {
	case last == nil:
	case x.Execution.Status == running:
		p.Nodes[before] += " present"
		if to := m.state(last.state).Awaits; to != "" {
			p.Nodes[to] += " awaited"
		}
	case x.Execution.Status != "SUCCEEDED":
		p.Nodes[before] += " failed"
	}
}

// fullName returns the name of a state with the names of those around it: a history has only its own.
func (m machine) fullName(state string) string {
	for _, s := range m.States {
		if s.Name == state || strings.HasSuffix(s.Name, "/"+state) {
			return s.Name
		}
	}

	return state
}

func (m machine) state(name string) machineState {
	for _, s := range m.States {
		if s.Name == m.fullName(name) {
			return s
		}
	}

	return machineState{}
}

// executionsSeen remembers executions as they were seen.
type executionsSeen struct {
	mu   sync.Mutex
	seen map[string]seenExecution
}

type seenExecution struct {
	execution
	// ends are the beginnings and ends that the time line had of it.
	ends string
	at   time.Time
}

// execution returns the newest execution of an order, nil if there is none. Step Functions is asked when a person looks, and once after
// each change of an order that is followed; not about an execution that has ended since.
func (v *visit) execution(ctx context.Context, e explanation) (*execution, error) {
	name, ends := e.newestExecution()
	if name == "" {
		return nil, nil
	}
	key := v.seenBy() + "\n" + name

	known, found := v.executions.get(key)
	if found && (v.followed || known.ends == ends && known.Execution.Status != running) {
		return &known.execution, nil
	}

	seen := seenExecution{ends: ends, at: time.Now()}
	err := v.get(ctx, with(pathTo("/v1/executions/%s", name), "newest", "true", "limit", mostEvents), &seen.execution)

	var refused *problem
	switch {
	case isMissing(err) || isForbidden(err):
		return nil, nil
	case errors.As(err, &refused): // its quota, most of all
		known.unread = refused.Detail
		return &known.execution, nil
	case err != nil:
		return nil, err
	}
	v.executions.put(key, seen)

	return &seen.execution, nil
}

// newestExecution returns the name of the newest execution on the time line, and what the time line says of it.
func (e explanation) newestExecution() (name, ends string) {
	for _, m := range e.Timeline {
		if m.Kind != "execution" || m.Ref.Execution == "" {
			continue
		}

		if m.Ref.Execution != name {
			name, ends = m.Ref.Execution, ""
		}
		ends += fmt.Sprintln(m.At.iso(), m.Ref.Status, m.Ref.Count)
	}

	return name, ends
}

func (s *executionsSeen) get(key string) (seenExecution, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()

	known, found := s.seen[key]

	return known, found
}

// put remembers an execution, in place of the one that was read first if there are too many.
func (s *executionsSeen) put(key string, x seenExecution) {
	s.mu.Lock()
	defer s.mu.Unlock()

	if _, known := s.seen[key]; !known && len(s.seen) >= mostExecutions {
		oldest := ""
		for k, other := range s.seen {
			if oldest == "" || other.at.Before(s.seen[oldest].at) {
				oldest = k
			}
		}
		delete(s.seen, oldest)
	}
	s.seen[key] = x
}
