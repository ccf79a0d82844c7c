package server

import (
	"context"
	"time"

	"ratchet/operate/executions"
	"ratchet/transitions"
	"ratchet/workflow"
)

func (b *Backend) assembleExecutions() (err error) {
	cfg := executions.Config{SFN: b.SFN, Orders: b.Orders, Machine: b.StateMachineARN}

	if b.flow.own {
		// In another workflow, only orders in an end state of the definition need no execution, and no state
		// has a deadline of its own.
		cfg.Finished, cfg.Deadlines = []workflow.State{}, map[workflow.State]time.Duration{}
	} else {
		cfg.LostParcel = b.lostParcel
	}

	b.Executions, err = executions.New(cfg)

	return err
}

// Start starts the execution of an order, as [executions.Executions.Start] describes. It fails with
// [ErrStateMachine] if the configured state machine does not fit the definition and the steps.
func (b *Backend) Start(ctx context.Context, stateMachineARN string, order transitions.NewOrder) (executionARN string, err error) {
	if err := b.flow.fit(); err != nil {
		return "", err
	}

	return b.Executions.Start(ctx, stateMachineARN, order)
}

// ExecutionARN returns the ARN that the order's first execution has or will have. It fails with
// [ErrNotInitialized] if there is no state machine.
func (b *Backend) ExecutionARN(ctx context.Context, id transitions.OrderID) (string, error) {
	return b.Executions.ARN(ctx, id)
}
