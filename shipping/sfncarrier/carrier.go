// Package sfncarrier is a shipping.Carrier that starts a Step Functions execution for each
// shipment, for shops whose warehouse is a state machine.
//
// # Model
//
// Book starts an execution. The execution's name follows from the shipment's key, so a repeat finds
// it. The name is the tracking number. The input is {"shipment": KEY, "orderId": ID, "canceled":
// false}. The execution must succeed when the parcel leaves. It either reports the milestones like a
// carrier does (package shipping/reports, POST /v1/callbacks/carrier), or moves the order itself.
//
// Cancel stops an execution that runs; no parcel may leave after that. If the execution has succeeded,
// Cancel reports that the parcel had left. If there is no execution yet, Cancel closes the key: it
// starts an execution with "canceled": true and stops it. The first state of the state machine must be
// a Choice that ends such an execution. Step Functions keeps an execution for 90 days after its end.
// The claim of package shipping keeps the booking for its retention (30 days in package server).
//
// # Statuses
//
// Book and Cancel take the status of an execution that has ended as the warehouse's answer:
//
//	SUCCEEDED                   the parcel has left: Book returns the tracking number, Cancel reports it
//	FAILED, TIMED_OUT, ABORTED  no parcel leaves: Book returns shipping.ErrCanceled, Cancel that nothing left
//	any other                   nothing is known yet: both fail, and a repeat finds out
//
// So a machine must catch errors that come after the parcel has left. A person may redrive a failed
// execution unless its shipment was canceled or booked again.
package sfncarrier

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"ratchet/internal/executionname"
	"ratchet/internal/ids"
	"ratchet/shipping"
)

// stepFunctions has the methods of *sfn.Client that this package calls.
type stepFunctions interface {
	StartExecution(context.Context, *sfn.StartExecutionInput, ...func(*sfn.Options)) (*sfn.StartExecutionOutput, error)
	StopExecution(context.Context, *sfn.StopExecutionInput, ...func(*sfn.Options)) (*sfn.StopExecutionOutput, error)
	DescribeExecution(context.Context, *sfn.DescribeExecutionInput, ...func(*sfn.Options)) (*sfn.DescribeExecutionOutput, error)
}

var machineRule = regexp.MustCompile(`^arn:[^:]+:states:[^:]+:[0-9]{12}:stateMachine:[^:]+$`)

// Carrier starts executions. It is safe for concurrent use.
type Carrier struct {
	sfn     stepFunctions
	machine string
}

// New returns a Carrier that starts executions of the state machine with the ARN. The error names the
// argument that breaks a rule.
func New(client stepFunctions, machineARN string) (*Carrier, error) {
	if client == nil {
		return nil, errors.New("sfncarrier: the client must be set")
	}

	if !machineRule.MatchString(machineARN) {
		return nil, fmt.Errorf("sfncarrier: %.200q: must be the ARN of a state machine", machineARN)
	}

	return &Carrier{client, machineARN}, nil
}

// name returns the name of the shipment's execution.
func name(key string) string {
	if plain := strings.ReplaceAll(key, "/", "-"); executionname.IsValid(plain) {
		return plain
	}

	return "shipment-" + executionname.Digest(key)
}

func (c *Carrier) arn(key string) string {
	return executionname.ARN(c.machine, name(key))
}

// Book starts the execution of the shipment and returns its name, as shipping.Carrier describes.
func (c *Carrier) Book(ctx context.Context, key, orderID string) (tracking string, err error) {
	// While the execution runs, StartExecution answers a repeat with success. After its end it fails with
	// ExecutionAlreadyExists.
	err = c.start(ctx, input{Shipment: key, OrderID: orderID})
	if _, exists := errors.AsType[*types.ExecutionAlreadyExists](err); exists {
		err = c.ended(ctx, key)
	}

	if err != nil {
		return "", fmt.Errorf("start the execution of shipment %s: %w", key, err)
	}

	return name(key), nil
}

