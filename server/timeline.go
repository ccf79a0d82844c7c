package server

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"ratchet/operate/executions"
	"ratchet/operate/inspect"
	"ratchet/transitions"
)

// Around returns the sources of an order's explanation, in addition to the order's transitions.
func (b *Backend) Around() inspect.Around {
	return inspect.Around{
		Executions:  b.executionMoments,
		Tasks:       b.ParkedTasks,
		Deliveries:  b.Deliveries,
		DeadLetters: b.DeadLetters(),
		Handlers:    b.HandlerNames(),
		Refusals:    b.Refusals,
	}
}

// executionMoments returns when the order's current execution was started, and how it ended.
func (b *Backend) executionMoments(ctx context.Context, id transitions.OrderID) ([]inspect.Moment, error) {
	current, found, err := b.Executions.Current(ctx, id)
	if err != nil || !found {
		return nil, err
	}

	return momentsOf(id, current), nil
}

// momentsOf returns when the execution was started, and how it ended.
func momentsOf(id transitions.OrderID, x executions.Execution) []inspect.Moment {
	moments := []inspect.Moment{{At: x.StartedAt, Kind: inspect.AboutExecution, What: fmt.Sprintf("execution %s was started", x.Name)}}
	if x.Status == types.ExecutionStatusRunning {
		return moments
	}

	ended := inspect.Moment{At: x.StoppedAt, Kind: inspect.AboutExecution, What: fmt.Sprintf("execution %s ended: %s", x.Name, x.Status)}
	if x.Error != "" {
		ended.What += " with " + x.Error
	}

	if x.Failed() {
		ended.Next = fmt.Sprintf("`ratchet executions describe %s` shows why, `ratchet executions repair %s` brings it on", id, id)
	}

	return append(moments, ended)
}
