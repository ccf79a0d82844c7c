package reactions

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"ratchet/activities"
	"ratchet/streams"
	"ratchet/tasktoken"
	"ratchet/transitions"
	"ratchet/workflow"
)

// concernsWaits selects the changes that can end a wait: the order has come to an awaited
// state, or can no longer come to one that it could come to before. No execution waits for a
// new order: it is the execution that places the order, or looks at it first.
func (r *Reactions) concernsWaits(c transitions.Change) bool {
	if c.Old == nil || c.Old.State == c.New.State {
		return false
	}

	return slices.ContainsFunc(r.cfg.Awaited, func(awaited workflow.State) bool {
		return c.New.State == awaited || c.Old.State != awaited && r.canReach(c.Old, awaited) && !r.canReach(c.New, awaited)
	})
}

func (r *Reactions) canReach(order *transitions.Order, state workflow.State) bool {
	return r.cfg.Orders.Definition().Reachable(order.State, state)
}

// answerParked records the change for the executions of the order, and answers the task that
// waits: with success if the awaited state was reached, with failure if the order can no
// longer reach it.
func (r *Reactions) answerParked(ctx context.Context, c change) error {
	row, waiting, err := r.cfg.Parked.Moved(ctx, string(c.New.ID), int64(c.Transition.ID), string(c.New.State), time.Now().Add(tasktoken.Retention))
	switch {
	case err != nil:
		return err
	case waiting:
		awaited := workflow.State(row.Awaited)
		_, err := r.answer(ctx, c.New, row, c.New.State == awaited, !r.canReach(c.New, awaited))

		return err
	case row.Token != "":
		return nil
	}

	return r.answerActivities(ctx, c.New)
}

// answerActivities answers the tasks of activities that parked their own tokens: those of
// executions that were started before the state machine parked its tokens itself.
func (r *Reactions) answerActivities(ctx context.Context, order *transitions.Order) error {
	tasks, err := r.cfg.Parked.Waiting(ctx, string(order.ID))
	if err != nil {
		return err
	}

	for _, task := range tasks {
		awaited := workflow.State(task.Awaited)

		answered, err := r.answer(ctx, order, task, order.Reached(awaited, transitions.TransitionID(task.Since)), !r.canReach(order, awaited))
		if err != nil {
			return err
		}

		if answered {
			if err := r.cfg.Parked.Remove(ctx, task); err != nil {
				return err
			}
		}
	}

	return nil
}

// answer answers the task if the order has reached the awaited state, or can no longer reach
// it. Only the definition of the order's own version tells the latter.
func (r *Reactions) answer(ctx context.Context, order *transitions.Order, task tasktoken.Task, reached, unreachable bool) (answered bool, err error) {
	position, err := json.Marshal(order.Position())
	if err != nil {
		return false, streams.Permanent(err)
	}

	var outcome activities.Outcome
	switch {
	case reached:
		outcome, err = r.cfg.Completer.Succeed(ctx, activities.Token(task.Token), json.RawMessage(position))
	case unreachable && r.cfg.Orders.CheckVersion(order) == nil:
		outcome, err = r.cfg.Completer.Fail(ctx, activities.Token(task.Token), &activities.Error{
			Name:  "Order." + transitions.WrongState.String(),
			Cause: string(position),
		})
	default:
		return false, nil
	}

	// After Lost and Unknown the task is over: it was answered before, or has timed out, and
	// its execution looks at the order itself.
	if err != nil && outcome != activities.Lost && outcome != activities.Unknown {
		return false, fmt.Errorf("answer the parked task of order %s awaiting %s: %w", order.ID, task.Awaited, err)
	}

	return true, nil
}
