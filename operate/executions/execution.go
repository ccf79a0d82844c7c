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

	"ratchet/activities/steps"
	"ratchet/internal/dynamo"
	"ratchet/internal/executionname"
	"ratchet/internal/worker"
	"ratchet/transitions"
)

// Execution is an execution of an order as Step Functions describes it.
type Execution struct {
	Name string `json:"name"`
	ARN  string `json:"executionArn"`
	// Number is the execution's place in the chain: 1 for the first, more for successors.
	Number    int                   `json:"number"`
	Status    types.ExecutionStatus `json:"status"`
	Error     string                `json:"error,omitempty"`
	Cause     string                `json:"cause,omitempty"`
	StartedAt time.Time             `json:"startedAt"`
	StoppedAt time.Time             `json:"stoppedAt,omitzero"`
	Redrives  int                   `json:"redrives,omitempty"`
	// RedrivenAt is when the newest redrive began, zero without one.
	RedrivenAt time.Time `json:"redrivenAt,omitzero"`
	// NotRedrivable is why Step Functions refuses a redrive, empty if it allows one.
	NotRedrivable string `json:"notRedrivable,omitempty"`

	// Input and Output contain the content of the order. Output is "" until the execution has succeeded.
	Input  string `json:"-"`
	Output string `json:"-"`
}

// Failed reports whether the execution ended without success.
func (e Execution) Failed() bool {
	switch e.Status {
	case types.ExecutionStatusFailed, types.ExecutionStatusTimedOut, types.ExecutionStatusAborted:
		return true
	default:
		return false
	}
}

// Current returns the last execution of the order's chain, of its present life if there is such an order.
// found is false if the order never had one, or if Step Functions has forgotten it (90 days after its
// end).
func (e *Executions) Current(ctx context.Context, id transitions.OrderID) (current Execution, found bool, err error) {
	order, exists, err := e.cfg.Orders.Get(ctx, id)
	if err != nil {
		return Execution{}, false, err
	}

	if exists {
		return e.currentOf(ctx, order)
	}

	return e.last(ctx, id, func(Execution) bool { return true })
}

// currentOf returns the last execution that brings on this life of the order. If found is false, the chain
// goes on behind the number of current.
func (e *Executions) currentOf(ctx context.Context, order *transitions.Order) (current Execution, found bool, err error) {
	return e.last(ctx, order.ID, func(x Execution) bool { return x.bringsOn(order) })
}

// last returns the last execution of the chain that belongs. If the last one of all does not belong, found
// is false and current has its number.
func (e *Executions) last(ctx context.Context, id transitions.OrderID, belongs func(Execution) bool) (current Execution, found bool, err error) {
	machine, err := e.cfg.Machine(ctx)
	if err != nil {
		return Execution{}, false, err
	}

	for number := 1; ; number++ {
		next, exists, err := e.describe(ctx, machine, id, number)
		if err != nil || !exists {
			return current, found, err
		}

		// An execution of a former life may run until its wait times out. The chain goes on behind it.
		if !belongs(next) {
			current, found = Execution{Number: number}, false
			continue
		}
		current, found = next, true

		// A successor starts only after its predecessor has failed, or has ended before its order
		// did. So a running execution is the last one.
		if current.Status == types.ExecutionStatusRunning {
			return current, true, nil
		}
	}
}

// bringsOn reports whether the execution brings on this life of the order, and not a former life of its
// id. An execution that was started for an order that existed has the life in its input. Another one
// places the order, or finds one that a caller has placed; its steps know the life, and its description
// shows only times. If these do not tell, the execution counts as one of a former life: at worst the order
// gets a second execution, whose waits end the first.
func (e Execution) bringsOn(order *transitions.Order) bool {
	var input struct {
		Incarnation transitions.Incarnation `json:"incarnation"`
	}

	began := order.Incarnation.Began()
	switch err := json.Unmarshal([]byte(e.Input), &input); {
	case err == nil && input.Incarnation != "":
		return input.Incarnation == order.Incarnation
	case e.Error == steps.NameOtherLife, !e.StoppedAt.IsZero() && e.StoppedAt.Before(began):
		return false
	case !e.StartedAt.Before(began):
		return true
	}

	placedAt, err := time.Parse(time.RFC3339Nano, order.PlacedBy)
	placed := err == nil && placedAt.UnixMilli() == e.StartedAt.UnixMilli()

	// The life of an order that was renewed began after the order was placed.
	return placed && !began.After(order.CreatedAt)
}

// askTries is how often a throttled question to Step Functions is sent. A survey describes
// many executions, and the quota refills by 15 a second.
const askTries = 8

var askBackoff = worker.Backoff{Base: 250 * time.Millisecond, Max: 5 * time.Second}

// describe reads one execution of the order's chain.
func (e *Executions) describe(ctx context.Context, machine string, id transitions.OrderID, number int) (x Execution, exists bool, err error) {
	x, exists, err = e.describeNamed(ctx, machine, numbered(id, number))
	x.Number = number

	return x, exists, err
}

// asked sends a question to Step Functions until it is answered or the service has refused it for good.
func asked(ctx context.Context, ask func() error) error {
	return worker.Retry(ctx, askBackoff, askTries, func() error {
		err := ask()
		if err != nil && !dynamo.Retryable(err) {
			return worker.Permanent(err)
		}

		return err
	})
}

// describeNamed reads the execution with the name. It has a number if it is the first one of the order in
// its input.
func (e *Executions) describeNamed(ctx context.Context, machine, name string) (x Execution, exists bool, err error) {
	arn := executionname.ARN(machine, name)

	var out *sfn.DescribeExecutionOutput
	err = asked(ctx, func() (err error) {
		out, err = e.cfg.SFN.DescribeExecution(ctx, &sfn.DescribeExecutionInput{ExecutionArn: &arn})
		return err
	})

	// The first number without an execution ends the chain.
	if _, missing := errors.AsType[*types.ExecutionDoesNotExist](err); missing {
		return Execution{}, false, nil
	}

	if err != nil {
		return Execution{}, false, fmt.Errorf("describe execution %s: %w", name, err)
	}

	x = Execution{
		Name:      name,
		ARN:       arn,
		Status:    out.Status,
		Error:     aws.ToString(out.Error),
		Cause:     aws.ToString(out.Cause),
		StartedAt: aws.ToTime(out.StartDate),
		StoppedAt: aws.ToTime(out.StopDate),
		Redrives:  int(aws.ToInt32(out.RedriveCount)),
		Input:     aws.ToString(out.Input),
		Output:    aws.ToString(out.Output),

		RedrivenAt: aws.ToTime(out.RedriveDate),
	}
	if id := x.OrderID(); id != "" && Name(id) == name {
		x.Number = 1
	}

	if out.RedriveStatus == types.ExecutionRedriveStatusNotRedrivable {
		x.NotRedrivable = aws.ToString(out.RedriveStatusReason)
		if x.NotRedrivable == "" {
			x.NotRedrivable = "Step Functions says that it is not redrivable"
		}
	}

	return x, true, nil
}
