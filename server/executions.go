package server

import (
	"context"

	"ratchet/executions"
	"ratchet/transitions"
)

func (b *Backend) assembleExecutions() (err error) {
	b.Executions, err = executions.New(executions.Config{
		SFN:        b.SFN,
		Orders:     b.Orders,
		Machine:    b.StateMachineARN,
		LostParcel: b.lostParcel,
	})

	return err
}

// Start starts the execution of an order, as [executions.Executions.Start] describes.
func (b *Backend) Start(ctx context.Context, stateMachineARN string, order transitions.NewOrder) (executionARN string, err error) {
	return b.Executions.Start(ctx, stateMachineARN, order)
}

// ExecutionARN returns the ARN of the order's first execution, whether it exists or not. It
// fails with [ErrNotInitialized] if there is no state machine.
func (b *Backend) ExecutionARN(ctx context.Context, id transitions.OrderID) (string, error) {
	return b.Executions.ARN(ctx, id)
}
