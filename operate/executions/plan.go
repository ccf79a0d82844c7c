package executions

import (
	"context"
	"fmt"

	"ratchet/transitions"
)

// Plan is what [Executions.Repair] would do now.
type Plan struct {
	Action Action `json:"action"`
	// Execution is the one that a redrive runs again, or behind which a successor starts. It is the zero value
	// for an order without one.
	Execution Execution `json:"execution"`
	// Steps are what happens, in words.
	Steps []string `json:"steps"`
}

// PlanRepair returns what Repair would do with the same arguments, or the error with which it would refuse.
// It changes nothing. The order or its execution may change before the repair, which decides again.
func (e *Executions) PlanRepair(ctx context.Context, id transitions.OrderID, successor bool) (Plan, error) {
	r, err := e.decideRepair(ctx, id, successor)
	if err != nil {
		return Plan{}, err
	}

	return Plan{r.action, r.current, r.steps()}, nil
}

func (r repair) steps() []string {
	x := r.current

	if r.action == Redriven {
		return []string{
			fmt.Sprintf("Step Functions runs the state again in which execution %s has ended, with the definition that it was started with.", x.Name),
			"States that have succeeded do not run again. Requests and effects of the failed state have the same ids, so what it has done already is not done twice.",
		}
	}

	var steps []string
	if x.Name != "" && r.action == SuccessorStarted {
		steps = append(steps, fmt.Sprintf("Execution %s stays as it is: %s.", x.Name, x.Status))
	}

	if r.order == nil {
		return append(steps, fmt.Sprintf("An execution with the same input and the present state machine starts, and places order %s if it does not exist by then.", r.placed))
	}

	return append(steps,
		fmt.Sprintf("Execution %s starts with the present state machine, and adopts order %s where it is: in %s, after transition %d.",
			numbered(r.order.ID, x.Number+1), r.order.ID, r.order.State, r.order.TransitionID),
		"Transitions that the order has made are not requested again. Effects that have happened are not repeated, because their claims are completed.")
}
