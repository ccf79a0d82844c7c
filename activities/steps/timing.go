package steps

import (
	"fmt"
	"strings"
	"time"
)

// Timing is how long the tasks of a step may take, according to the state machine.
type Timing struct {
	// Heartbeat is the shortest HeartbeatSeconds of the states that use the step. It is 0 if all states
	// compute it from the state data.
	Heartbeat time.Duration
	// Timeout is the shortest TimeoutSeconds of these states. It is 0 if all compute it from the state
	// data (TimeoutSecondsPath).
	Timeout time.Duration
}

// Timings reads the timing of each placeholder from an ASL document. It fails if a task has no
// time-out. It also fails if a worker's task has no HeartbeatSeconds: without it, an execution whose
// token was lost on the wire would hang until the time-out.
func Timings(asl string) (map[string]Timing, error) {
	tasks, err := readTasks(asl)
	if err != nil {
		return nil, err
	}

	out := map[string]Timing{}
	for _, s := range tasks {
		if !s.timeout.set && s.TimeoutSecondsPath == "" {
			return nil, fmt.Errorf("state %s has neither TimeoutSeconds nor TimeoutSecondsPath", s.name)
		}

		placeholder, ok := strings.CutPrefix(s.Resource, "${")
		if !ok {
			continue // a service integration has no worker
		}

		placeholder = strings.TrimSuffix(placeholder, "}")

		if !s.heartbeat.set && s.HeartbeatSecondsPath == "" {
			return nil, fmt.Errorf("state %s has no HeartbeatSeconds", s.name)
		}

		known := out[placeholder]
		out[placeholder] = Timing{
			Heartbeat: shorter(known.Heartbeat, s.heartbeat.length),
			Timeout:   shorter(known.Timeout, s.timeout.length),
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
