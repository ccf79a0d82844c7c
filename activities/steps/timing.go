package steps

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Timing is how long the tasks of a step may take, according to the state machine.
type Timing struct {
	// Heartbeat is the shortest HeartbeatSeconds of the states that use the step, 0 if none
	// has one.
	Heartbeat time.Duration
	// Timeout is the shortest TimeoutSeconds, 0 if all states read it from the state data
	// (TimeoutSecondsPath).
	Timeout time.Duration
}

// Timings reads the timing of each placeholder from an ASL document. It fails if a task has no
// time-out, or if a worker's task has no HeartbeatSeconds: if its token were lost on the wire, its
// execution would hang for as long as the time-out. The tasks of the placeholders that park their
// tokens need no HeartbeatSeconds.
func Timings(asl string, parks ...string) (map[string]Timing, error) {
	var doc struct {
		States map[string]struct {
			Type, Resource, TimeoutSecondsPath string
			TimeoutSeconds, HeartbeatSeconds   int
		}
	}
	if err := json.Unmarshal([]byte(asl), &doc); err != nil {
		return nil, fmt.Errorf("read the state machine: %w", err)
	}

	out := map[string]Timing{}
	for name, s := range doc.States {
		if s.Type != "Task" {
			continue
		}

		if s.TimeoutSeconds == 0 && s.TimeoutSecondsPath == "" {
			return nil, fmt.Errorf("state %s has neither TimeoutSeconds nor TimeoutSecondsPath", name)
		}

		placeholder, ok := strings.CutPrefix(s.Resource, "${")
		if !ok {
			continue // a service integration has no worker
		}

		placeholder = strings.TrimSuffix(placeholder, "}")
		if s.HeartbeatSeconds == 0 && !slices.Contains(parks, placeholder) {
			return nil, fmt.Errorf("state %s has no HeartbeatSeconds", name)
		}

		known := out[placeholder]
		out[placeholder] = Timing{
			Heartbeat: shorter(known.Heartbeat, time.Duration(s.HeartbeatSeconds)*time.Second),
			Timeout:   shorter(known.Timeout, time.Duration(s.TimeoutSeconds)*time.Second),
		}
	}

	return out, nil
}

// shorter returns the smaller of two durations. 0 means none.
func shorter(a, b time.Duration) time.Duration {
	if a == 0 || (b != 0 && b < a) {
		return b
	}

	return a
}
