package steps

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Timing is what the state machine says about a step's tasks.
type Timing struct {
	// Heartbeat is the shortest HeartbeatSeconds of the states that use the step,
	// 0 when they have none. Timeout is the shortest TimeoutSeconds, 0 when all of
	// them read it from the state data (TimeoutSecondsPath).
	Heartbeat, Timeout time.Duration
}

// Timings reads from an ASL document how long the tasks of each placeholder may take,
// so that workers beat as the state machine expects. A task without a time-out is
// refused: a token lost on the wire would hang its execution.
func Timings(asl string) (map[string]Timing, error) {
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
		placeholder := strings.TrimSuffix(strings.TrimPrefix(s.Resource, "${"), "}")
		known := out[placeholder]
		out[placeholder] = Timing{
			Heartbeat: shorter(known.Heartbeat, time.Duration(s.HeartbeatSeconds)*time.Second),
			Timeout:   shorter(known.Timeout, time.Duration(s.TimeoutSeconds)*time.Second),
		}
	}

	return out, nil
}

// shorter is the smaller of two durations of which 0 means none.
func shorter(a, b time.Duration) time.Duration {
	if a == 0 || (b != 0 && b < a) {
		return b
	}
	return a
}
