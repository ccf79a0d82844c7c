package reactions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"ratchet/streams"
	"ratchet/transitions"
	"ratchet/workflow"
)

// answerParked answers the executions that wait for this order: with success if the
// awaited state was reached, with failure if the order can no longer reach it.
func (r *Reactions) answerParked(ctx context.Context, c transitions.Change) error {
	tasks, err := r.cfg.Parked.Waiting(ctx, string(c.New.ID))
	if err != nil || len(tasks) == 0 {
		return err
	}

	position, err := json.Marshal(c.New.Position())
	if err != nil {
		return streams.Permanent(err)
	}

	for _, task := range tasks {
		awaited := workflow.State(task.Awaited)
		switch {
		case c.New.Reached(awaited, transitions.TransitionID(task.Since)):
			_, err = r.cfg.SFN.SendTaskSuccess(ctx, &sfn.SendTaskSuccessInput{
				TaskToken: aws.String(string(task.Token)),
				Output:    aws.String(string(position)),
			})
		case r.cfg.Orders.CheckVersion(c.New) == nil && !r.cfg.Orders.Definition().Reachable(c.New.State, awaited):
			_, err = r.cfg.SFN.SendTaskFailure(ctx, &sfn.SendTaskFailureInput{
				TaskToken: aws.String(string(task.Token)),
				Error:     aws.String("Order." + transitions.WrongState.String()),
				Cause:     aws.String(string(position)),
			})
		default:
			continue
		}

		if err != nil && !taskHasEnded(err) {
			return fmt.Errorf("answer the parked task of order %s awaiting %s: %w", c.New.ID, task.Awaited, err)
		}

		if err := r.cfg.Parked.Remove(ctx, task); err != nil {
			return err
		}
	}

	return nil
}

// taskHasEnded reports whether the task was answered or has timed out. Its token is of no
// further use.
func taskHasEnded(err error) bool {
	var (
		unknown *types.TaskDoesNotExist
		late    *types.TaskTimedOut
		invalid *types.InvalidToken
	)

	return errors.As(err, &unknown) || errors.As(err, &late) || errors.As(err, &invalid)
}
