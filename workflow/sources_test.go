package workflow_test

import (
	"fmt"
	"strings"
	"testing"

	"ratchet/workflow"
)

// TestAnEventLeavesAtMost100StatesToOneTarget: one condition compares no more.
func TestAnEventLeavesAtMost100StatesToOneTarget(t *testing.T) {
	for n, valid := range map[int]bool{100: true, 101: false} {
		spec := workflow.Spec{Name: "w", Version: 1, Place: "place", Initial: "S0", Content: []workflow.Part{}}

		var all []workflow.State
		for i := range n {
			state := workflow.State(fmt.Sprint("S", i))
			spec.States = append(spec.States, workflow.StateSpec{State: state})
			all = append(all, state)

			if i > 0 {
				spec.Transitions = append(spec.Transitions, workflow.Transition{Event: "next", From: []workflow.State{all[i-1]}, To: state})
			}
		}
		spec.States = append(spec.States, workflow.StateSpec{State: "END", Terminal: true})
		spec.Transitions = append(spec.Transitions, workflow.Transition{Event: "cancel", From: all, To: "END"})

		if _, err := workflow.New(spec); (err == nil) != valid || err != nil && !strings.Contains(err.Error(), "event cancel leads from 101 states to END") {
			t.Errorf("%d states: %v", n, err)
		}
	}
}
