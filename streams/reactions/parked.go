package reactions

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"ratchet/activities"
	"ratchet/activities/tasktoken"
	"ratchet/streams"
	"ratchet/transitions"
	"ratchet/workflow"
)

// concernsWaits selects the changes that can end a wait: the order has come to an awaited state, or
// can no longer come to an awaited state that was possible before. The placing of an order ends no
// wait: an execution places the order itself, or reads it before it waits.
func (r *Reactions) concernsWaits(c transitions.Change) bool {
	switch {
	case c.Old == nil:
		return false
	// Nothing waits for an order that comes from elsewhere. An execution may wait for one that another program
	// has moved: it learns of the state now.
	case c.Transition.Event == workflow.Imported:
		return c.Transition.From != "" && c.Transition.From != c.New.State
	}

	// The wait began in another version, whose states this definition need not know. Which state it awaits
	// is known only from the task.
	if c.Old.DefinitionVersion != c.New.DefinitionVersion {
		return true
	}

	if c.Old.State == c.New.State {
		return false
	}

	return slices.ContainsFunc(r.cfg.Awaited, func(awaited workflow.State) bool {
		return c.New.State == awaited || c.Old.State != awaited && r.canReach(c.Old, awaited) && !r.canReach(c.New, awaited)
	})
}

func (r *Reactions) canReach(order *transitions.Order, state workflow.State) bool {
	return r.cfg.Orders.Definition().Reachable(order.State, state)
}

// answerParked records the change for the executions of the order, and answers the task that waits:
// with success if the awaited state was reached, with failure if the order can no longer reach it.
//
// If another wait follows, the wait is answered without recording the change, which costs a read in
// place of a write. The next wait writes the row again, with this change as the newest one that its
// execution knows. The record is left out only if the task has taken the answer: otherwise no next
// wait is certain.
func (r *Reactions) answerParked(ctx context.Context, c change) error {
	if r.anotherWaitFollows(c.New) {
		answered, err := r.answerReached(ctx, c)
		if answered || err != nil {
			return err
		}
	}

	row, waiting, err := r.cfg.Parked.Moved(ctx, c.New.LifeID(), int64(c.Transition.ID), string(c.New.State), time.Now().Add(tasktoken.Retention))
	if err != nil || !waiting {
		return err
	}

	return r.answer(ctx, c.New, row)
}

// anotherWaitFollows reports whether an execution waits again after the order has come to its
// state. In a settled state it ends, although the order may go on from there to a state for which others wait: the row
// would then show the answered task for good.
func (r *Reactions) anotherWaitFollows(order *transitions.Order) bool {
	if r.cfg.Orders.Definition().Settled(order.State) {
		return false
	}

	return slices.Contains(r.cfg.Awaited, order.State) && slices.ContainsFunc(r.cfg.Awaited, func(next workflow.State) bool {
		return next != order.State && r.canReach(order, next)
	})
}

// answerReached answers the task that waits for the order's new state, if there is one, and
// reports whether the task has taken the answer.
func (r *Reactions) answerReached(ctx context.Context, c change) (answered bool, err error) {
	row, _, err := r.cfg.Parked.Get(ctx, c.New.LifeID())
	// Answered without a record only if the row is as the wait wrote it: the wait is older than this
	// change, and no other change has been recorded since.
	if err != nil || row.Token == "" || row.Since >= int64(c.Transition.ID) || row.Moved > row.Since || row.Awaited != string(c.New.State) {
		return false, err
	}

	outcome, err := r.succeed(ctx, c.New, row)

	return outcome == activities.Succeeded, err
}

// answer answers the task if the order has reached the awaited state, or can no longer reach it.
// Only the definition of the order's own version shows whether the order can reach a state.
func (r *Reactions) answer(ctx context.Context, order *transitions.Order, task tasktoken.Task) (err error) {
	awaited := workflow.State(task.Awaited)

	switch {
	case order.State == awaited:
		_, err = r.succeed(ctx, order, task)
	// In a version that this worker does not know, the order may still reach the state, so the task
	// does not fail.
	case !r.canReach(order, awaited) && r.cfg.Orders.CheckVersion(order) == nil:
		_, err = r.fail(ctx, order, task)
	}

	return err
}

// succeed answers the task with the order's position.
func (r *Reactions) succeed(ctx context.Context, order *transitions.Order, task tasktoken.Task) (activities.Outcome, error) {
	position, err := json.Marshal(order.Position())
	if err != nil {
		return "", streams.Permanent(err)
	}

	outcome, err := r.cfg.Completer.Succeed(ctx, activities.Token(task.Token), json.RawMessage(position))

	return outcome, answerError(order, task, outcome, err)
}

// fail answers the task with the error that the order can no longer reach the awaited state.
func (r *Reactions) fail(ctx context.Context, order *transitions.Order, task tasktoken.Task) (activities.Outcome, error) {
	position, err := json.Marshal(order.Position())
	if err != nil {
		return "", streams.Permanent(err)
	}

	outcome, err := r.cfg.Completer.Fail(ctx, activities.Token(task.Token), &activities.Error{
		Name:  "Order." + transitions.WrongState.String(),
		Cause: string(position),
	})

	return outcome, answerError(order, task, outcome, err)
}

// answerError returns an error if the answer has to be sent again. After Lost and Unknown the task
// has ended: it was answered before, or has timed out, and its execution reads the order itself.
func answerError(order *transitions.Order, task tasktoken.Task, outcome activities.Outcome, err error) error {
	if err == nil || outcome == activities.Lost || outcome == activities.Unknown {
		return nil
	}

	return fmt.Errorf("answer the parked task of order %s awaiting %s: %w", order.ID, task.Awaited, err)
}
