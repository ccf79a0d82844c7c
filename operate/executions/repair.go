package executions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"ratchet/internal/executionname"
	"ratchet/transitions"
)

var (
	// ErrHealthy means that the order's execution runs, or that it has succeeded and the
	// order is where an execution ends: there is nothing to repair.
	ErrHealthy = errors.New("the execution needs no repair")
	// ErrNotRedrivable means that Step Functions refuses to redrive the execution. A
	// successor takes its place.
	ErrNotRedrivable = errors.New("the execution cannot be redriven")
)

// Redrive makes Step Functions run the failed state of the order's execution again. It
// fails with [ErrHealthy] if the execution has not failed, and with [ErrNotRedrivable] if
// the service refuses.
func (e *Executions) Redrive(ctx context.Context, id transitions.OrderID) (Execution, error) {
	current, exists, err := e.Current(ctx, id)
	switch {
	case err != nil:
		return Execution{}, err
	case !exists:
		return Execution{}, fmt.Errorf("redrive the execution of order %s: it has none: %w", id, ErrNotRedrivable)
	case !current.Failed():
		return current, fmt.Errorf("redrive execution %s, which is %s: %w", current.Name, current.Status, ErrHealthy)
	}

	return current, e.redrive(ctx, current)
}

// RedriveFrom is Redrive for a caller that has seen the execution before, with the name and the number of
// redrives. If it has been redriven since, RedriveFrom does nothing and succeeds.
func (e *Executions) RedriveFrom(ctx context.Context, id transitions.OrderID, name string, redrives int) (Execution, error) {
	current, exists, err := e.Current(ctx, id)
	switch {
	case err != nil:
		return Execution{}, err
	case !exists:
		return Execution{}, fmt.Errorf("redrive the execution of order %s: it has none: %w", id, ErrNotRedrivable)
	case current.Name == name && current.Redrives > redrives:
		return current, nil
	case current.Name != name || !current.Failed():
		return current, fmt.Errorf("redrive execution %s, which is %s: %w", current.Name, current.Status, ErrHealthy)
	}

	return current, e.redrive(ctx, current)
}

func (e *Executions) redrive(ctx context.Context, x Execution) error {
	// Two repairs of the same failure send the same token, so Step Functions redrives once. A
	// failure after a redrive has another count, and with it another token.
	token := fmt.Sprintf("redrive-%d-%s", x.Redrives+1, executionname.Digest(x.Name))

	_, err := e.cfg.SFN.RedriveExecution(ctx, &sfn.RedriveExecutionInput{ExecutionArn: &x.ARN, ClientToken: &token})
	if refused, is := errors.AsType[*types.ExecutionNotRedrivable](err); is {
		return fmt.Errorf("redrive execution %s: %w: %s", x.Name, ErrNotRedrivable, refused.ErrorMessage())
	}

	if err != nil {
		return fmt.Errorf("redrive execution %s: %w", x.Name, err)
	}

	return nil
}

// Action says what a repair has done.
type Action string

// The actions of a repair.
const (
	Redriven         Action = "redriven"
	SuccessorStarted Action = "successor started"
	Started          Action = "started"
)

// Repair makes an order move again, or the execution that has failed before its order existed (see
// [Executions.Unplaced]) if its execution failed, ended early or never existed: by a
// redrive if the service allows one and successor is false, else by a successor that adopts the
// order where it is. It fails with [ErrHealthy] if the execution runs, or has brought its order to
// an end.
func (e *Executions) Repair(ctx context.Context, id transitions.OrderID, successor bool) (Action, Execution, error) {
	r, err := e.decideRepair(ctx, id, successor)
	if err != nil {
		return "", r.current, err
	}

	switch {
	case r.action == Redriven:
		return Redriven, r.current, e.redrive(ctx, r.current)
	case r.order == nil:
		return e.succeedUnplaced(ctx, r)
	}

	x, err := e.startNext(ctx, r.order, r.current)

	return r.action, x, err
}

// repair is what a repair is about to do.
type repair struct {
	action  Action
	current Execution
	// order is nil if the execution has failed before its order existed. placed is that order's id then.
	order  *transitions.Order
	placed transitions.OrderID
}

