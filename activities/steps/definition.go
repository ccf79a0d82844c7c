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
	// 0 when they have none. Timeout is the shortest TimeoutSeconds.
	Heartbeat, Timeout time.Duration
}

// Timings reads from an ASL document how long the tasks of each placeholder may take,
// so that workers beat as the state machine expects. A task without TimeoutSeconds
// is refused: a token lost on the wire would hang its execution.
func Timings(asl string) (map[string]Timing, error) {
	var doc struct {
		States map[string]struct {
			Type, Resource                   string
			TimeoutSeconds, HeartbeatSeconds int
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
		if s.TimeoutSeconds == 0 {
			return nil, fmt.Errorf("state %s has no TimeoutSeconds", name)
		}
		placeholder := strings.TrimSuffix(strings.TrimPrefix(s.Resource, "${"), "}")
		t := Timing{Heartbeat: time.Duration(s.HeartbeatSeconds) * time.Second, Timeout: time.Duration(s.TimeoutSeconds) * time.Second}
		if known, ok := out[placeholder]; ok {
			t.Timeout = min(t.Timeout, known.Timeout)
			if known.Heartbeat != 0 && (t.Heartbeat == 0 || known.Heartbeat < t.Heartbeat) {
				t.Heartbeat = known.Heartbeat
			}
		}
		out[placeholder] = t
	}
	return out, nil
}
