package executions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"ratchet/internal/executionname"
	"ratchet/transitions"
)

// ErrOtherOrder means that the order's id was used with other content.
var ErrOtherOrder = errors.New("an execution of this name was started with another order")

// ErrFailed means that the order's execution ended without success.
var ErrFailed = errors.New("the execution has failed")

// ErrForgotten means that an execution has placed the order, and that Step Functions, which
// keeps executions for 90 days after their end, does not know it any more.
var ErrForgotten = errors.New("the order's execution is forgotten")

// FailedError is the [ErrFailed] of a start that finds the order's execution ended without
// success. A repeat of the start does not make the order move.
type FailedError struct {
	OrderID   transitions.OrderID
	Execution Execution
}

// Is reports whether target is ErrFailed.
func (e *FailedError) Is(target error) bool { return target == ErrFailed }

func (e *FailedError) Error() string {
	reason := string(e.Execution.Status)
	if e.Execution.Error != "" {
		reason += " with " + e.Execution.Error
	}

	return fmt.Sprintf("the execution %s ended as %s; `ratchet executions repair %s` brings the order on",
		e.Execution.Name, reason, e.OrderID.Arg())
}

// Start starts the execution of an order and returns its ARN. It is idempotent: a repeat
// with the same order returns the same execution, also after its successful end, and also if
// StartPlaced has started it with the edits of the order. It fails with [ErrOtherOrder] if the
// order's id was used with other content, with a *[FailedError] if the execution ended without
// success and no successor runs, and with [transitions.ErrInvalidRequest] if the order breaks a
// rule. A rule of the definition counts only if the order was neither placed nor started under an earlier
// one.
func (e *Executions) Start(ctx context.Context, machineARN string, order transitions.NewOrder) (executionARN string, err error) {
	if err := order.Validate(); err != nil {
		return "", err
	}

	input, err := json.Marshal(order)
	if err != nil {
		return "", err
	}

	// An execution with an order that the definition refuses would only fail. One that was started before is
	// found, and an order that was placed under an earlier definition is started.
	if refusal := order.ValidateFor(e.cfg.Orders.Definition()); refusal != nil {
		begun, err := e.isBegun(ctx, machineARN, order)
		if err != nil {
			return "", err
		}

		if !begun {
			return "", refusal
		}
	}

	// The name is the id, so two starts of one order cannot make two executions.
	name := Name(order.ID)

	out, err := e.cfg.SFN.StartExecution(ctx, &sfn.StartExecutionInput{
		StateMachineArn: &machineARN,
		Name:            &name,
		Input:           aws.String(string(input)),
	})
	if err == nil {
		return e.startUnlessFormer(ctx, machineARN, order.ID, string(input), out)
	}

	// Step Functions answers a repeat with the existing execution only while it runs.
	if _, exists := errors.AsType[*types.ExecutionAlreadyExists](err); !exists {
		return "", fmt.Errorf("start the execution of order %s: %w", order.ID, err)
	}

	return e.findStarted(ctx, machineARN, order, string(input))
}

// StartPlaced starts the execution of an order that exists and has none, and returns it. The
// execution adopts the order as it is, also if it was edited since it was placed. A repeat
// returns the order's execution, also after its successful end.
//
// It fails with [transitions.ErrUnknownOrder] if there is no such order, with a *[FailedError]
// if the order's execution ended without success, and with [ErrForgotten] if an execution
// placed the order and Step Functions does not know it any more.
func (e *Executions) StartPlaced(ctx context.Context, id transitions.OrderID) (Execution, error) {
	order, err := e.order(ctx, id)
	if err != nil {
		return Execution{}, err
	}

	current, exists, err := e.currentOf(ctx, order)
	switch {
	case err != nil:
		return Execution{}, err
	case exists && current.Failed():
		return Execution{}, &FailedError{OrderID: id, Execution: current}
	case exists:
		return current, nil
	// The forgotten execution may have ended well, so only a person's repair starts another one.
	case order.PlacedBy != "":
		return Execution{}, fmt.Errorf("start the execution of order %s, which the execution started at %s placed: %w; `ratchet executions repair %s` starts a successor",
			id, order.PlacedBy, ErrForgotten, id.Arg())
	}

	return e.startNext(ctx, order, current)
}

// sameOrder reports whether two inputs hold the same order, whether they adopt it or not.
func sameOrder(a, b string) bool {
	plain := func(input string) string {
		members := map[string]json.RawMessage{}
		// Text that is no object, or not JSON, is compared as it is.
		if json.Unmarshal([]byte(input), &members) != nil {
			return input
		}

		delete(members, adoptMember)
		delete(members, lifeMember)

		text, err := json.Marshal(members)
		if err != nil {
			return input
		}

		return string(text)
	}

	return a == b || plain(a) == plain(b)
}