// decideRepair reads what a repair needs, and changes nothing.
func (e *Executions) decideRepair(ctx context.Context, id transitions.OrderID, successor bool) (repair, error) {
	order, err := e.order(ctx, id)
	if errors.Is(err, transitions.ErrUnknownOrder) {
		return e.decideUnplaced(ctx, id, successor)
	}

	if err != nil {
		return repair{}, err
	}

	current, exists, err := e.currentOf(ctx, order)
	if err != nil {
		return repair{}, err
	}

	r := repair{action: SuccessorStarted, current: current, order: order}
	// A success alone is not the end: the execution may have stopped while its order can still
	// move.
	done := current.Status == types.ExecutionStatusSucceeded && e.cfg.Orders.Definition().Terminal(order.State)

	switch {
	case !exists:
		r.action = Started
	case current.Status == types.ExecutionStatusRunning || done:
		return r, fmt.Errorf("repair execution %s, which is %s: %w", current.Name, current.Status, ErrHealthy)
	case current.Failed() && current.NotRedrivable == "" && !successor:
		r.action = Redriven
	}

	return r, nil
}

// startNext starts the first execution of the order, or the successor of the chain's last one. The
// input of a successor is the input of the chain, with the mark that makes the state machine adopt
// the order.
func (e *Executions) startNext(ctx context.Context, order *transitions.Order, last Execution) (Execution, error) {
	machine, err := e.cfg.Machine(ctx)
	if err != nil {
		return Execution{}, err
	}

	input, err := adoptingInput(order, last.Input)
	if err != nil {
		return Execution{}, fmt.Errorf("start a successor for order %s: %w", order.ID, err)
	}

	return e.startNumber(ctx, machine, order.ID, last.Number+1, input)
}

// startNumber starts the execution of the order's chain with the number.
func (e *Executions) startNumber(ctx context.Context, machine string, id transitions.OrderID, number int, input string) (Execution, error) {
	next := Execution{Number: number, Name: numbered(id, number)}
	next.ARN = executionname.ARN(machine, next.Name)

	// While an execution of this name runs with the same input, Step Functions answers with that
	// execution. So of two repairs at once both succeed, with one execution.
	out, err := e.cfg.SFN.StartExecution(ctx, &sfn.StartExecutionInput{
		StateMachineArn: &machine,
		Name:            &next.Name,
		Input:           &input,
	})
	if _, exists := errors.AsType[*types.ExecutionAlreadyExists](err); exists {
		// Another repair started this execution, and it has ended since.
		return e.existing(ctx, machine, id, next.Number)
	}

	if err != nil {
		return Execution{}, fmt.Errorf("start execution %s: %w", next.Name, err)
	}

	next.Status, next.StartedAt = types.ExecutionStatusRunning, aws.ToTime(out.StartDate)

	return next, nil
}

// existing describes an execution that was started before.
func (e *Executions) existing(ctx context.Context, machine string, id transitions.OrderID, number int) (Execution, error) {
	x, exists, err := e.describe(ctx, machine, id, number)
	if err == nil && !exists {
		err = fmt.Errorf("start execution %s: it exists and cannot be described", numbered(id, number))
	}

	return x, err
}

// adoptMember marks the input of an execution that adopts the order where it is.
const adoptMember = "adopt"

// lifeMember is the life of the order that an adopting execution brings on.
const lifeMember = "incarnation"

// adoptingInput returns the input of a successor: the input of the last execution, or the order's
// content if there is none, with the mark that tells the state machine to adopt the order.
func adoptingInput(order *transitions.Order, last string) (string, error) {
	// Raw members: the chain's input may have members of another version of this program, and
	// numbers that a float64 would round.
	members := map[string]json.RawMessage{}

	if last == "" {
		content, err := json.Marshal(order.Content())
		if err != nil {
			return "", err
		}

		last = string(content)
	}

	if err := json.Unmarshal([]byte(last), &members); err != nil {
		return "", fmt.Errorf("read the input of the execution before: %w", err)
	}

	members[adoptMember] = json.RawMessage("true")

	// The steps compare it with the order's, so the execution never acts on a later life of the id.
	life, err := json.Marshal(order.Incarnation)
	if err != nil {
		return "", err
	}
	members[lifeMember] = life

	input, err := json.Marshal(members)

	return string(input), err
}