// ended returns nil if the parcel of an execution that has ended has left, and ErrCanceled if none leaves.
func (c *Carrier) ended(ctx context.Context, key string) error {
	s, err := c.state(ctx, key)
	switch {
	case err != nil:
		return err
	case s.canceled:
		return shipping.ErrCanceled
	}

	left, err := s.left()
	if err == nil && !left {
		err = fmt.Errorf("%w: the execution is %s %.200s", shipping.ErrCanceled, s.status, s.fault)
	}

	return err
}

// input is the input of an execution.
type input struct {
	Shipment string `json:"shipment"`
	OrderID  string `json:"orderId"`
	Canceled bool   `json:"canceled"`
}

func (c *Carrier) start(ctx context.Context, in input) error {
	text, err := json.Marshal(in)
	if err != nil {
		return err
	}

	_, err = c.sfn.StartExecution(ctx, &sfn.StartExecutionInput{
		StateMachineArn: &c.machine,
		Name:            aws.String(name(in.Shipment)),
		Input:           aws.String(string(text)),
	})

	return err
}

// Cancel stops the execution of the shipment, or closes its name, as shipping.Carrier describes.
func (c *Carrier) Cancel(ctx context.Context, key string) (left bool, err error) {
	if left, err = c.cancel(ctx, key); err != nil {
		return false, fmt.Errorf("stop the execution of shipment %s: %w", key, err)
	}

	return left, nil
}

func (c *Carrier) cancel(ctx context.Context, key string) (left bool, err error) {
	err = c.stop(ctx, key)
	if isUnknown(err) {
		order, _, _ := ids.Cut(key)

		// This start or a booking at the same moment gets the name. The stop below ends either execution.
		err = c.start(ctx, input{Shipment: key, OrderID: order, Canceled: true})
		if _, exists := errors.AsType[*types.ExecutionAlreadyExists](err); exists || err == nil {
			err = c.stop(ctx, key)
		}
	}

	if err != nil {
		return false, err
	}

	// A stop does not change an execution that has ended. So its status shows whether it ended before the
	// stop.
	s, err := c.state(ctx, key)
	if err != nil || s.canceled {
		return false, err
	}

	return s.left()
}

func (c *Carrier) stop(ctx context.Context, key string) error {
	_, err := c.sfn.StopExecution(ctx, &sfn.StopExecutionInput{
		ExecutionArn: aws.String(c.arn(key)),
		Error:        aws.String("Shipment.Canceled"),
	})

	return err
}

// state is the state of an execution.
type state struct {
	status   types.ExecutionStatus
	fault    string // the name of the error that ended the execution
	canceled bool   // it was started by Cancel
}

// left reports whether the parcel has left, of an execution that has ended.
func (s state) left() (bool, error) {
	switch s.status {
	case types.ExecutionStatusSucceeded:
		return true, nil
	case types.ExecutionStatusFailed, types.ExecutionStatusTimedOut, types.ExecutionStatusAborted:
		return false, nil
	}

	// Step Functions answered another call that the execution has ended. DescribeExecution is eventually
	// consistent, and a person may have redriven the execution.
	return false, fmt.Errorf("the execution has ended, and is described as %s: repeat the call", s.status)
}

func (c *Carrier) state(ctx context.Context, key string) (state, error) {
	out, err := c.sfn.DescribeExecution(ctx, &sfn.DescribeExecutionInput{ExecutionArn: aws.String(c.arn(key))})
	if err != nil {
		return state{}, err
	}

	var in input
	if err := json.Unmarshal([]byte(aws.ToString(out.Input)), &in); err != nil {
		return state{}, fmt.Errorf("read the execution's input: %w", err)
	}

	if in.Shipment != key {
		return state{}, fmt.Errorf("the execution's input is that of shipment %.200q", in.Shipment)
	}

	return state{out.Status, aws.ToString(out.Error), in.Canceled}, nil
}

func isUnknown(err error) bool {
	_, unknown := errors.AsType[*types.ExecutionDoesNotExist](err)
	return unknown
}