// findStarted returns the ARN of the order's first execution, if it has the same order and runs or
// has succeeded, or if its newest successor has not failed.
func (e *Executions) findStarted(ctx context.Context, machineARN string, order transitions.NewOrder, input string) (string, error) {
	id := order.ID

	first, exists, err := e.describe(ctx, machineARN, id, 1)
	switch {
	case err != nil:
		return "", err
	case !exists:
		return "", fmt.Errorf("start the execution of order %s: it exists and cannot be described", id)
	}

	// The input differs from the request if the order was edited before its execution started. The
	// order's item has a digest of the content at its placing.
	if !sameOrder(first.Input, input) {
		if err := e.checkPlaced(ctx, order); err != nil {
			return "", fmt.Errorf("start execution %s: %w", first.Name, err)
		}
	}

	if first.Status == types.ExecutionStatusRunning {
		return first.ARN, nil
	}

	current, _, err := e.Current(ctx, id)
	if err != nil {
		return "", err
	}

	if current.Status == types.ExecutionStatusSucceeded {
		return e.startAgain(ctx, machineARN, order, current, input)
	}

	if current.Failed() {
		return "", &FailedError{OrderID: id, Execution: current}
	}

	return first.ARN, nil
}

// isBegun reports whether the order was placed with this content, or its first execution was started. With
// other content the start is refused, in words that name the difference.
func (e *Executions) isBegun(ctx context.Context, machineARN string, n transitions.NewOrder) (bool, error) {
	placed, exists, err := e.cfg.Orders.Get(ctx, n.ID)

	switch {
	case err != nil:
		return false, err
	case exists && !placed.PlacedWith(n):
		return false, fmt.Errorf("start the execution of order %s: %w", n.ID, ErrOtherOrder)
	case exists:
		return true, nil
	}

	first, exists, err := e.describe(ctx, machineARN, n.ID, 1)

	// After a success the order is gone, and the request would place another one.
	return exists && first.Status != types.ExecutionStatusSucceeded, err
}

// startAgain returns the ARN of an execution that has succeeded. If its order was deleted since, the
// request places another order under the id, for which startAgain starts the next execution of the
// chain.
func (e *Executions) startAgain(ctx context.Context, machineARN string, order transitions.NewOrder, last Execution, input string) (string, error) {
	_, exists, err := e.cfg.Orders.Get(ctx, order.ID)
	if err != nil || exists {
		return last.ARN, err
	}

	name := numbered(order.ID, last.Number+1)

	out, err := e.cfg.SFN.StartExecution(ctx, &sfn.StartExecutionInput{StateMachineArn: &machineARN, Name: &name, Input: &input})
	if _, exists := errors.AsType[*types.ExecutionAlreadyExists](err); exists {
		return executionname.ARN(machineARN, name), nil
	}

	if err != nil {
		return "", fmt.Errorf("start the execution of order %s: %w", order.ID, err)
	}

	return aws.ToString(out.ExecutionArn), nil
}

// startUnlessFormer returns the ARN of the first execution, which runs. If it has placed an order that was
// deleted since, and only waits, the request places another order under the id, for which
// startUnlessFormer starts the next execution of the chain.
func (e *Executions) startUnlessFormer(ctx context.Context, machineARN string, id transitions.OrderID, input string, first *sfn.StartExecutionOutput) (string, error) {
	arn, started := aws.ToString(first.ExecutionArn), aws.ToTime(first.StartDate)
	// Nearly every start begins the execution. Its order does not exist yet.
	if time.Since(started) < repeatAfter {
		return arn, nil
	}

	_, exists, err := e.cfg.Orders.Get(ctx, id)
	if err != nil || exists || !e.cfg.Orders.HasJournal() {
		return arn, err
	}

	// The journal keeps the history of an order that was deleted.
	placed, err := e.cfg.Orders.History(ctx, id, 0, 1)
	if err != nil || len(placed) == 0 || placed[0].At.Before(started) {
		return arn, err // this execution has still to place the order
	}

	for number := 2; ; number++ {
		name := numbered(id, number)

		out, err := e.cfg.SFN.StartExecution(ctx, &sfn.StartExecutionInput{StateMachineArn: &machineARN, Name: &name, Input: &input})
		if _, exists := errors.AsType[*types.ExecutionAlreadyExists](err); exists {
			continue // it has ended, or was started for another life
		}

		if err != nil {
			return "", fmt.Errorf("start the execution of order %s: %w", id, err)
		}

		if !aws.ToTime(out.StartDate).Before(placed[0].At) {
			return aws.ToString(out.ExecutionArn), nil
		}
	}
}

// repeatAfter is the age from which the first execution may have placed an order that was deleted since.
const repeatAfter = 10 * time.Second

// checkPlaced returns ErrOtherOrder unless the order was placed with this content. It asks the
// order's item: if the order was edited before its execution started, the execution's input has the
// edited content.
func (e *Executions) checkPlaced(ctx context.Context, n transitions.NewOrder) error {
	order, exists, err := e.cfg.Orders.Get(ctx, n.ID)
	if err == nil && (!exists || !order.PlacedWith(n)) {
		err = ErrOtherOrder
	}

	return err
}
