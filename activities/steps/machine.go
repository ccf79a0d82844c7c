package steps

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"ratchet/workflow"
)

// aslState has the fields of a state of a state machine that this package reads.
type aslState struct {
	Type, Resource                           string
	TimeoutSeconds, HeartbeatSeconds         json.RawMessage
	TimeoutSecondsPath, HeartbeatSecondsPath string
	Parameters, Arguments                    map[string]any
	Branches                                 []aslStates
	ItemProcessor, Iterator                  *aslStates

	name               string
	timeout, heartbeat aslSeconds
}

// aslStates is a state machine, a branch of a Parallel, or what a Map runs for each item.
type aslStates struct{ States map[string]*aslState }

// aslSeconds is a duration of a state. Its length is 0 if an expression computes it.
type aslSeconds struct {
	set    bool
	length time.Duration
}

// readTasks returns the tasks of a state machine in ASL (JSON), nested ones included, sorted by
// their names within each level.
func readTasks(asl string) ([]*aslState, error) {
	var machine aslStates
	if err := json.Unmarshal([]byte(asl), &machine); err != nil {
		return nil, fmt.Errorf("read the state machine: %w", err)
	}

	return machine.tasks(nil)
}

// tasks adds the tasks of this level and of the levels below it to all.
func (m aslStates) tasks(all []*aslState) ([]*aslState, error) {
	for _, name := range slices.Sorted(maps.Keys(m.States)) {
		s := m.States[name]
		if s == nil {
			return nil, fmt.Errorf("read the state machine: state %s is null", name)
		}
		s.name = name

		var err error
		if s.Type == "Task" {
			if s.timeout, err = readSeconds(s.TimeoutSeconds); err != nil {
				return nil, fmt.Errorf("state %s: TimeoutSeconds: %w", name, err)
			}

			if s.heartbeat, err = readSeconds(s.HeartbeatSeconds); err != nil {
				return nil, fmt.Errorf("state %s: HeartbeatSeconds: %w", name, err)
			}

			all = append(all, s)
		}

		below := s.Branches
		// Iterator is the former name of ItemProcessor, which ASL still accepts.
		for _, m := range []*aslStates{s.ItemProcessor, s.Iterator} {
			if m != nil {
				below = append(below, *m)
			}
		}

		for _, m := range below {
			if all, err = m.tasks(all); err != nil {
				return nil, err
			}
		}
	}

	return all, nil
}

// readSeconds reads a whole number of seconds, or the text of an expression.
func readSeconds(text json.RawMessage) (aslSeconds, error) {
	var seconds int64

	switch {
	case len(text) == 0:
		return aslSeconds{}, nil
	case text[0] == '"':
		// A text is a JSONata expression, which only an execution can compute.
		return aslSeconds{set: true}, nil
	}

	if err := json.Unmarshal(text, &seconds); err != nil {
		return aslSeconds{}, err
	}

	return aslSeconds{set: seconds != 0, length: time.Duration(seconds) * time.Second}, nil
}

// Awaited returns the states that the waits of a state machine wait for, sorted. See package
// tasktoken.
func Awaited(asl string) ([]workflow.State, error) {
	tasks, err := readTasks(asl)
	if err != nil {
		return nil, err
	}

	awaited := []workflow.State{}
	for _, s := range tasks {
		if !strings.HasSuffix(s.Resource, ".waitForTaskToken") {
			continue
		}

		for _, parameters := range []map[string]any{s.Parameters, s.Arguments} {
			if state := waitEffect(parameters).Awaits; state != "" {
				awaited = append(awaited, state)
			}
		}
	}
	slices.Sort(awaited)

	return slices.Compact(awaited), nil
}
